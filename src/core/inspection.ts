import { z } from 'zod';
import { cardFinding } from './node-status.js';

const [text, texts] = [z.string(), z.array(z.string()).readonly()];

/** The headers that an inspected request may have. */
const header = z.enum([
  ...(['accept', 'a2a-extensions', 'a2a-version', 'authorization', 'content-type'] as const),
  ...(['last-event-id', 'x-api-key'] as const),
]);

const expected = z.object({
  version: z.enum(['1.0', '0.3']),
  transport: z.enum(['JSONRPC', 'HTTP+JSON', 'GRPC']),
  operation: text,
});

/** The request that an operator has the server send to an agent. Over gRPC `path` names the method, and `body` is proto JSON. */
export const inspectedRequest = z.strictObject({
  origin: text.max(300),
  /** With its query, which the audit log does not show: it may hold a key. */
  path: text.max(2_000).regex(/^\/(?!\/)/, 'begins with one slash'),
  method: z.enum(['GET', 'POST', 'DELETE']),
  headers: z.partialRecord(header, text.max(8_000)).default({}),
  body: text.max(256 * 1024).exactOptional(),
  /** The operation whose rules the frames of the response are checked by. Default: none. */
  expects: expected.exactOptional(),
});

/** The whole body, or one event of a stream. */
const frame = z.object({
  /** Milliseconds after the request was sent. */
  ms: z.number(),
  text,
  /** The violations of the specification of A2A. */
  problems: texts,
});

/** The response, as it went over the wire; messages of gRPC as proto JSON. */
export const inspection = z.object({
  /** The status of HTTP, or that of gRPC. */
  status: z.number(),
  headers: z.record(text, text),
  frames: z.array(frame).readonly(),
  /** Why the response was not read to its end. */
  cut: text.exactOptional(),
  /** The violations in the body of the request. Absent: it was not checked. */
  sentProblems: texts.exactOptional(),
  /** The findings about a card, when the response is one. */
  findings: z.array(cardFinding).readonly().exactOptional(),
});

export type Expected = Readonly<z.output<typeof expected>>;
export type InspectedRequest = Readonly<z.output<typeof inspectedRequest>>;
export type InspectedFrame = Readonly<z.output<typeof frame>>;
export type Inspection = Readonly<z.output<typeof inspection>>;
