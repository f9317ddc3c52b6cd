import { LangoError, errorText, isLangoError } from '../core/errors.js';
import { mediaTypeOf, type EgressOptions } from '../core/http.js';
import type { Logger } from '../core/logger.js';
import { Deadline } from '../core/time.js';
import { REFUSAL_TEXTS, blockedPort, isAddressRefusal, portOf, privateAddress } from './address-check.js';
import type { CheckedFetch } from './checked-connections.js';
import { toWebResponse } from './egress-response.js';
import { ValueCount } from './json-scan.js';
import type { ProxyFor } from './proxy.js';

interface CheckedOptions extends EgressOptions {
  readonly allowPrivate: readonly string[];
  /** Default: all hosts are reached directly. */
  readonly proxyFor?: ProxyFor | undefined;
  readonly logger: Logger;
}

const DEFAULT_IDLE_MS = 120_000;
const DEFAULT_MAX_BYTES = 10 * 1024 * 1024;
const DEFAULT_STREAM_BYTES = 256 * 1024 * 1024;
const EVENT_STREAM = 'text/event-stream';
/** Amazon Bedrock streams events in a binary form. */
const STREAMS: readonly string[] = [EVENT_STREAM, 'application/vnd.amazon.eventstream'];

/**
 * Makes the egress client, a `fetch` for all outgoing requests. It checks every address when it connects (behind a
 * proxy the text of the address), follows redirects only if the request asks for it, and limits time and size. It rejects with a `LangoError`:
 * `forbidden` (private address), `timeout`, `too-large`, `unavailable`, `invalid-input`; or with the reason of the caller's
 * signal. Reading the body may reject with the same errors.
 */
export function createEgress(options: CheckedOptions): typeof fetch {
  const { configuredUrl, timeoutMs, idleMs = DEFAULT_IDLE_MS } = options;
  const { maxBytes = DEFAULT_MAX_BYTES, streamBytes = DEFAULT_STREAM_BYTES } = options;
  const configured = [configuredUrl ?? []].flat().map((url) => new URL(url).host);
  let loaded: Promise<CheckedFetch> | undefined;
  // Loaded on first use, because a server that sends no requests starts faster and smaller without it.
  const load = () =>
    (loaded ??= import('./checked-connections.js').then((module) =>
      module.createCheckedFetch({ ...options, configured }),
    ));

  return async (input, init) => {
    const call = await describeCall(input, init);
    const deadline = new Deadline(call.init.signal ?? undefined, { ref: false });
    const explain = (error: unknown): Error =>
      toEgressError(error, call.url, { signal: deadline.signal, ...options });
    try {
      const fetchChecked = await load();
      // From here on, as the client is loaded for the first request.
      deadline.expect(timeoutMs, () => late(`${call.url.host} did not respond within ${timeoutMs} ms.`));
      // node-fetch, given an aborted signal, fails in a way that no caller can catch.
      deadline.signal.throwIfAborted();
      const response = await fetchChecked(call.url, {
        method: call.init.method ?? 'GET',
        headers: [...call.headers],
        body: call.body,
        redirect: call.init.redirect ?? 'error',
        signal: deadline.signal,
      });
      if (response.status === 407 && options.proxyFor?.(call.url)) throw new Error(`${TUNNEL} HTTP/1.1 407`);
      const accepted = call.headers.get('accept')?.toLowerCase() ?? '';
      const takesStream = options.streams === 'always' || accepted.includes(EVENT_STREAM);
      const isStream = takesStream && response.ok && STREAMS.includes(mediaTypeOf(response));
      if (isStream) deadline.expect(idleMs, () => late(`${call.url.host} was silent for ${idleMs} ms.`));
      return toWebResponse(response, {
        host: call.url.host,
        isStream,
        maxBytes: isStream ? streamBytes : maxBytes,
        count: options.isBoundedJson ? new ValueCount(call.url.host, isStream) : undefined,
        explain,
        deadline,
      });
    } catch (error) {
      deadline.end();
      const reason = explain(error);
      options.logger.debug('outgoing request failed', { host: call.url.host, error: reason.message });
      throw reason;
    }
  };
}

const late = (message: string): LangoError => new LangoError('timeout', message, { retryable: true });

