import type { AgentCard } from '@a2a-js/sdk';
import { CARD_PATH, CATALOG_PATH, OLD_CARD_PATH } from '../../core/card.js';
import type { HttpExchange, HttpRoute } from '../../core/http.js';
import type { ReadKeys } from '../../core/keys.js';
import type { Discovery } from './discovery.js';
import { answerCard, answerCatalog } from './discovery.js';
import { answerJsonRpc, sendNoSuchAgent } from './json-rpc.js';
import type { GuardedHandler } from './operations.js';
import { answerRest, isRestPath, sendNoSuchPath, sendWrongMethod } from './rest.js';
import { Shelf } from './shelf.js';
import type { StreamLimits } from './stream-limits.js';
import type { StreamPlaces } from './stream-places.js';
import { Streaming } from './streaming.js';

const AGENT_PATH = /^\/agents\/([^/]+)(\/.*)?$/;

export interface PublishedAgent {
  readonly handler: GuardedHandler;
  /** The public card, for the address that a client uses. */
  readonly card: (baseUrl?: string) => AgentCard;
}

export interface A2aRoutesOptions {
  /** By name; read at each request. */
  readonly agents: ReadonlyMap<string, PublishedAgent>;
  /** The agent that also answers at the root of the host. */
  readonly root: string;
  /** The advertised address; without it, the one a client used. */
  readonly baseUrl?: string;
  readonly limits: StreamLimits;
  /** Shared with the other transports of the node. */
  readonly places?: StreamPlaces;
  /** Public cards are signed with these; undefined leaves them unsigned. */
  readonly keys?: ReadKeys | undefined;
}

/**
 * The protocol's paths: `/agents/NAME` for each agent (JSON-RPC, HTTP+JSON below it, its card), the same at
 * the root for the root agent, and the catalog. Cards are public; everything else needs a caller.
 */
export function createA2aRoutes(options: A2aRoutesOptions): HttpRoute {
  const streaming = new Streaming(options.limits, options.places);
  const discovery: Discovery = { shelf: new Shelf(), keys: options.keys };
  return async (exchange) => {
    const target = targetOf(exchange, options.root);
    if (!target) return false;
    if (target.kind === 'catalog') {
      exchange.anyone();
      const baseUrl = options.baseUrl ?? exchange.origin;
      const cards = [...options.agents.values()].map(({ card }) => card(baseUrl));
      answerCatalog(exchange, { baseUrl, cards }, discovery.shelf);
      return true;
    }
    const agent = options.agents.get(target.name);
    if (!agent) {
      exchange.anyone();
      const send = target.rest === '' ? sendNoSuchAgent : sendNoSuchPath;
      send(exchange, 'there is no agent of that name here');
      return true;
    }
    await answerAgent(exchange, target.rest, { agent, streaming, discovery, baseUrl: options.baseUrl });
    return true;
  };
}

type Target =
  | { readonly kind: 'catalog' }
  /** `rest` is the path below the agent's own, empty for that itself. */
  | { readonly kind: 'agent'; readonly name: string; readonly rest: string };

function targetOf({ path, request }: HttpExchange, root: string): Target | undefined {
  if (path === CATALOG_PATH) return { kind: 'catalog' };
  const [, name, rest = ''] = AGENT_PATH.exec(path) ?? [];
  if (name !== undefined) return { kind: 'agent', name, rest: rest === '/' ? '' : rest };
  if (path === CARD_PATH || path === OLD_CARD_PATH || isRestPath(path))
    return { kind: 'agent', name: root, rest: path };
  return path === '/' && request.method === 'POST' ? { kind: 'agent', name: root, rest: '' } : undefined;
}

interface AgentAnswer {
  readonly agent: PublishedAgent;
  readonly streaming: Streaming;
  readonly discovery: Discovery;
  readonly baseUrl: string | undefined;
}

async function answerAgent(exchange: HttpExchange, rest: string, answer: AgentAnswer): Promise<void> {
  const { agent, streaming, discovery, baseUrl } = answer;
  const binding = { handler: agent.handler, streaming };
  if (rest === CARD_PATH || rest === OLD_CARD_PATH) {
    exchange.anyone();
    await answerCard(exchange, agent.card(baseUrl ?? exchange.origin), { ...discovery, path: rest });
  } else if (rest !== '') await answerRest(exchange, rest, binding);
  else if (exchange.request.method === 'POST') await answerJsonRpc(exchange, binding);
  else sendWrongMethod(exchange, ['POST']);
}
