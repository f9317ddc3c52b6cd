import type { AgentCard, AgentInterface, StreamResponse } from '@a2a-js/sdk';
import type { RequestOptions, Transport } from '@a2a-js/sdk/client';
import { JsonRpcTransportFactory, RestTransportFactory, TenantTransportDecorator } from '@a2a-js/sdk/client';
import { LangoError } from '../../core/errors.js';
import type { Caller } from '../../core/identity.js';
import type { Grant, Scope } from '../../core/task.js';
import { EXTENSIONS, OUR_EXTENSIONS } from '../../core/extensions.js';
import { isInWork } from '../translate/content.js';
import { fromWireError } from '../translate/errors.js';
import type { TaskCalls } from '../translate/task-calls.js';
import type { Breaker } from './breaker.js';
import { createGrpcTransport, type GrpcPeer } from './grpc-transport.js';
import { fetchForLangGraph, fetchForVersion03, fetchForVersion10 } from './old-wire.js';
import { wireTasks, type CredentialFor, type WireFacts } from './wire-tasks.js';

/** The beginning of the extensions of LangGraph's servers. */
const LANGCHAIN = 'https://langchain.com/a2a/';

/** The connection to one agent. */
export interface Link {
  readonly tasks: TaskCalls;
  /** Whether tasks can be followed as they run. Otherwise they are polled. */
  readonly streams: boolean;
  /** Whether the agent replays missed events by cursor and recognizes a repeated message. */
  readonly replays: boolean;
  /** Records how calls went. */
  readonly breaker?: Breaker | undefined;
}

/** The connection to an agent of another server. */
export interface WireLink extends Link, WireFacts {}

/** Returns the caller on whose behalf a task acts, with the scopes of its grant. */
export function callerOf({ tenant, owner }: Scope, { scopes }: Grant): Caller {
  return { tenant, owner, ...(scopes && { scopes: new Set(scopes) }) };
}

/** A link whose agent may move to another address: open tasks continue over the new link. */
export class MovingLink implements Link {
  #now: Link;
  breaker: Breaker | undefined;

  constructor(link: Link) {
    this.#now = link;
  }

  /** Replaces the link by that of the agent's next card. */
  moveTo(next: Link): void {
    this.#now = next;
  }

  get tasks(): TaskCalls {
    return this.#now.tasks;
  }

  get streams(): boolean {
    return this.#now.streams;
  }

  get replays(): boolean {
    return this.#now.replays;
  }
}

/** The supported protocol bindings, as cards name them. */
export const BINDINGS = ['JSONRPC', 'HTTP+JSON', 'GRPC'] as const;
export type Binding = (typeof BINDINGS)[number];
const [JSON_RPC, , GRPC] = BINDINGS;

export function createLink(transport: Transport, card: AgentCard, credentialFor?: CredentialFor): WireLink {
  const declared = (card.capabilities?.extensions ?? []).map(({ uri }) => uri);
  const facts = {
    transport,
    streams: card.capabilities?.streaming === true,
    extensions: declared.filter((uri) => OUR_EXTENSIONS.includes(uri)),
    credentialFor,
  };
  return { ...facts, replays: declared.includes(EXTENSIONS.cursor), tasks: wireTasks(facts) };
}

/** The means to connect to a peer. */
export interface Connectors {
  readonly fetch: typeof fetch;
  /** Undefined disables gRPC. */
  readonly grpc: GrpcPeer | undefined;
  /** The only binding to use. Default: any that both sides support. */
  readonly binding?: Binding | undefined;
}

/**
 * Creates the transport for the first supported interface of the card. Version 1.0 goes before 0.3, HTTP before gRPC,
 * and in 0.3 JSON-RPC first; otherwise the card's order counts. Rejects with `not-supported` when there is none.
 */
