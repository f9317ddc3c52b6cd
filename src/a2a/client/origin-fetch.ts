import { LangoError } from '../../core/errors.js';

export interface OriginFetchOptions {
  readonly fetch: typeof fetch;
  /** The only origin that is asked, and the only one that sees the token. */
  readonly origin: string;
  readonly token: string | undefined;
}

/**
 * A `fetch` bound to one server. Rejects with `forbidden` for any other origin, and with a `LangoError`
 * for answers that are about access or load, whatever their body says.
 */
export function createOriginFetch(options: OriginFetchOptions): typeof fetch {
  return async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    if (url.origin !== options.origin) {
      throw new LangoError('forbidden', `${url.origin} is not the agent's origin ${options.origin}.`);
    }
    const headers = new Headers(input instanceof Request ? input.headers : undefined);
    new Headers(init?.headers).forEach((value, name) => headers.set(name, value));
    if (options.token !== undefined) headers.set('authorization', `Bearer ${options.token}`);
    const response = await options.fetch(input, { ...init, headers, redirect: 'error' });
    const refusal = refusalOf(response, url.host);
    if (!refusal) return response;
    await response.body?.cancel().catch(() => {});
    throw refusal;
  };
}

function refusalOf(response: Response, host: string): LangoError | undefined {
  switch (response.status) {
    case 401:
      return new LangoError('unauthenticated', `${host} wants a valid token.`);
    case 403:
      return new LangoError('forbidden', `${host} refused access.`);
    case 429:
    case 503:
      return new LangoError('too-many', `${host} takes no requests at the moment.`, {
        retryable: true,
        ...retryAfter(response),
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

function retryAfter(response: Response): { readonly retryAfterMs?: number } {
  const seconds = Number(response.headers.get('retry-after') ?? '');
  return Number.isFinite(seconds) && seconds > 0 ? { retryAfterMs: seconds * 1000 } : {};
}
