import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { Metadata, status } from '@grpc/grpc-js';
import type { StatusObject } from '@grpc/grpc-js';
import type { JsonObject } from '../../../core/json.js';
import type { Logger } from '../../../core/logger.js';
import type { WireError } from '../../translate/errors.js';
import { isVisible, toWireError } from '../../translate/errors.js';

const DETAILS = 'grpc-status-details-bin';
const RETRY_INFO = 'type.googleapis.com/google.rpc.RetryInfo';

/** The error for a tenant that names no agent. A2A has no error for it, since it concerns no task. */
export class NoSuchAgent extends Error {
  constructor(tenant: string) {
    super(
      tenant === ''
        ? 'tenant is missing: name the agent as its card does'
        : 'there is no agent of that name here',
    );
  }
}

/**
 * The gRPC status of an error: a code, google.rpc details with the same content as the JSON of the other bindings (A2A 1.0
 * section 10.6), and as metadata what HTTP answers carry in headers. Errors that clients get as "internal error" are logged
 * in full.
 */
export function statusOf(error: unknown, { path, logger }: CallInLog): StatusObject {
  if (error instanceof NoSuchAgent)
    return grpcStatus({ status: 'NOT_FOUND', message: error.message, details: [], headers: {} });
  if (!isVisible(error)) {
    const shown = error instanceof Error ? error.stack : String(error);
    logger.error('an A2A call failed', { path, error: shown });
  }
  return grpcStatus(toWireError(error));
}

interface CallInLog {
  /** The service and the method. */
  readonly path: string;
  readonly logger: Logger;
}

type StatusFacts = Pick<WireError, 'status' | 'message' | 'details' | 'headers'> & Partial<WireError>;

function grpcStatus(facts: StatusFacts): StatusObject {
  const code = status[facts.status as keyof typeof status];
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(facts.headers)) metadata.set(name, value);
  metadata.set(DETAILS, encodeStatus(facts, code));
  return { code, details: facts.message, metadata };
}

/** Encodes a google.rpc.Status. */
function encodeStatus({ message, details, retryAfterSeconds }: StatusFacts, code: number): Buffer {
  const writer = new BinaryWriter().uint32(field(1, 0)).int32(code).uint32(field(2)).string(message);
  for (const detail of details) writeAny(writer, textOf(detail['@type']), encodeDetail(detail));
  if (retryAfterSeconds !== undefined) writeAny(writer, RETRY_INFO, encodeRetryInfo(retryAfterSeconds));
  return Buffer.from(writer.finish());
}

/** Writes one google.protobuf.Any into the repeated field `details`. */
function writeAny(writer: BinaryWriter, type: string, value: Uint8Array): void {
  writer.uint32(field(3)).fork();
  writer.uint32(field(1)).string(type).uint32(field(2)).bytes(value);
  writer.join();
}

/** Encodes a google.rpc.BadRequest or a google.rpc.ErrorInfo. */
function encodeDetail(detail: JsonObject): Uint8Array {
  const writer = new BinaryWriter();
  const violations = detail['fieldViolations'];
  if (Array.isArray(violations)) {
    for (const one of violations as readonly JsonObject[])
      writePair(writer, 1, [textOf(one['field']), textOf(one['description'])]);
    return writer.finish();
  }
  writer.uint32(field(1)).string(textOf(detail['reason']));
  writer.uint32(field(2)).string(textOf(detail['domain']));
  for (const [key, value] of Object.entries(detail['metadata'] ?? {}))
    writePair(writer, 3, [key, textOf(value)]);
  return writer.finish();
}

/** Writes a message with two string fields: an entry of a map, or a violation. */
function writePair(writer: BinaryWriter, number: number, [first, second]: readonly [string, string]): void {
  writer.uint32(field(number)).fork();
  writer.uint32(field(1)).string(first).uint32(field(2)).string(second);
  writer.join();
}

function encodeRetryInfo(seconds: number): Uint8Array {
  const writer = new BinaryWriter();
  writer.uint32(field(1)).fork().uint32(field(1, 0)).int64(seconds).join();
  return writer.finish();
}

/** The tag of a field. Wire type 2 is for strings, bytes and messages. */
function field(number: number, wireType = 2): number {
  return (number << 3) | wireType;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
