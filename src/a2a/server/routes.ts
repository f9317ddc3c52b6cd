import type { Request, Router } from 'express';
import { CARD_PATH, KEYS_PATH, OLD_CARD_PATH, type ReadKeys } from '../../core/card.js';
import { exchangeOf, type HttpExchange, type HttpRoute } from '../../core/http.js';
import { CATALOG_PATHS } from '../translate/catalog.js';
import {
  answerCatalog,
  knownEntries,
  publishedEntries,
  registryUrl,
  type Catalog,
  type KnownAgent,
} from './catalog.js';
import { answerCard, answerKeys, type Discovery } from './discovery.js';
import { EtagCache } from './documents.js';
import { answerJsonRpc, sendNoSuchAgent } from './json-rpc.js';
import type { PublishedAgent } from './operations.js';
import { answerRegistry, REGISTRY_PATH } from './registry.js';
import { answerRest, isRestPath, sendNoSuchPath, sendWrongMethod } from './rest.js';
import { Streaming } from './sse.js';
import type { StreamLimits, StreamSlots } from './stream-slots.js';

/** The path of the agents as MCP tools: see mcp/route.ts. */
export const MCP_PATH = '/mcp';
const AGENT_PATH = /^\/agents\/([^/]+)(\/.*)?$/;

export interface A2aRoutesOptions {
  /** By name. Read at each request. */
  readonly agents: ReadonlyMap<string, PublishedAgent>;
  /** The agent that also answers at the root of the host. */
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
  const streaming = new Streaming(options.limits, options.slots);
  const discovery: Discovery = { cache: new EtagCache(), keys: options.keys };
  return async (exchange) => {
    const { request, path } = exchange;
    const target = targetOf({ method: request.method, path }, options.root);
    if (!target) return false;
    const agent = options.agents.get(target.name);
    if (!agent) {
      exchange.anyone();
      const send = target.rest === '' ? sendNoSuchAgent : sendNoSuchPath;
      send(exchange, 'There is no agent of that name here.');
      return true;
    }
    await answerAgent(exchange, target.rest, { agent, streaming, discovery, baseUrl: options.baseUrl });
    return true;
  };
}

export interface DiscoveryOptions extends Pick<A2aRoutesOptions, 'agents' | 'baseUrl'> {
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
        answerCatalog(exchange, catalogFor(exchange), cache);
      });
      router.use(REGISTRY_PATH, (request: Request) => {
        const exchange = exchangeOf(request);
        return answerRegistry(exchange, async () => {
          const isCaller = isOpen || request.headers.authorization !== undefined;
          if (isCaller) await exchange.caller();
          const catalog = catalogFor(exchange);
          const others = isCaller ? knownEntries(known?.() ?? [], cache) : [];
          const entries = [...publishedEntries(catalog, cache), ...others];
          return { source: registryUrl(catalog.baseUrl), entries, cache };
        });
      });
      router.all(KEYS_PATH, (request: Request) => answerKeys(exchangeOf(request), keys, cache));
    },
  };
}

/** Whether the routes of `createA2aRoutes` may answer this request. */
export function isA2aPath(method: string, path: string): boolean {
  // A browser sends OPTIONS before the POST of a page from another origin.
  return targetOf({ method: method === 'OPTIONS' ? 'POST' : method, path }, '') !== undefined;
}

interface Target {
  readonly name: string;
  /** The path below the agent's own; empty for the agent's own path. */
  readonly rest: string;
}

interface RequestLine {
  readonly method: string | undefined;
  readonly path: string;
}

function targetOf({ method, path }: RequestLine, root: string): Target | undefined {
  const [, name, rest = ''] = AGENT_PATH.exec(path) ?? [];
  if (name !== undefined) return { name, rest: rest === '/' ? '' : rest };
  if (path === CARD_PATH || path === OLD_CARD_PATH || isRestPath(path)) return { name: root, rest: path };
  return path === '/' && method === 'POST' ? { name: root, rest: '' } : undefined;
}

interface AgentAnswer {
  readonly agent: PublishedAgent;
  readonly streaming: Streaming;
  readonly discovery: Discovery;
  readonly baseUrl: string | undefined;
}

async function answerAgent(exchange: HttpExchange, rest: string, answer: AgentAnswer): Promise<void> {
  const { agent, streaming, discovery, baseUrl } = answer;
  if (rest === CARD_PATH || rest === OLD_CARD_PATH) {
    exchange.anyone();
    await answerCard(exchange, agent.card(baseUrl ?? exchange.baseUrl), { ...discovery, path: rest });
  } else if (rest !== '') await answerRest(exchange, { agent, streaming, path: rest });
  else if (exchange.request.method === 'POST') await answerJsonRpc(exchange, agent, streaming);
  else sendWrongMethod(exchange, ['POST']);
}
