import { CARD_TYPE } from '../../core/card.js';
import { errorText } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import { isJsonObject } from '../../core/json.js';
import { wordScore } from '../translate/word-score.js';
import { fetchCardJson } from './card.js';

/** An agent that a catalog offers. All its texts are from outside. */
interface OfferedAgent {
  readonly name: string;
  readonly description: string;
  /** The address of its card. */
  readonly url: string;
  /** The catalog that offers it. */
  readonly catalog: string;
  /** The share of the search words that its entry has, from 1 to 100. */
  readonly score: number;
}

export interface CatalogSearch {
  readonly agents: readonly OfferedAgent[];
  /** The catalogs that cannot be read, each with the reason. */
  readonly failed: readonly { readonly catalog: string; readonly reason: string }[];
}

export interface CatalogSearchOptions {
  readonly catalogs: readonly string[];
  readonly text: string;
  readonly fetchFor: (catalog: string) => typeof fetch;
}

const MAX_BYTES = 4 * 1024 * 1024;
const MAX_ENTRIES = 10_000;
const MAX_FOUND = 20;
const CALL_MS = 30_000;

/** Reads the catalogs and ranks their agents by the words of the search. Does not follow nested catalogs. Never rejects. */
export async function searchCatalogs({
  catalogs,
  text,
  fetchFor,
}: CatalogSearchOptions): Promise<CatalogSearch> {
  const failed: { catalog: string; reason: string }[] = [];
  const found = await Promise.all(
    catalogs.map(async (catalog): Promise<readonly OfferedAgent[]> => {
      try {
        const signal = AbortSignal.timeout(CALL_MS);
        const request = { url: catalog, fetch: fetchFor(catalog), maxBytes: MAX_BYTES, signal };
        const { entries } = await fetchCardJson(request);
        if (!Array.isArray(entries))
          throw new Error('The document is not an AI Catalog: it has no list of entries.');
        return entries.slice(0, MAX_ENTRIES).flatMap((entry) => offerIn(entry, catalog, text));
      } catch (error) {
        failed.push({ catalog, reason: errorText(error) });
        return [];
      }
    }),
  );
  const agents = found.flat().sort((a, b) => b.score - a.score);
  return { agents: agents.slice(0, MAX_FOUND), failed };
}

function offerIn(entry: unknown, catalog: string, asked: string): readonly OfferedAgent[] {
  if (!isJsonObject(entry) || (entry['type'] ?? entry['mediaType']) !== CARD_TYPE) return [];
  const { displayName: name, url } = entry;
  if (typeof name !== 'string' || typeof url !== 'string' || !/^https?:\/\//i.test(url) || !URL.canParse(url))
    return [];
  const description = textIn(entry, 'description');
  const texts = [name, description, textIn(entry, 'identifier'), ...listIn(entry, 'tags')];
  const queries = listIn(entry, 'representativeQueries');
  const score = wordScore(asked, [...texts, ...queries, ...listIn(entry, 'capabilities')].join('\n'));
  return score === 0 ? [] : [{ name, description, url: new URL(url).href, catalog, score }];
}

function textIn(entry: JsonObject, member: string): string {
  const value = entry[member];
  return typeof value === 'string' ? value : '';
}

function listIn(entry: JsonObject, member: string): readonly string[] {
  const value = entry[member];
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}
