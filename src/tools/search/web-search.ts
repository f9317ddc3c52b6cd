import { z } from 'zod';
import { LangoError } from '../../core/errors.js';

export interface WebHit {
  readonly title: string;
  readonly url: string;
  readonly text: string;
}

/** A service that searches the web. */
export interface WebSearch {
  /** Rejects with `unavailable`, `timeout`, `invalid-config` (wrong key) or with the signal's reason. */
  search(query: string, limit: number, signal: AbortSignal): Promise<readonly WebHit[]>;
}

export interface WebSearchOptions {
  readonly provider: 'searxng' | 'brave';
  /** The address of the service; Brave's own unless given. */
  readonly baseUrl?: string;
  readonly apiKey?: string;
  readonly fetch: typeof fetch;
}

const BRAVE_URL = 'https://api.search.brave.com/res/v1/web/search';
const MOST_OF_BRAVE = 20;

const searxngAnswer = z.object({
  results: z.array(z.object({ title: z.string(), url: z.string(), content: z.string().nullish() })),
});
const braveAnswer = z.object({
  web: z
    .object({
      results: z.array(z.object({ title: z.string(), url: z.string(), description: z.string().nullish() })),
    })
    .nullish(),
});

export function createWebSearch(options: WebSearchOptions): WebSearch {
  return {
    async search(query, limit, signal) {
      const hits = options.provider === 'brave' ? brave : searxng;
      return (await hits(options, { query, limit, signal })).slice(0, limit);
    },
  };
}

interface Search {
  readonly query: string;
  readonly limit: number;
  readonly signal: AbortSignal;
}

async function searxng(options: WebSearchOptions, { query, signal }: Search): Promise<readonly WebHit[]> {
  const url = new URL(`${(options.baseUrl ?? '').replace(/\/+$/, '')}/search`);
  url.search = new URLSearchParams({ q: query, format: 'json' }).toString();
  const headers = options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` };
  const { results } = parse(searxngAnswer, await ask(options, url, { headers, signal }), url);
  return results.map(({ content, ...hit }) => ({ ...hit, text: content ?? '' }));
}

async function brave(
  options: WebSearchOptions,
  { query, limit, signal }: Search,
): Promise<readonly WebHit[]> {
  const url = new URL(options.baseUrl ?? BRAVE_URL);
  url.search = new URLSearchParams({ q: query, count: String(Math.min(limit, MOST_OF_BRAVE)) }).toString();
  const headers = { 'x-subscription-token': options.apiKey ?? '' };
  const { web } = parse(braveAnswer, await ask(options, url, { headers, signal }), url);
  return (web?.results ?? []).map(({ description, ...hit }) => ({ ...hit, text: description ?? '' }));
}

async function ask(options: WebSearchOptions, url: URL, init: RequestInit): Promise<unknown> {
  const headers = { accept: 'application/json', ...init.headers };
  const response = await options.fetch(url, { ...init, headers });
  if (response.ok) return response.json().catch(() => undefined);
  await response.body?.cancel();
  if (response.status === 401 || response.status === 403) {
    throw new LangoError('invalid-config', `${url.host} refuses the search (HTTP ${response.status}).`, {
      hint: 'Check webSearch.apiKey; a SearXNG server has to allow the format json in its settings.',
    });
  }
  throw new LangoError('unavailable', `${url.host} cannot search right now (HTTP ${response.status}).`, {
    retryable: response.status === 429 || response.status >= 500,
  });
}

function parse<Schema extends z.ZodType>(schema: Schema, answer: unknown, url: URL): z.infer<Schema> {
  const parsed = schema.safeParse(answer);
  if (parsed.success) return parsed.data;
  throw new LangoError('unavailable', `${url.host} did not answer with search results.`, {
    hint: 'Check webSearch.baseUrl; a SearXNG server has to allow the format json in its settings.',
  });
}
