import type { CardFinding } from './node-status.js';

/** The request that an operator has the server send to an agent. Over gRPC `path` names the method, and `body` is proto JSON. */
export interface InspectedRequest {
  readonly origin: string;
  /** With its query, which the audit log does not show: it may hold a key. */
  readonly path: string;
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The operation whose rules the frames of the response are checked by. Default: none. */
  readonly expects?: Expected;
}

export interface Expected {
  readonly version: '1.0' | '0.3';
  readonly transport: 'JSONRPC' | 'HTTP+JSON' | 'GRPC';
  readonly operation: string;
}

/** The response, as it went over the wire; messages of gRPC as proto JSON. */
export interface Inspection {
  /** The status of HTTP, or that of gRPC. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly frames: readonly InspectedFrame[];
  /** The violations in the body of the request. Absent: it was not checked. */
  readonly sentProblems?: readonly string[];
  /** Why the response was not read to its end. */
  readonly cut?: string;
  /** The findings about a card, when the response is one. */
  readonly findings?: readonly CardFinding[];
}

/** The outcome of a call over gRPC, without its messages. */
export type GrpcInspection = Pick<Inspection, 'status' | 'headers' | 'cut'>;

/** The whole body, or one event of a stream. */
export interface InspectedFrame {
  /** Milliseconds after the request was sent. */
  readonly ms: number;
  readonly text: string;
  /** The violations of the specification of A2A. */
  readonly problems: readonly string[];
}

/** The headers that an inspected request may have. */
export const INSPECTED_HEADERS = [
  'accept',
  'a2a-extensions',
  'a2a-version',
  'authorization',
  'content-type',
  'last-event-id',
  'x-api-key',
] as const;
