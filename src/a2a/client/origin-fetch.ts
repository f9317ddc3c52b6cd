import { LangoError } from '../../core/errors.js';
import { retryAfterMs } from '../../core/retry.js';
import { oneLine, shorten } from '../../core/text.js';
import { withoutShown, type PeerCredential, type Presented } from './credential.js';

export interface OriginFetchOptions {
  readonly fetch: typeof fetch;
  /** The only origin that requests may go to, and the only one that is shown the credential. */
  readonly origin: string;
  /** The credential of each request. It never replaces a header that a request has. */
  readonly credential: PeerCredential | undefined;
}

/**
 * Creates a `fetch` for one server. It rejects with `forbidden` for any other origin, and with a `LangoError` for
 * responses about access or load (401, 403, 429, 502 to 504). After a 401 it asks once more when the credential has
 * other values to show.
 */
export function createOriginFetch({ fetch: send, origin, credential }: OriginFetchOptions): typeof fetch {
  return async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    if (url.origin !== origin) {
      throw new LangoError('forbidden', `${url.origin} is not the agent's origin ${origin}.`);
    }
    const ask = async (): Promise<{ response: Response; shown: Presented | undefined }> => {
      const shown = await credential?.present();
      const headers = new Headers(shown?.headers);
      new Headers(input instanceof Request ? input.headers : undefined).forEach((value, name) =>
        headers.set(name, value),
      );
      new Headers(init?.headers).forEach((value, name) => headers.set(name, value));
      const target = shown?.query ? withQuery(input, url, shown.query) : input;
      return { response: await send(target, { ...init, headers, redirect: 'error' }), shown };
    };
    let { response, shown } = await ask();
    const isOwn = new Headers(init?.headers).has('authorization');
    if (
      response.status === 401 &&
      shown &&
      !isOwn &&
      isRepeatable(input, init) &&
      credential?.refused(shown)
    ) {
      await response.body?.cancel().catch(() => {});
      ({ response, shown } = await ask());
    }
    const refusal = refusalOf(response, url.host, shown);
    if (!refusal) return response;
    await response.body?.cancel().catch(() => {});
    throw refusal;
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

function refusalOf(
  response: Response,
  host: string,
  shown: Presented = { headers: {} },
): LangoError | undefined {
  switch (response.status) {
    case 401: {
      const said = challengeIn(response, 'error_description');
      const text = `${host} wants a valid token.${said === undefined ? '' : ` It says: ${withoutShown(said, shown)}`}`;
      return new LangoError('unauthenticated', text);
    }
    case 403: {
      const scope = challengeIn(response, 'scope');
      const text = `${host} refused access.${scope === undefined ? '' : ` It asks for the scope ${withoutShown(scope, shown)}.`}`;
      return new LangoError('forbidden', text);
    }
    case 429:
    case 503:
      return new LangoError('too-many', `${host} takes no requests at the moment.`, {
        retryable: true,
        retryAfterMs: retryAfterMs(response.headers) ?? 0,
      });
    case 502:
    case 504:
      return new LangoError('unavailable', `${host} cannot be reached through its proxy.`, {
        retryable: true,
      });
    default:
      return undefined;
  }
}

const LONGEST_CHALLENGE = 200;

/** A parameter of the server's challenge (RFC 6750 section 3), on one line; undefined without it. */
function challengeIn({ headers }: Response, parameter: 'error_description' | 'scope'): string | undefined {
  const challenge = headers.get('www-authenticate') ?? '';
  const said = new RegExp(`\\b${parameter}="([^"\\\\]+)"`).exec(challenge)?.[1];
  return said && shorten(oneLine(said), LONGEST_CHALLENGE);
}
