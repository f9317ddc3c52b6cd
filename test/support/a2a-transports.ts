import type { AgentCard } from '@a2a-js/sdk';
import type { RequestOptions, Transport } from '@a2a-js/sdk/client';
import {
  ClientCallContext,
  JsonRpcTransportFactory,
  RestTransportFactory,
  TenantTransportDecorator,
} from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';
import { OUR_EXTENSIONS } from '../../src/core/extensions.js';
import type { A2aNode } from './a2a-node.js';
import { TOKEN } from './a2a-node.js';
import { CALL_FACTS, createDirectTransport } from './direct-transport.js';

/** The options of a call besides its parameters, the same on every transport. */
interface Saying {
  /** The token to send. Null sends none. */
  readonly token?: string | null;
  /** A cursor; a text for an invalid one. */
  readonly after?: number | string;
  readonly version?: string;
  readonly extensions?: string;
}

/** A transport to an agent, as a stock client uses it (in-process: to its handler, past the bindings). */
export interface Way {
  readonly name: 'JSONRPC' | 'HTTP+JSON' | 'GRPC' | 'in-process';
  readonly transport: Transport;
  options(saying?: Saying): RequestOptions;
}

const OWNER = 'default';

/** The four transports to one agent of a node that also serves gRPC. */
export async function waysTo(node: A2aNode, agent: string): Promise<readonly Way[]> {
  const local: Way = {
    name: 'in-process',
    transport: createDirectTransport(node.handlers.get(agent)!),
    options: localOptions,
  };
  return [...(await remoteWaysTo(node.origin, agent)), local];
}

/** The three transports to an agent of a server that also serves gRPC. */
export async function remoteWaysTo(origin: string, agent: string): Promise<readonly Way[]> {
  const response = await fetch(`${origin}/agents/${agent}/.well-known/agent-card.json`, {
    headers: { 'A2A-Version': '1.0' },
  });
  const card = (await response.json()) as AgentCard;
  const factories = [new JsonRpcTransportFactory(), new RestTransportFactory(), new GrpcTransportFactory()];
  const remote = factories.map(async (factory): Promise<Way> => {
    const { url, tenant } = card.supportedInterfaces.find(
      (one) => one.protocolBinding === factory.protocolName && one.protocolVersion === '1.0',
    )!;
    const plain = await factory.create(url, card);
    return {
      name: factory.protocolName as Way['name'],
      transport: tenant ? new TenantTransportDecorator(plain, tenant) : plain,
      options: remoteOptions,
    };
  });
  return Promise.all(remote);
}

function remoteOptions({
  token = TOKEN,
  after,
  version,
  extensions = OUR_EXTENSIONS.join(', '),
}: Saying = {}): RequestOptions {
  return {
    serviceParameters: {
      ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
      ...(after === undefined ? {} : { 'Last-Event-ID': String(after) }),
      'A2A-Version': version ?? '1.0',
      'A2A-Extensions': extensions,
    },
  };
}

function localOptions({ token = TOKEN, after }: Saying = {}): RequestOptions {
  const scope = { tenant: '', owner: token === null ? '' : OWNER };
  const seq = after === undefined ? undefined : Number(after);
  return { context: ClientCallContext.create(CALL_FACTS.set({ scope, after: seq })) };
}
