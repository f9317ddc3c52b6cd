import type { StreamResponse } from '@a2a-js/sdk';
import { A2AService } from '@a2a-js/sdk/server/grpc';
import { LangoError } from '../../../core/errors.js';
import { textIn, type JsonObject } from '../../../core/json.js';
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
  /** Decodes a request. Throws `invalid-input`. The tenant is empty when it names no agent: then it is the root agent. */
  decode(bytes: Buffer): { readonly tenant: string; readonly params: unknown };
  encode(result: OperationResult): Buffer;
  encodeEvent(event: StreamResponse): Buffer;
}

/** The service of A2A 1.0 (section 10). Its messages have the same JSON as those of the other bindings. */
export const SERVICE_1_0: readonly GrpcMethod[] = Object.values(OPERATIONS).map(toMethod);

function toMethod(operation: Operation): GrpcMethod {
  const { name } = operation;
  const codec: { toJSON(params: never): unknown } = REQUESTS[name].codec;
  const toJson = (sent: Buffer): JsonObject => codec.toJSON(deserialize(sent)) as JsonObject;
  const definition = A2AService[(name[0]!.toLowerCase() + name.slice(1)) as keyof A2AService];
  const deserialize = decodesProtoKey(definition.requestDeserialize as (bytes: Buffer) => never);
  const serialize = encodesProtoKey(definition.responseSerialize as (message: unknown) => Buffer);
  return {
    path: definition.path,
    dialect: DIALECT_1_0,
    operation,
    decode(bytes) {
      // The tenant selects the agent, and is no parameter.
      const { tenant, ...params } = decoded((sent) => withDraft(name, toJson(sent), sent), bytes);
      return { tenant: textIn(tenant), params };
    },
    encode: ({ message }) => bytesWithGenerations(serialize(message ?? {}), message),
    encodeEvent: (event) => bytesWithGenerations(serialize(event), event),
  };
}

/** Adds the parameters of the draft of A2A 1.1 to those that the codec knows. */
function withDraft(name: string, json: JsonObject, bytes: Buffer): JsonObject {
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
