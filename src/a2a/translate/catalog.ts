/*
 * The catalog formats that the server and the client share: AI Catalog 1.0 and Agentic Resource Discovery (ARD) 0.91,
 * which lists the same entries at a path of its own.
 */

/** The paths of the catalog. Equal documents: clients of ARD read the first, clients of AI Catalog the second. */
export const CATALOG_PATHS = {
  ard: '/.well-known/ard.json',
  aiCatalog: '/.well-known/ai-catalog.json',
} as const;
/** The media types of entries: an agent's card, and the address of a registry. */
export const CARD_TYPE = 'application/a2a-agent-card+json';
export const REGISTRY_TYPE = 'application/ai-registry+json';
/** The publisher of entries without a domain, which ARD reserves for them. */
export const LOCAL_PUBLISHER = 'agent.localhost';

const IDENTIFIER = /^urn:air:([a-zA-Z0-9.-]+)(:[a-zA-Z0-9._-]+)+$/;

/** The domain in an identifier, in lower case; undefined for text that is no identifier. */
export function publisherIn(identifier: string): string | undefined {
  return IDENTIFIER.exec(identifier)?.[1]!.toLowerCase();
}

/** A shorter word must occur whole. */
const SHORTEST_STEM = 4;

/** The share of the query's words, from 0 to 100, that a text has or that begin one of its words. */
export function wordScore(query: string, text: string): number {
  const asked = wordsOf(query);
  const own = wordsOf(text);
  const all = [...own];
  const isHit = (word: string): boolean =>
    own.has(word) || (word.length >= SHORTEST_STEM && all.some((one) => one.startsWith(word)));
  return asked.size === 0 ? 0 : Math.round((100 * [...asked].filter(isHit).length) / asked.size);
}

function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) ?? []);
}
