import { z } from 'zod';
import { LangoError } from '../../../core/errors.js';
import { retryAfterMs } from '../../../core/retry.js';

export type WebHit = Readonly<Record<'title' | 'url' | 'text', string>>;

export interface WebSearchOptions {
  readonly provider: 'searxng' | 'brave';
  /** The URL of the service; Brave's own by default. */
  readonly baseUrl?: string;
  readonly apiKey?: string;
  readonly fetch: typeof fetch;
}

const BRAVE_RESULTS_MAX = 20;
/** Brave sends 422 for an unknown key. */
const REFUSAL_STATUSES: readonly number[] = [401, 403, 422];

/** SearXNG uses `content`, Brave `description`. */
const result = z.object({
  title: z.string(),
  url: z.httpUrl(),
  content: z.string().nullish(),
  description: z.string().nullish(),
});

/** The services. Their addresses, their keys and the place of the results differ. */
const SERVICES = {
  searxng: {
    urlOf: (baseUrl = '') => `${baseUrl.replace(/\/+$/, '')}/search`,
    parameters: () => ({ format: 'json' }),
    headers: (apiKey?: string) => (apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    results: z.object({ results: z.array(z.unknown()) }).transform(({ results }) => results),
  },
  brave: {
    urlOf: (baseUrl = 'https://api.search.brave.com/res/v1/web/search') => baseUrl,
    parameters: (limit: number) => ({ count: String(Math.min(limit, BRAVE_RESULTS_MAX)) }),
    headers: (apiKey = '') => ({ 'x-subscription-token': apiKey }),
    results: z
      .object({ web: z.object({ results: z.array(z.unknown()) }).nullish() })
      .transform(({ web }) => web?.results ?? []),
  },
} as const;

interface Search {
  readonly query: string;
  readonly limit: number;
  readonly signal: AbortSignal;
}

/** Searches the web. Rejects with `unavailable`, `timeout`, `invalid-config` (wrong key) or the signal's reason. */
export async function searchWeb(
  { provider, baseUrl, apiKey, ...web }: WebSearchOptions,
  { query, limit, signal }: Search,
): Promise<readonly WebHit[]> {
  const service = SERVICES[provider];
  const url = new URL(service.urlOf(baseUrl));
  url.search = new URLSearchParams({ q: query, ...service.parameters(limit) }).toString();
  const headers = { accept: 'application/json', ...service.headers(apiKey) };
  const response = await web.fetch(url, { headers, signal });
  if (!response.ok) throw await failureOf(response, url);
  const { success, data } = service.results.safeParse(await response.json().catch(() => undefined));
  if (success) return data.flatMap(toHit).slice(0, limit);
  throw new LangoError('unavailable', `${url.host} did not respond with search results.`, {
    hint: 'Check webSearch.baseUrl; a SearXNG server has to allow the format json in its settings.',
  });
}

/** Skips an invalid result and keeps the others. */
function toHit(given: unknown): readonly WebHit[] {
  const { data } = result.safeParse(given);
  return data ? [{ title: data.title, url: data.url, text: data.content ?? data.description ?? '' }] : [];
}

async function failureOf({ status, headers, body }: Response, url: URL): Promise<LangoError> {
  await body?.cancel();
  if (REFUSAL_STATUSES.includes(status)) {
    return new LangoError('invalid-config', `${url.host} refuses the search (HTTP ${status}).`, {
      hint: 'Check webSearch.apiKey; a SearXNG server has to allow the format json in its settings.',
    });
  }
  const waitMs = retryAfterMs(headers);
  const when = waitMs === undefined ? '' : ` Try again in ${Math.ceil(waitMs / 1_000)} seconds.`;
  return new LangoError('unavailable', `${url.host} cannot search right now (HTTP ${status}).${when}`, {
    retryable: status === 429 || status >= 500,
    retryAfterMs: waitMs,
  });
}
