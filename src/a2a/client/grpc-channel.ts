import type { AgentCard } from '@a2a-js/sdk';
import type { Transport } from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';
import { LegacyA2AService } from '@a2a-js/sdk/compat/v0_3/server/grpc';
import { A2AService } from '@a2a-js/sdk/server/grpc';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import type { ChannelCredentials, Client, ClientOptions, ServiceDefinition } from '@grpc/grpc-js';
import { credentials, makeGenericClientConstructor } from '@grpc/grpc-js';
import { LangoError } from '../../core/errors.js';
import type { ServerTrust } from '../../core/http.js';
import { assertJsonValue, mapMembers } from '../../core/json.js';

export type GrpcChannel = Awaited<ReturnType<typeof openGrpcChannel>>;

export interface ChannelFacts {
  /** The host on the card. The peer's certificate must be for it. */
  readonly host: string;
  readonly port: number;
  /** The IP address to connect to. */
  readonly address: string;
  readonly version: '1.0' | '0.3';
  readonly isSecure: boolean;
  readonly trust: ServerTrust | undefined;
}

const MAX_MESSAGE_BYTES = 10 * 1024 * 1024;
/** The most tags and lengths that are read of one message. A list of 300,000 numbers has fewer. */
const MAX_READS = 1_000_000;
/** Depth and members are bounded where the message is read. */
const CONTAINERS_ALONE = { depth: Infinity, keys: Infinity };

/** Creates a gRPC connection to one address, with the SDK's transport for that version. It connects at the first call. */
export async function openGrpcChannel(facts: ChannelFacts) {
  const { version } = facts;
  const service = (version === '0.3' ? LegacyA2AService : A2AService) as unknown as ServiceDefinition;
  const connection = openGrpcConnection(facts, bounded(service));
  const transport = await stockTransport(connection.getChannel().getTarget(), version);
  return { transport: overConnection(transport, connection), close: () => connection.close() };
}

/** Creates a gRPC connection to one address, for the calls of a service. */
export function openGrpcConnection(facts: ChannelFacts, service: ServiceDefinition = {}): Client {
  const { host, port, address } = facts;
  const options: ClientOptions = {
    'grpc.default_authority': `${host}:${port}`,
    'grpc.ssl_target_name_override': host,
    'grpc.enable_http_proxy': 0,
    'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
  };
  const Connection = makeGenericClientConstructor(service, 'A2AService');
  const target = address.includes(':') ? `ipv6:[${address}]:${port}` : `ipv4:${address}:${port}`;
  return new Connection(target, credentialsOf(facts), options);
}

/** Decoding and reading many small values blocks the event loop, so the number of them in one message is limited. */
function bounded(service: ServiceDefinition): ServiceDefinition {
  return mapMembers(service, (method) => {
    const decode = method.responseDeserialize as (from: unknown) => unknown;
    const responseDeserialize = (bytes: Buffer): unknown => {
      const message = decode(boundedReader(bytes));
      assertJsonValue(message, CONTAINERS_ALONE);
      return message;
    };
    return { ...method, responseDeserialize };
  });
}

/** A reader for the SDK's decoders, which read each tag and each length with `uint32`. */
export function boundedReader(bytes: Buffer): BinaryReader {
  const reader = new BinaryReader(bytes);
  const read = reader.uint32;
  let reads = 0;
  reader.uint32 = () => {
    reads += 1;
    if (reads > MAX_READS)
      throw new LangoError('too-large', `The response has more than ${MAX_READS} fields.`);
    return read.call(reader);
  };
  return reader;
}

function credentialsOf({ isSecure, trust }: ChannelFacts): ChannelCredentials {
  if (!isSecure) return credentials.createInsecure();
  if (!trust) return credentials.createSsl();
  const { secureContext, checkServerIdentity } = trust;
  return credentials.createFromSecureContext(secureContext, { checkServerIdentity });
}

/** Replaces the connection of the SDK's transport by ours: the SDK accepts neither a connection nor options for one. */
function overConnection(transport: Transport, connection: Client): Transport {
  const own = transport as unknown as { grpcClient: Client };
  own.grpcClient.close();
  own.grpcClient = connection;
  return transport;
}

function stockTransport(url: string, protocolVersion: string): Promise<Transport> {
  const card = { supportedInterfaces: [{ url, protocolBinding: 'GRPC', protocolVersion, tenant: '' }] };
  return new GrpcTransportFactory({ legacyCompat: { enabled: true } }).create(url, card as AgentCard);
}
