import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { Metadata, status, type StatusObject } from '@grpc/grpc-js';
import { textIn, type JsonObject } from '../../../core/json.js';
import type { WireError } from '../../translate/errors.js';
import { reportedError, type ReportedCall } from '../http-call.js';
import { OLD_ERRORS } from '../v03/values.js';

const DETAILS = 'grpc-status-details-bin';
const OLD_SERVICE = /^\/a2a\.v1\./;
const RETRY_INFO = 'type.googleapis.com/google.rpc.RetryInfo';

/** The error for a tenant that names no agent. A2A has no error for it, since it concerns no task. */
export class NoSuchAgent extends Error {
  /** For programs, as errors of A2A have it. */
  readonly info: JsonObject;

  constructor(tenant: string) {
    super('There is no agent of that name here.');
    this.info = {
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason: 'AGENT_NOT_FOUND',
      domain: 'a2a-protocol.org',
      metadata: { tenant },
    };
  }
}

/**
 * The gRPC status of an error: a code, google.rpc details with the same content as the JSON of the other bindings (A2A 1.0
 * section 10.6), and as metadata what HTTP responses carry in headers. Errors that clients get as "Internal error." are logged
 * in full.
 */
export function statusOf(error: unknown, call: ReportedCall): StatusObject {
  if (error instanceof NoSuchAgent)
    return grpcStatus({ status: 'NOT_FOUND', message: error.message, details: [error.info], headers: {} });
  const facts = reportedError(call, error);
  // A2A 0.3 has no google.rpc details: its SDKs read the name of the error before the message.
  const name = OLD_SERVICE.test(call.path) ? OLD_ERRORS[facts.jsonRpcCode] : undefined;
  return grpcStatus(name ? { ...facts, message: `${name}: ${facts.message}` } : facts);
}

type StatusFacts = Pick<WireError, 'status' | 'message' | 'details' | 'headers'> & Partial<WireError>;

function grpcStatus(facts: StatusFacts): StatusObject {
  const code = status[facts.status as keyof typeof status];
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(facts.headers)) metadata.set(name, value);
  metadata.set(DETAILS, Buffer.from(encodeStatus(facts, code)));
  return { code, details: facts.message, metadata };
}

/** Encodes a google.rpc.Status, whose details are each a google.protobuf.Any. */
function encodeStatus({ message, details, retryAfterSeconds }: StatusFacts, code: number): Uint8Array {
  const retry: Field[] =
    retryAfterSeconds === undefined
      ? []
      : [[3, encode([1, RETRY_INFO], [2, encode([1, encode([1, retryAfterSeconds])])])]];
  return encode(
    [1, code],
    [2, message],
    ...details.map((detail): Field => [3, encode([1, textIn(detail['@type'])], [2, encodeDetail(detail)])]),
    ...retry,
  );
}

/** Encodes a google.rpc.BadRequest or a google.rpc.ErrorInfo. */
function encodeDetail({ fieldViolations, reason, domain, metadata }: JsonObject): Uint8Array {
  if (Array.isArray(fieldViolations))
    return encode(
      ...(fieldViolations as readonly JsonObject[]).map(({ field, description }): Field => [
        1,
        encode([1, textIn(field)], [2, textIn(description)]),
      ]),
    );
  const entries = Object.entries(metadata ?? {});
  return encode(
    [1, textIn(reason)],
    [2, textIn(domain)],
    ...entries.map(([key, value]): Field => [3, encode([1, key], [2, textIn(value)])]),
  );
}

/** A field of a protobuf message: its number, and a whole number, a text or an encoded message. */
type Field = readonly [number: number, value: number | string | Uint8Array];

function encode(...fields: readonly Field[]): Uint8Array {
  const writer = new BinaryWriter();
  for (const [number, value] of fields) {
    if (typeof value === 'number') writer.tag(number, WireType.Varint).int64(value);
    else if (typeof value === 'string') writer.tag(number, WireType.LengthDelimited).string(value);
    else writer.tag(number, WireType.LengthDelimited).bytes(value);
  }
  return writer.finish();
}
