import { errorText } from '../../core/errors.js';
import { isJsonObject, listIn, textIn } from '../../core/json.js';
import { counted, shorten } from '../../core/text.js';
import { CARD_TYPE, CATALOG_PATHS, LOCAL_PUBLISHER, publisherIn, wordScore } from '../translate/catalog.js';
import { fetchFirst } from './card.js';

/** An agent that a catalog offers. All its texts are from outside. */
interface OfferedAgent {
  readonly name: string;
  readonly description: string;
  readonly url: string;
  readonly catalog: string;
  /** The share of the search words that its entry has, from 1 to 100. */
  readonly score: number;
}

interface CatalogSearchOptions {
  /** Addresses of catalogs, or of the servers that have one. */
  readonly catalogs: readonly string[];
  readonly text: string;
  readonly fetchFor: (catalog: string) => typeof fetch;
  /** Whether a URL names a host of a private network. */
  readonly isPrivate: (url: URL) => boolean;
}

const MAX_BYTES = 4 * 1024 * 1024;
const MAX_ENTRIES = 10_000;
const MAX_FOUND = 20;
const MAX_NAME = 100;
const MAX_DESCRIPTION = 1_000;
const CALL_MS = 30_000;

/**
 * Reads the catalogs and ranks their agents by the words of the search. Fetches only the catalogs: no cards, no
 * catalogs inside catalogs, no redirects. `failed` are the catalogs that cannot be read or used whole. Never rejects.
 */
export async function searchCatalogs(options: CatalogSearchOptions) {
  const failed: { catalog: string; reason: string }[] = [];
  const offers = await Promise.all(
    options.catalogs.map(async (catalog) => {
      const fail = (reason: string): void => void failed.push({ catalog, reason });
      try {
        return offersIn(await entriesOf(catalog, options), options, { catalog, fail });
      } catch (error) {
        fail(errorText(error));
        return [];
      }
    }),
  );
  // The best of each catalog come first, so that a catalog with thousands of matches does not hide the others.
  const inTurn = offers.flatMap((own) => own.map((offer, rank) => ({ offer, rank })));
  const shown = inTurn.sort((a, b) => a.rank - b.rank || b.offer.score - a.offer.score).slice(0, MAX_FOUND);
  return { agents: shown.map(({ offer }) => offer).sort((a, b) => b.score - a.score), failed };
}

async function entriesOf(catalog: string, { fetchFor }: CatalogSearchOptions): Promise<readonly unknown[]> {
  const { pathname } = new URL(catalog);
  const urls = pathname.endsWith('.json')
    ? [catalog]
    : Object.values(CATALOG_PATHS).map((path) => new URL(pathname.replace(/\/$/, '') + path, catalog).href);
  const signal = AbortSignal.timeout(CALL_MS);
  const request = { url: catalog, fetch: fetchFor(catalog), maxBytes: MAX_BYTES, signal };
  const { entries } = (await fetchFirst(urls, 'catalog', request)).json;
  if (!Array.isArray(entries)) throw new Error('The document is no catalog: it has no list of entries.');
  return entries as readonly unknown[];
}

/** The agents of a catalog that fit the search, best first. */
function offersIn(
  entries: readonly unknown[],
  { text, isPrivate }: CatalogSearchOptions,
  { catalog, fail }: { readonly catalog: string; readonly fail: (reason: string) => void },
): readonly OfferedAgent[] {
  const from = new URL(catalog);
  const foreign = new Set<string>();
  const hidden = new Set<string>();
  const offers = entries.slice(0, MAX_ENTRIES).flatMap((entry): readonly OfferedAgent[] => {
    const offer = offerIn(entry, catalog, text);
    if (!offer) return [];
    const at = new URL(offer.url);
    const { identifier, ...agent } = offer;
    const isForeign = !mayPublish(identifier, [at, from]);
    const isHidden = isPrivate(at) && !isPrivate(from);
    if (isForeign) foreign.add(agent.name);
    else if (isHidden) hidden.add(agent.name);
    return isForeign || isHidden ? [] : [agent];
  });
  if (entries.length > MAX_ENTRIES)
    fail(`It has ${entries.length} entries, of which only the first ${MAX_ENTRIES} are searched.`);
  if (foreign.size > 0)
    fail(`${counted(foreign.size, 'agent')} not offered: the identifier names a domain of others.`);
  if (hidden.size > 0)
    fail(`${counted(hidden.size, 'agent')} not offered: the address is in a private network.`);
  return offers.sort((a, b) => b.score - a.score);
}

/** Whether an identifier names the domain of one of the addresses, or one above it. True without an identifier. */
function mayPublish(identifier: string, addresses: readonly URL[]): boolean {
  const publisher = publisherIn(identifier);
  if (publisher === undefined || publisher === LOCAL_PUBLISHER) return true;
  // A name without a dot may be a top-level domain, which is above every host in it.
  const isAbove = (hostname: string) => publisher.includes('.') && hostname.endsWith(`.${publisher}`);
  return addresses.some(({ hostname }) => hostname === publisher || isAbove(hostname));
}

function offerIn(entry: unknown, catalog: string, asked: string) {
  if (!isJsonObject(entry) || (entry['type'] ?? entry['mediaType']) !== CARD_TYPE) return undefined;
  const { displayName, url, tags, representativeQueries, capabilities } = entry;
  if (typeof displayName !== 'string' || typeof url !== 'string') return undefined;
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) return undefined;
  const name = shorten(displayName, MAX_NAME);
  const description = shorten(textIn(entry['description']), MAX_DESCRIPTION);
  const identifier = textIn(entry['identifier']);
  const texts = [tags, representativeQueries, capabilities]
    .flatMap(listIn)
    .filter((one) => typeof one === 'string');
  const score = wordScore(asked, [name, description, identifier, ...texts].join('\n'));
  return score === 0 ? undefined : { name, description, url: new URL(url).href, catalog, score, identifier };
}
