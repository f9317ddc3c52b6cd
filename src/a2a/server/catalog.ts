import type { AgentCard } from '@a2a-js/sdk';
import type { AgentProfile } from '../../core/agent.js';
import { CARD_PATH } from '../../core/card.js';
import type { HttpExchange } from '../../core/http.js';
import type { JsonObject } from '../../core/json.js';
import { CARD_TYPE, CATALOG_PATHS, LOCAL_PUBLISHER, REGISTRY_TYPE } from '../translate/catalog.js';
import { agentUrl } from './card.js';
import { CATALOG_TYPE } from './discovery.js';
import { serveDocument, type EtagCache } from './documents.js';
import { JSON_TYPE } from './modes.js';
import { REGISTRY_PATH, type IndexedEntry } from './registry.js';

const CATALOG_VERSION = '1.0';
const MAX_TAGS = 32;
/** The number of example requests that ARD requires of an entry. */
const QUERIES = { least: 2, most: 5 };

/** The cards that a catalog lists, and where clients reach this node. */
export interface Catalog {
  readonly baseUrl: string;
  readonly cards: readonly AgentCard[];
}

/** An agent on another server that this node delegates to. Its texts are from outside. */
export interface KnownAgent extends Pick<AgentProfile, 'name' | 'description' | 'skills'> {
  /** The address of its card. */
  readonly cardUrl: string;
}

/**
 * Serves the catalog of a node: an entry for each card, one for its registry, and its host (level 2 of AI Catalog). The
 * document is the same for clients of AI Catalog and of ARD, which reads the entries alone.
 */
export function serveCatalog(exchange: HttpExchange, catalog: Catalog, cache: EtagCache): void {
  const publisher = publisherOf(catalog.baseUrl);
  const host = { displayName: `Lango at ${new URL(catalog.baseUrl).host}`, identifier: publisher };
  const registry: JsonObject = {
    identifier: `urn:air:${publisher}:registry:ard`,
    displayName: `Agents of ${host.displayName}`,
    type: REGISTRY_TYPE,
    url: registryUrl(catalog.baseUrl),
    description: 'Searches the agents of this server.',
    representativeQueries: ['which agents are here', 'find an agent for a task'],
  };
  const entries = [...publishedEntries(catalog, cache).map(({ entry }) => entry), registry];
  const body = JSON.stringify({ specVersion: CATALOG_VERSION, host, entries });
  const document = cache.get(`${exchange.baseUrl} ${exchange.path}`, body, () => body);
  const type = exchange.path === CATALOG_PATHS.ard ? JSON_TYPE : CATALOG_TYPE;
  serveDocument(exchange, { type, document });
}

export function registryUrl(baseUrl: string): string {
  return baseUrl.replace(/\/+$/, '') + REGISTRY_PATH;
}

/** The entries of the agents that this node publishes. */
export function publishedEntries({ baseUrl, cards }: Catalog, cache: EtagCache): readonly IndexedEntry[] {
  return cards.map(({ name, description, version, skills }) => {
    const cardUrl = agentUrl(baseUrl, name) + CARD_PATH;
    return indexed({ name, description, cardUrl, skills, version, publisher: publisherOf(baseUrl) }, cache);
  });
}

/** The entries of agents that this node knows. Their publisher is the domain of their card, which cannot claim another. */
export function knownEntries(known: readonly KnownAgent[], cache: EtagCache): readonly IndexedEntry[] {
  return known.map((agent) => indexed({ ...agent, publisher: publisherOf(agent.cardUrl) }, cache));
}

type Listed = KnownAgent & { readonly publisher: string; readonly version?: string };

/** An entry, with the text that a search finds it by. Its time is that of its last change since the start. */
function indexed({ name, description, cardUrl: url, skills, version, publisher }: Listed, cache: EtagCache) {
  const queries = [...new Set(skills.flatMap(({ examples }) => examples))].slice(0, QUERIES.most);
  const content = {
    identifier: `urn:air:${publisher}:agent:${name}`,
    ...{ displayName: name, type: CARD_TYPE, url, description },
    tags: [...new Set(skills.flatMap((skill) => skill.tags))].slice(0, MAX_TAGS),
    capabilities: skills.map(({ id }) => id),
    ...(queries.length < QUERIES.least ? {} : { representativeQueries: queries }),
    ...(version === undefined ? {} : { version }),
  };
  const { modifiedAt } = cache.get(`entry ${url}`, JSON.stringify([content, skills]), () => '');
  const ofSkills = skills.flatMap((skill) => [skill.name, skill.description, ...skill.examples]);
  return {
    entry: { ...content, updatedAt: new Date(modifiedAt).toISOString() },
    text: [name, description, ...content.tags, ...ofSkills].join('\n'),
  };
}

/** The domain in `urn:air:` identifiers. A server without a domain gets the name that ARD reserves for it. */
function publisherOf(url: string): string {
  const { hostname } = new URL(url);
  return /^[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z][a-z0-9-]*$/.test(hostname) ? hostname : LOCAL_PUBLISHER;
}
