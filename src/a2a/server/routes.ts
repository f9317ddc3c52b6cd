import type { Request, Router } from 'express';
import { CARD_PATH, KEYS_PATH, OLD_CARD_PATH, type ReadKeys } from '../../core/card.js';
import { exchangeOf, type HttpExchange, type HttpRoute } from '../../core/http.js';
import { CATALOG_PATHS } from '../translate/catalog.js';
import type { Catalog, KnownAgent } from './catalog.js';
import { serveCatalog, knownEntries, publishedEntries, registryUrl } from './catalog.js';
import { serveCard, serveKeys, type Discovery } from './discovery.js';
import { EtagCache } from './documents.js';
import { serveJsonRpc, sendNoSuchAgent } from './json-rpc.js';
import type { PublishedAgent } from './operations.js';
import { serveRegistry, REGISTRY_PATH } from './registry.js';
import { serveRest, isRestPath, sendNoSuchPath, sendWrongMethod } from './rest.js';
import { StreamSlots, type StreamLimits } from './stream-slots.js';

/** The path of the agents as MCP tools: see mcp/route.ts. */
export const MCP_PATH = '/mcp';
const AGENT_PATH = /^\/agents\/([^/]+)(\/.*)?$/;

interface A2aRoutesOptions {
  /** By name. Read at each request. */
  readonly agents: ReadonlyMap<string, PublishedAgent>;
  /** The agent that is also at the root of the host. */
  readonly root: string;
  /** The advertised address. Default: the one that a client used. */
  readonly baseUrl?: string;
  readonly limits: StreamLimits;
  /** Shared with the other transports of the node. */
  readonly slots?: StreamSlots;
  /** The keys that sign public cards; undefined leaves them unsigned. */
  readonly keys?: ReadKeys | undefined;
}

/**
 * The protocol's paths: `/agents/NAME` for each agent (JSON-RPC, HTTP+JSON below it, its card), and the same at the
 * root for the root agent. Cards are public; all other requests need a caller.
 */
export function createA2aRoutes(options: A2aRoutesOptions): HttpRoute {
  const { limits, slots = new StreamSlots(limits) } = options;
  const streaming = { limits, slots };
  const discovery: Discovery = { cache: new EtagCache(), keys: options.keys };
  return (exchange) => {
    const { method } = exchange.request;
    const target = targetOf(method, exchange.path, options.root);
    if (!target) return false;
    const { name, rest } = target;
    const agent = options.agents.get(name);
    const isCard = rest === CARD_PATH || rest === OLD_CARD_PATH;
    if (!agent || isCard) exchange.anyone();
    if (!agent) {
      const refuse = rest === '' ? sendNoSuchAgent : sendNoSuchPath;
      refuse(exchange, 'There is no agent of that name here.');
      return true;
    }
    if (isCard) {
      const card = agent.card(options.baseUrl ?? exchange.baseUrl);
      return serveCard(exchange, card, { ...discovery, path: rest }).then(() => true);
    }
    if (rest !== '') return serveRest(exchange, { agent, streaming, path: rest }).then(() => true);
    if (method === 'POST') return serveJsonRpc(exchange, agent, streaming);
    sendWrongMethod(exchange, ['POST']);
    return true;
  };
}

interface DiscoveryOptions extends Pick<A2aRoutesOptions, 'agents' | 'baseUrl'> {
  readonly keys: ReadKeys;
  /** The remote agents in use. Read at each request. */
  readonly known?: () => readonly KnownAgent[];
  /** Whether every request has a caller (`auth.mode: none`). */
  readonly isOpen?: boolean;
}

/**
 * The public documents of the whole node, for express: the catalog of all cards, the registry over it, and the keys that
 * it signs with. Only callers find the remote agents in the registry: their addresses may be those of a private network.
 */
export function createDiscoveryRoutes({ agents, baseUrl, keys, known, isOpen }: DiscoveryOptions) {
  const cache = new EtagCache();
  const catalogPaths = Object.values(CATALOG_PATHS);
  const catalogFor = (exchange: HttpExchange): Catalog => {
    const base = baseUrl ?? exchange.baseUrl;
    return { baseUrl: base, cards: [...agents.values()].map(({ card }) => card(base)) };
  };
  return {
    paths: [...catalogPaths, KEYS_PATH, REGISTRY_PATH],
    access: 'anyone' as const,
    addTo(router: Router): void {
      router.all(catalogPaths, (request: Request) => {
        const exchange = exchangeOf(request);
        serveCatalog(exchange, catalogFor(exchange), cache);
      });
      router.use(REGISTRY_PATH, (request: Request) => {
        const exchange = exchangeOf(request);
        return serveRegistry(exchange, async () => {
          const isCaller = isOpen || request.headers.authorization !== undefined;
          if (isCaller) await exchange.caller();
          const catalog = catalogFor(exchange);
          const others = isCaller ? knownEntries(known?.() ?? [], cache) : [];
          const entries = [...publishedEntries(catalog, cache), ...others];
          return { source: registryUrl(catalog.baseUrl), entries, cache };
        });
      });
      router.all(KEYS_PATH, (request: Request) => serveKeys(exchangeOf(request), keys, cache));
    },
  };
}

/** Whether the routes of `createA2aRoutes` may serve this request. */
export function isA2aPath(method: string, path: string): boolean {
  // A browser sends OPTIONS before the POST of a page from another origin.
  return targetOf(method === 'OPTIONS' ? 'POST' : method, path, '') !== undefined;
}

/** The name of the agent, and the path below the agent's own, which is empty for the agent's own path. */
function targetOf(method: string | undefined, path: string, root: string) {
  const [, name, rest = ''] = AGENT_PATH.exec(path) ?? [];
  if (name !== undefined) return { name, rest: rest === '/' ? '' : rest };
  if (path === CARD_PATH || path === OLD_CARD_PATH || isRestPath(path)) return { name: root, rest: path };
  return path === '/' && method === 'POST' ? { name: root, rest: '' } : undefined;
}
