import { z } from 'zod';
import { LangoError } from '../../../core/errors.js';
import { retryAfterMs } from '../../../core/retry.js';

export interface WebHit {
  readonly title: string;
  readonly url: string;
  readonly text: string;
}

export interface WebSearchOptions {
  readonly provider: 'searxng' | 'brave';
  /** The URL of the service; Brave's own by default. */
  readonly baseUrl?: string;
  readonly apiKey?: string;
  readonly fetch: typeof fetch;
}

const BRAVE_URL = 'https://api.search.brave.com/res/v1/web/search';
const BRAVE_RESULTS_MAX = 20;
/** Brave sends 422 for an unknown key. */
const REFUSAL_STATUSES: readonly number[] = [401, 403, 422];

const searxngResponse = z.object({ results: z.array(z.unknown()) });
const braveResponse = z.object({ web: z.object({ results: z.array(z.unknown()) }).nullish() });
/** SearXNG uses `content`, Brave `description`. */
const result = z.object({
  title: z.string(),
  url: z.httpUrl(),
  content: z.string().nullish(),
  description: z.string().nullish(),
});

interface Search {
  readonly query: string;
  readonly limit: number;
  readonly signal: AbortSignal;
}

/** Searches the web. Rejects with `unavailable`, `timeout`, `invalid-config` (wrong key) or the signal's reason. */
export async function searchWeb(options: WebSearchOptions, search: Search): Promise<readonly WebHit[]> {
  const hits = options.provider === 'brave' ? await brave(options, search) : await searxng(options, search);
  return hits.slice(0, search.limit);
}

async function searxng(options: WebSearchOptions, { query, signal }: Search): Promise<readonly WebHit[]> {
  const url = new URL(`${(options.baseUrl ?? '').replace(/\/+$/, '')}/search`);
  url.search = new URLSearchParams({ q: query, format: 'json' }).toString();
  const headers: WebRequest['headers'] =
    options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` };
  const { results } = await request(searxngResponse, url, { ...options, headers, signal });
  return results.flatMap(toHit);
}

async function brave(options: WebSearchOptions, { query, limit, signal }: Search) {
  const url = new URL(options.baseUrl ?? BRAVE_URL);
  const count = String(Math.min(limit, BRAVE_RESULTS_MAX));
  url.search = new URLSearchParams({ q: query, count }).toString();
  const headers = { 'x-subscription-token': options.apiKey ?? '' };
  const { web } = await request(braveResponse, url, { ...options, headers, signal });
  return (web?.results ?? []).flatMap(toHit);
}

/** Skips an invalid result and keeps the others. */
function toHit(given: unknown): readonly WebHit[] {
  const { data } = result.safeParse(given);
  return data ? [{ title: data.title, url: data.url, text: data.content ?? data.description ?? '' }] : [];
}

interface WebRequest extends Pick<WebSearchOptions, 'fetch'> {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

async function request<Schema extends z.ZodType>(
  schema: Schema,
  url: URL,
  { headers, signal, ...web }: WebRequest,
): Promise<z.infer<Schema>> {
  const response = await web.fetch(url, { headers: { accept: 'application/json', ...headers }, signal });
  if (!response.ok) throw await failureOf(response, url);
  const { success, data } = schema.safeParse(await response.json().catch(() => undefined));
  if (success) return data;
  throw new LangoError('unavailable', `${url.host} did not respond with search results.`, {
    hint: 'Check webSearch.baseUrl; a SearXNG server has to allow the format json in its settings.',
  });
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
    ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
  });
}