type Call = Readonly<{ url: URL; init: RequestInit; headers: Headers; body: Buffer | null }>;

async function describeCall(input: string | URL | Request, init: RequestInit = {}): Promise<Call> {
  const request = input instanceof Request ? input : undefined;
  const url = parseUrl(request ? request.url : (input as string | URL));
  const merged: RequestInit = request
    ? { method: request.method, signal: request.signal, headers: request.headers, ...init }
    : init;
  const headers = new Headers(merged.headers);
  // A web Response converts every kind of body to bytes and determines its content type.
  const source = new Response(init.body ?? request?.body ?? null);
  const type = source.headers.get('content-type');
  if (type !== null && !headers.has('content-type')) headers.set('content-type', type);
  const body = source.body === null ? null : Buffer.from(await source.arrayBuffer());
  return { url, init: merged, headers, body };
}

function parseUrl(text: string | URL): URL {
  const url = URL.parse(String(text));
  if (!url) throw new LangoError('invalid-input', 'The address of an outgoing request is not a URL.');
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new LangoError('invalid-input', `Outgoing requests use http or https, not ${url.protocol}`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new LangoError('invalid-input', 'The address of an outgoing request must not hold credentials.');
  }
  return url;
}

type ErrorContext = Readonly<{ signal: AbortSignal }> & Pick<CheckedOptions, 'privateHint' | 'proxyFor'>;

function toEgressError(error: unknown, url: URL, { signal, privateHint, proxyFor }: ErrorContext): Error {
  if (signal.aborted) return signal.reason instanceof Error ? signal.reason : new Error('aborted');
  if (isLangoError(error)) return error;
  const text = errorText(error);
  if (text.includes(REFUSAL_TEXTS.port)) return blockedPort(url.host);
  if (isAddressRefusal(text)) return privateAddress(url.host, privateHint);
  const { type, code } = (error ?? {}) as { readonly type?: unknown; readonly code?: unknown };
  if (type === 'no-redirect') {
    const message = `${url.host} responded with a redirect, which is not followed.`;
    return new LangoError('unavailable', message, { cause: error });
  }
  const hint = CERTIFICATE_ADVICE.get(code);
  if (hint !== undefined) {
    const untrusted = `The certificate of ${url.host} is not trusted (${String(code)}).`;
    return new LangoError('unavailable', untrusted, { cause: error, hint, retryable: true });
  }
  const proxy = proxyFor?.(url);
  const way = proxy ? ` through the proxy ${proxy.host}` : '';
  const why = typeof code === 'string' ? code : 'connection lost';
  const status = text.includes(TUNNEL) ? /HTTP\/1\.\d (\d+)/.exec(text)?.[1] : undefined;
  const refusal =
    status === '407'
      ? 'wants another user name and password (HTTP 407): set them in egress.proxy.'
      : `opens no connection to ${url.hostname}:${portOf(url)} (HTTP ${status}).`;
  const reason = status ? `. The proxy ${proxy!.host} ${refusal}` : `${way} (${why}).`;
  const message = `${url.host} cannot be reached${reason}`;
  // The error of Node 22 for a tunnel holds the password of the proxy.
  return new LangoError('unavailable', message, { ...(!status && { cause: error }), retryable: true });
}

/** Begins Node's error for a proxy that opens no tunnel. Its end is the status line of the proxy. */
const TUNNEL = 'Failed to establish tunnel';

const UNKNOWN_AUTHORITY =
  'If you trust it, set NODE_EXTRA_CA_CERTS to a file with the certificate of its authority (PEM) and start again.';

const UNKNOWN_AUTHORITY_CODES = [
  ...['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ...['UNABLE_TO_GET_ISSUER_CERT', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'],
];

/** Advice for each error code with which Node refuses the certificate of a server. */
const CERTIFICATE_ADVICE: ReadonlyMap<unknown, string> = new Map([
  ...UNKNOWN_AUTHORITY_CODES.map((code) => [code, UNKNOWN_AUTHORITY] as const),
  ['CERT_HAS_EXPIRED', 'The operator of that server must renew it.'],
  [
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'The certificate is for another name. Call the server by a name in the certificate.',
  ],
]);
