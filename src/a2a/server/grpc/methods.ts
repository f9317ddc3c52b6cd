import type { StreamResponse } from '@a2a-js/sdk';
import { A2AService } from '@a2a-js/sdk/server/grpc';
import { LangoError } from '../../../core/errors.js';
import { isJsonObject } from '../../../core/json.js';
import { DIALECT_1_0, type Dialect } from '../dialect.js';
import { OPERATIONS, type Operation, type OperationResult } from '../operations.js';
import { REQUESTS } from '../requests.js';
import { bytesWithGenerations, int64At } from './generation-fields.js';
import { decodesProtoKey, encodesProtoKey } from './proto-key.js';

/** One method of a gRPC service: its operation, and the translation of its messages to the JSON of A2A 1.0. */
export interface GrpcMethod {
  readonly path: string;
  readonly dialect: Dialect;
  readonly operation: Operation;
  /** Decodes a request. Throws `invalid-input`. */
  decode(bytes: Buffer): GrpcRequest;
  encode(result: OperationResult): Buffer;
  encodeEvent(event: StreamResponse): Buffer;
}

interface GrpcRequest {
  /** The agent that the request names; empty when it names none: the root agent. */
  readonly tenant: string;
  readonly params: unknown;
}

/** The service of A2A 1.0 (section 10). Its messages have the same JSON as those of the other bindings. */
export const SERVICE_1_0: readonly GrpcMethod[] = Object.values(OPERATIONS).map(toMethod);

function toMethod(operation: Operation): GrpcMethod {
  const { name } = operation;
  const codec: { toJSON(params: never): unknown } = REQUESTS[name].codec;
  const definition = A2AService[(name[0]!.toLowerCase() + name.slice(1)) as keyof A2AService];
  const deserialize = decodesProtoKey(definition.requestDeserialize as (bytes: Buffer) => never);
  const serialize = encodesProtoKey(definition.responseSerialize as (message: unknown) => Buffer);
  return {
    path: definition.path,
    dialect: DIALECT_1_0,
    operation,
    decode: (bytes) =>
      requestOf(decoded((sent) => withDraft(name, codec.toJSON(deserialize(sent)), sent), bytes)),
    encode: ({ message }) => bytesWithGenerations(serialize(message ?? {}), message),
    encodeEvent: (event) => bytesWithGenerations(serialize(event), event),
  };
}

/** Adds the parameters of the draft of A2A 1.1 to those that the codec knows. */
function withDraft(name: string, json: unknown, bytes: Buffer): unknown {
  if (!isJsonObject(json)) return json;
  if (name === 'GetTask') {
    const currentGeneration = int64At(bytes, [4]);
    return currentGeneration === undefined ? json : { ...json, currentGeneration };
  }
  const ifGenerationMatch = name.startsWith('Send') ? int64At(bytes, [3, 5]) : undefined;
  if (ifGenerationMatch === undefined) return json;
  return { ...json, configuration: { ...(json['configuration'] as object), ifGenerationMatch } };
}

/** Decodes bytes. Throws `invalid-input` when they are not such a message. */
export function decoded<Sent>(deserialize: (bytes: Buffer) => Sent, bytes: Buffer): Sent {
  try {
    return deserialize(bytes);
  } catch (cause) {
    throw new LangoError('invalid-input', 'The message cannot be decoded.', { cause });
  }
}

/** Takes the tenant out of the parameters: it selects the agent. */
function requestOf(json: unknown): GrpcRequest {
  if (!isJsonObject(json)) return { tenant: '', params: {} };
  const { tenant, ...params } = json;
  return { tenant: typeof tenant === 'string' ? tenant : '', params };
}