export async function createRemoteTransport(card: AgentCard, connectors: Connectors): Promise<Transport> {
  const { binding } = connectors;
  const offered = card.supportedInterfaces.filter(
    (one) => binding === undefined || one.protocolBinding === binding,
  );
  const isLango = card.capabilities?.extensions.some(({ uri }) => uri === EXTENSIONS.cursor);
  const isLangGraph = card.capabilities?.extensions.some(({ uri }) => uri.startsWith(LANGCHAIN));
  for (const agentInterface of inOrder(offered)) {
    const { url, protocolBinding, tenant } = agentInterface;
    const fetchForNew = isLangGraph ? fetchForLangGraph : fetchForVersion10;
    const mended = isOld(agentInterface) ? fetchForVersion03 : fetchForNew;
    const fetchImpl = protocolBinding === JSON_RPC && !isLango ? mended(connectors.fetch) : connectors.fetch;
    const options = { fetchImpl, legacyCompat: { enabled: true } };
    const factories = [new JsonRpcTransportFactory(options), new RestTransportFactory(options)];
    const factory = factories.find(({ protocolName }) => protocolName === protocolBinding);
    const transport =
      protocolBinding === GRPC && connectors.grpc
        ? createGrpcTransport(agentInterface, connectors.grpc)
        : await factory?.create(url, { ...card, supportedInterfaces: [agentInterface] });
    if (!transport) continue;
    const isProtoOfOld = isOld(agentInterface) && protocolBinding !== JSON_RPC;
    const reliable = isProtoOfOld ? withWholeArtifacts(transport) : transport;
    return tenant === '' ? reliable : new TenantTransportDecorator(reliable, tenant);
  }
  throw new LangoError(
    'not-supported',
    `The card names no interface that this client supports (${binding ?? BINDINGS.join(', ')}).`,
  );
}

function inOrder(interfaces: readonly AgentInterface[]): readonly AgentInterface[] {
  const rank = (one: AgentInterface): number =>
    isOld(one) ? 2 + BINDINGS.indexOf(one.protocolBinding as Binding) : Number(one.protocolBinding === GRPC);
  return [...interfaces].sort((a, b) => rank(a) - rank(b));
}

function isOld({ protocolVersion }: AgentInterface): boolean {
  return protocolVersion.startsWith('0.');
}

type Events = AsyncGenerator<StreamResponse, void, undefined>;

/**
 * Wraps a transport whose streams lose whether a chunk continues the previous one, as the SDK's proto codec of 0.3 does.
 * Chunks are dropped, and a task that had some is read when it ends or asks a question.
 */
function withWholeArtifacts(transport: Transport): Transport {
  async function* whole(events: Events, options: RequestOptions | undefined, mayHaveChunks = false): Events {
    let hasChunks = mayHaveChunks;
    for await (const event of events) {
      const { payload } = event;
      if (payload?.$case === 'artifactUpdate') hasChunks = true;
      else if (payload?.$case !== 'statusUpdate' || isInWork(payload.value.status) || !hasChunks) yield event;
      else {
        const task = await transport.getTask({ tenant: '', id: payload.value.taskId }, options);
        yield { payload: { $case: 'task', value: task } };
      }
    }
  }
  return Object.assign(Object.create(transport) as Transport, {
    sendMessageStream: (...[params, options]: Parameters<Transport['sendMessageStream']>) =>
      whole(transport.sendMessageStream(params, options), options),
    resubscribeTask: (...[params, options]: Parameters<Transport['resubscribeTask']>) =>
      whole(transport.resubscribeTask(params, options), options, true),
  });
}

/** Wraps a transport so that no error repeats a credential that the server was shown. */
export function withMaskedErrors(transport: Transport, mask: (text: string) => string): Transport {
  const masked = (error: unknown): unknown => {
    const { code, message, retryable, retryAfterMs } = fromWireError(error);
    const hidden = mask(message);
    return hidden === message ? error : new LangoError(code, hidden, { retryable, retryAfterMs });
  };
  async function* eventsOf(events: Events): Events {
    try {
      yield* events;
    } catch (error) {
      throw masked(error);
    }
  }
  const call = (method: (...given: unknown[]) => Promise<unknown> | Events, given: unknown[]) => {
    const result = method.apply(transport, given);
    if (Symbol.asyncIterator in result) return eventsOf(result);
    return result.catch((error: unknown) => {
      throw masked(error);
    });
  };
  return new Proxy(transport, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...given: unknown[]) => call(member as Parameters<typeof call>[0], given);
    },
  });
}
