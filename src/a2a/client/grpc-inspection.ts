import * as a2a from '@a2a-js/sdk';
import { A2AService } from '@a2a-js/sdk/server/grpc';
import { LegacyA2AService } from '@a2a-js/sdk/compat/v0_3/server/grpc';
import type { BinaryReader } from '@bufbuild/protobuf/wire';
import { Metadata, type ServiceDefinition, type StatusObject } from '@grpc/grpc-js';
import { LangoError } from '../../core/errors.js';
import type { Expected, InspectedRequest } from '../../core/inspection.js';
import { assertJsonValue, isJsonObject, mapMembers, objectIn, textIn } from '../../core/json.js';
import type { JsonObject } from '../../core/json.js';
import { fromDecoded, toConfig, toMessage } from '../translate/old-messages.js';
import { boundedReader, openGrpcConnection } from './grpc-channel.js';
import { parseGrpcAddress, type GrpcRules } from './grpc-transport.js';

interface Codec {
  fromJSON(json: unknown): unknown;
  toJSON(message: never): unknown;
}

const EMPTY: Codec = { fromJSON: () => ({}), toJSON: () => ({}) };
const CODECS: Readonly<Record<string, readonly [request: Codec, response: Codec]>> = {
  SendMessage: [a2a.SendMessageRequest, a2a.SendMessageResponse],
  SendStreamingMessage: [a2a.SendMessageRequest, a2a.StreamResponse],
  GetTask: [a2a.GetTaskRequest, a2a.Task],
  ListTasks: [a2a.ListTasksRequest, a2a.ListTasksResponse],
  CancelTask: [a2a.CancelTaskRequest, a2a.Task],
  SubscribeToTask: [a2a.SubscribeToTaskRequest, a2a.StreamResponse],
  CreateTaskPushNotificationConfig: [a2a.TaskPushNotificationConfig, a2a.TaskPushNotificationConfig],
  GetTaskPushNotificationConfig: [a2a.GetTaskPushNotificationConfigRequest, a2a.TaskPushNotificationConfig],
  ListTaskPushNotificationConfigs: [
    a2a.ListTaskPushNotificationConfigsRequest,
    a2a.ListTaskPushNotificationConfigsResponse,
  ],
  DeleteTaskPushNotificationConfig: [a2a.DeleteTaskPushNotificationConfigRequest, EMPTY],
  GetExtendedAgentCard: [a2a.GetExtendedAgentCardRequest, a2a.AgentCard],
};

interface Wire {
  encode(params: JsonObject): Uint8Array;
  decode(bytes: Buffer): unknown;
}

/** The messages of a method, whose name in the service is that at the end of its path; undefined for no method. */
function wireOf(path: string, { version, operation }: Expected): Wire | undefined {
  const service = (version === '1.0' ? A2AService : LegacyA2AService) as unknown as ServiceDefinition;
  const method = Object.values(service).find((one) => one.path === path);
  const [request = EMPTY, response = EMPTY] = CODECS[operation] ?? [];
  if (!method) return undefined;
  const serialize = method.requestSerialize as (message: unknown) => Uint8Array;
  const deserialize = method.responseDeserialize as unknown as (bytes: BinaryReader) => object;
  if (version === '1.0')
    return {
      encode: (params) => serialize(request.fromJSON(params)),
      decode: (bytes) => response.toJSON(deserialize(boundedReader(bytes)) as never),
    };
  return {
    encode: (params) => serialize(oldRequest(params)),
    decode(bytes) {
      const { msg: message, ...others } = fromDecoded(deserialize(boundedReader(bytes)));
      return withoutDefaults({ ...others, ...(message !== undefined && { message }) });
    },
  };
}

/** Gives the codec of 0.3 all members of a request. Its messages have none of them twice. */
function oldRequest({ message, config, configuration, name, ...others }: JsonObject): object {
  return {
    ...{ name: textIn(name), parent: '', configId: '', historyLength: 0, pageSize: 0, pageToken: '' },
    ...others,
    ...(message !== undefined && { request: toMessage(message) }),
    ...(isJsonObject(configuration) && { configuration: { acceptedOutputModes: [], ...configuration } }),
    ...(config !== undefined && { config: toConfig(config) }),
  };
}

