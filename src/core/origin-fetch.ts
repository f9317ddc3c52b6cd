import { LangoError } from './errors.js';
import { readAll } from './http.js';
import { objectIn, parseObject, textIn } from './json.js';
import { retryAfterMs } from './retry.js';
import { oneLine, shorten } from './text.js';
import type { PeerCredential, Presented } from './credential.js';

interface OriginFetchOptions {
  readonly fetch: typeof fetch;
  /** The only origin that requests, and with them the credential, may go to. */
  readonly origin: string;
  /** The credential of each request. It never replaces a header that a request has. */
  readonly credential: PeerCredential | undefined;
}

/**
 * Creates a `fetch` for one server. It rejects with `forbidden` for any other origin, and with a `LangoError` for
 * responses about access or load (401, 403, 429, 502 to 504). After a 401 it sends the request once more when the
 * credential has other values.
 */
export function createOriginFetch({ fetch: send, origin, credential }: OriginFetchOptions): typeof fetch {
  return async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    if (url.origin !== origin)
      throw new LangoError('forbidden', `${url.origin} is not the agent's origin ${origin}.`);
    const ask = async (): Promise<{ response: Response; shown: Presented | undefined }> => {
      const shown = await credential?.present();
      const headers = new Headers(shown?.headers);
      for (const given of [input instanceof Request ? input.headers : undefined, init?.headers])
        new Headers(given).forEach((value, name) => headers.set(name, value));
      const target = shown?.query ? withQuery(input, url, shown.query) : input;
      return { response: await send(target, { ...init, headers, redirect: 'error' }), shown };
    };
    const first = await ask();
    const { shown } = first;
    let { response } = first;
    const isOwn = new Headers(init?.headers).has('authorization');
    const mayRepeat = response.status === 401 && !isOwn && isRepeatable(input, init);
    if (mayRepeat && shown && credential?.refused(shown)) {
      await response.body?.cancel().catch(() => {});
      ({ response } = await ask());
    }
    if (!REFUSALS.has(response.status)) return response;
    const line: ShownLine = (text, longest) => {
      const whole = oneLine(text);
      return shorten(credential?.mask(whole) ?? whole, longest);
    };
    throw refusalOf(response, { host: url.host, line, said: await reasonIn(response, line) });
  };
}

function withQuery(input: string | URL | Request, url: URL, [name, value]: readonly [string, string]) {
  const target = new URL(url);
  target.searchParams.set(name, value);
  return input instanceof Request ? new Request(target, input) : target.href;
}

function isRepeatable(input: string | URL | Request, init: RequestInit | undefined): boolean {
  return !(input instanceof Request && input.body) && !(init?.body instanceof ReadableStream);
}

const REFUSALS: ReadonlySet<number> = new Set([401, 403, 429, 502, 503, 504]);

/** Shows a text from the server on one line, without the credential: it is masked before it is cut, which may cut a value. */
type ShownLine = (text: string, longest: number) => string;

interface Refusal {
  readonly host: string;
  readonly line: ShownLine;
  readonly said: string | undefined;
}

function refusalOf(response: Response, { host, line, said }: Refusal): LangoError {
  const saying = (text: string | undefined) => (text === undefined ? '' : ` It says: ${text}`);
  switch (response.status) {
    case 401: {
      const why = challengeIn(response, 'error_description', line);
      return new LangoError('unauthenticated', `${host} requires a valid token.${saying(why)}`);
    }
    case 403: {
      const scope = challengeIn(response, 'scope', line);
      const asks = scope === undefined ? saying(said) : ` It requires the scope ${scope}.`;
      return new LangoError('forbidden', `${host} refused access.${asks}`);
    }
    case 429:
    case 503:
      return new LangoError('too-many', `${host} accepts no requests at the moment.${saying(said)}`, {
        retryable: true,
        retryAfterMs: retryAfterMs(response.headers) ?? 0,
      });
    default:
      return new LangoError('unavailable', `${host} cannot be reached through its proxy.${saying(said)}`, {
        retryable: true,
      });
  }
}

/** A longer body of a refusal is not read. */
const LONGEST_REFUSAL_BYTES = 16 * 1024;
const LONGEST_REASON = 300;

/** The reason in the JSON body of a refusal, as Lango and JSON-RPC write it, on one line; undefined without it. */
async function reasonIn({ body }: Response, line: ShownLine): Promise<string | undefined> {
  try {
    const bytes = await readAll(body, LONGEST_REFUSAL_BYTES);
    const refusal = parseObject(bytes?.toString('utf8') ?? '');
    return line(textIn(objectIn(refusal?.['error'])['message']), LONGEST_REASON) || undefined;
  } catch {
    return undefined;
  }
}

const LONGEST_CHALLENGE = 200;

/** Returns a parameter of the server's challenge (RFC 6750 section 3) on one line; undefined when it is absent. */
function challengeIn({ headers }: Response, parameter: 'error_description' | 'scope', line: ShownLine) {
  const challenge = headers.get('www-authenticate') ?? '';
  const said = new RegExp(`\\b${parameter}="([^"\\\\]+)"`).exec(challenge)?.[1];
  return said && line(said, LONGEST_CHALLENGE);
}