/** One of several members of a part, which is there also when it is empty. */
const CHOSEN: readonly string[] = ['text', 'fileWithUri', 'fileWithBytes'];
/** Free JSON of the agent. */
const OPAQUE: readonly string[] = ['metadata', 'data'];

/** As proto JSON has it: members with their default values are absent. */
function withoutDefaults(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDefaults);
  if (!isJsonObject(value)) return value;
  const isDefault = (one: unknown) => one === '' || one === false || (Array.isArray(one) && one.length === 0);
  const given = Object.entries(value).filter(([name, one]) => CHOSEN.includes(name) || !isDefault(one));
  return Object.fromEntries(
    given.map(([name, one]) => [name, OPAQUE.includes(name) ? one : withoutDefaults(one)]),
  );
}

interface Inspected {
  readonly addressOf: GrpcRules['addressOf'];
  readonly signal: AbortSignal;
  /** The most bytes of all messages. */
  readonly maxBytes: number;
  /** Gets each message as proto JSON, as it comes. */
  readonly onFrame: (text: string) => void;
}

/**
 * Makes one call of an agent over gRPC. Resolves with its status, also one that is no success. Rejects when the address is
 * not permitted, or when the body is no JSON of the operation.
 */
export async function inspectGrpc(request: InspectedRequest, inspected: Inspected) {
  const { origin, path, headers, body = '{}', expects } = request;
  const target = parseGrpcAddress(origin);
  const wire = expects && wireOf(path, expects);
  if (!target || !wire) throw new LangoError('invalid-input', `gRPC has no method ${path} at "${origin}".`);
  const { version } = expects;
  const bytes = encoded(wire, body);
  const address = await inspected.addressOf(target.host, target.port);
  const connection = openGrpcConnection({ ...target, address, version, trust: undefined });
  try {
    // A call without a stream is one with a single message.
    const call = connection.makeServerStreamRequest(path, asIs, asIs, bytes, metadataOf(headers));
    inspected.signal.addEventListener('abort', () => call.cancel());
    let ended: StatusObject | undefined;
    let begun = new Metadata();
    call.on('metadata', (metadata: Metadata) => (begun = metadata));
    call.on('status', (status: StatusObject) => (ended = status));
    const cut = await readAll(call, wire, inspected);
    const { code = 0, details = '', metadata = begun } = ended ?? {};
    return {
      ...{ status: code, ...(cut !== undefined && { cut }) },
      headers: { ...plain(begun), ...plain(metadata), 'grpc-status': `${code}`, 'grpc-message': details },
    };
  } finally {
    connection.close();
  }
}

const asIs = (bytes: Buffer) => bytes;

function encoded(wire: Wire, body: string): Buffer {
  try {
    return Buffer.from(wire.encode(objectIn(JSON.parse(body))));
  } catch (cause) {
    throw new LangoError('invalid-input', `The parameters cannot be written: ${(cause as Error).message}.`, {
      cause,
    });
  }
}

/** Reads the messages of a call to its end, or until there are too many bytes. The status of a failed call says why. */
async function readAll(
  call: AsyncIterable<Buffer> & { cancel(): void },
  wire: Wire,
  { maxBytes, onFrame }: Inspected,
): Promise<string | undefined> {
  let size = 0;
  try {
    for await (const bytes of call) {
      size += bytes.length;
      if (size > maxBytes) return `It has more than ${maxBytes} bytes.`;
      const message = wire.decode(bytes);
      assertJsonValue(message);
      onFrame(JSON.stringify(message));
    }
  } catch (error) {
    if (error instanceof Error && !('code' in error && 'details' in error)) return error.message;
  } finally {
    call.cancel();
  }
  return undefined;
}

/** HTTP's own headers are not metadata. */
const OF_HTTP = ['accept', 'content-type', 'last-event-id'];

function metadataOf(headers: InspectedRequest['headers']): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) if (!OF_HTTP.includes(name)) metadata.set(name, value);
  return metadata;
}

function plain(metadata: Metadata): Readonly<Record<string, string>> {
  return mapMembers(metadata.getMap(), (value) => value.toString('base64'));
}
