import { isUtf8 } from 'node:buffer';
import { on } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { LangoError } from '../core/errors.js';
import { readAll } from '../core/http.js';
import { assertJsonValue, keepIdOf, parseJson, type Json } from '../core/json.js';
import { Deadline, nextTurn } from '../core/time.js';
import type { HeldBytes } from '../core/bytes-in-flight.js';
import { assertJsonLimits, membersOf } from './json-scan.js';

export interface BodyLimits {
  readonly bodyBytes: number;
  readonly jsonDepth: number;
  readonly jsonKeys: number;
  readonly bodySeconds: number; // Time the whole body may take to arrive.
}

type BytesLimits = Pick<BodyLimits, 'bodyBytes' | 'bodySeconds'>;

/** The content type that nearly every client sends. It is accepted without parsing the header. */
const USUAL_TYPE = 'application/json';
const JSON_TYPE = /^application\/(?:json|[\w.+-]+\+json)$/;
const BYTE_ORDER_MARK = '\uFEFF';
/** Limits for reading the rest of a body that is too large, so that the client gets the response and not a reset. */
const DISCARD_BYTES = 16 * 1024 * 1024;
const DISCARD_MS = 1_000;

/** Reads the body as JSON, once its bytes may be held. Checks every limit before parsing. Rejects like `HttpExchange.readJson`. */
export async function readJson(
  request: IncomingMessage,
  limits: BodyLimits,
  held?: HeldBytes,
): Promise<Json> {
  const earlierBody = bodyOfOtherParser(request);
  if (earlierBody !== undefined && !Buffer.isBuffer(earlierBody))
    return checkParsed(earlierBody.json, limits);
  assertJsonType(request);
  const bytes = await bytesOf(request, limits, held);
  if (bytes.length === 0) throw new LangoError('invalid-input', 'The request has no body; JSON is expected.');
  if (!isUtf8(bytes)) throw new LangoError('invalid-input', 'The body is not UTF-8 text.');
  const memberCount = assertJsonLimits(bytes, { depth: limits.jsonDepth, keys: limits.jsonKeys });
  const text = withoutMark(bytes.toString('utf8'));
  const value = parseJson(text) as Json | undefined;
  if (value === undefined) throw new LangoError('invalid-input', 'The body is not valid JSON.');
  // Programs disagree about which of two equal members counts, so one of them could bypass a check.
  const twice = 'An object in the body has two members of the same name. Send each member once.';
  if (membersOf(value) !== memberCount) throw new LangoError('invalid-input', twice);
  keepIdOf(value, text);
  return value;
}

/** Reads the body as bytes. Rejects like `HttpExchange.readBytes`. */
export async function readBytes(
  request: IncomingMessage,
  limits: BytesLimits,
  held?: HeldBytes,
): Promise<Buffer> {
  return bytesOf(request, limits, held);
}

function bytesOf(request: IncomingMessage, limits: BytesLimits, held?: HeldBytes): Buffer | Promise<Buffer> {
  const earlierBody = bodyOfOtherParser(request);
  if (earlierBody === undefined) {
    assertNotCompressed(request);
    return readBody(request, limits, held);
  }
  if (!Buffer.isBuffer(earlierBody)) throw bodyAlreadyRead();
  if (earlierBody.length > limits.bodyBytes) throw tooLarge(limits.bodyBytes);
  return earlierBody;
}

/** The body that a parser such as `express.json()` has read; undefined without one. Throws `unavailable` if it is lost. */
function bodyOfOtherParser(request: IncomingMessage): Buffer | { readonly json: Json } | undefined {
  if (!request.readableDidRead) return undefined;
  const { body } = request as { readonly body?: unknown };
  if (Buffer.isBuffer(body)) return body;
  if (typeof body === 'string') return Buffer.from(body);
  if (typeof body === 'object' && body !== null) return { json: body as Json };
  throw bodyAlreadyRead();
}

function bodyAlreadyRead(): LangoError {
  return new LangoError('unavailable', 'Another middleware has read the body of this request.', {
    hint: 'Mount lango.router() before body parsers, or use express.json() alone.',
  });
}

/** Checks the limits of a body that was parsed before. Its size is that of its JSON text, serialized again. */
function checkParsed(value: Json, limits: BodyLimits): Json {
  assertJsonValue(value, { depth: limits.jsonDepth, keys: limits.jsonKeys });
  if (Buffer.byteLength(JSON.stringify(value)) > limits.bodyBytes) throw tooLarge(limits.bodyBytes);
  return value;
}

const withoutMark = (text: string): string => (text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text);

function assertNotCompressed(request: IncomingMessage): void {
  const coding = request.headers['content-encoding']?.trim().toLowerCase();
  if (coding !== undefined && coding !== '' && coding !== 'identity') {
    throw unsupported('Compressed bodies are not accepted.', { 'Accept-Encoding': 'identity' });
  }
}

function assertJsonType(request: IncomingMessage): void {
  const given = request.headers['content-type'] ?? '';
  if (given === USUAL_TYPE) return;
  const [type = '', ...parameters] = given.toLowerCase().split(';');
  if (!JSON_TYPE.test(type.trim())) {
    throw unsupported('The body must be JSON: Content-Type application/json or application/a2a+json.');
  }
  const charset = parameters.map((parameter) => parameter.trim()).find((text) => text.startsWith('charset='));
  if (charset && !/^charset="?utf-?8"?$/.test(charset)) throw unsupported('The body must be in UTF-8.');
}

const unsupported = (message: string, headers: Readonly<Record<string, string>> = {}): LangoError =>
  new LangoError('content-type-not-supported', message, { headers });

async function readBody(
  request: IncomingMessage,
  limits: BytesLimits,
  held: HeldBytes | undefined,
): Promise<Buffer> {
  const expected = expectedBytes(request, limits.bodyBytes);
  if (expected <= limits.bodyBytes) {
    const waiting = held?.add(expected);
    if (waiting) await orDiscard(request, waiting);
    await nextTurn();
    const bytes = readArrived(request) ?? (await collect(request, limits));
    if (bytes && bytes.length <= limits.bodyBytes) {
      held?.set(bytes.length);
      return bytes;
    }
  }
  await discardRest(request);
  throw tooLarge(limits.bodyBytes);
}

/** The size that the headers declare; the largest permitted one for a body in chunks. */
function expectedBytes({ headers }: IncomingMessage, largest: number): number {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : largest;
}

/** Settles as `waiting` does. A refused body is dropped first, so that the client gets the response. */
async function orDiscard(request: IncomingMessage, waiting: Promise<void>): Promise<void> {
  try {
    await waiting;
  } catch (error) {
    await discardRest(request);
    throw error;
  }
}

function tooLarge(limit: number): LangoError {
  return new LangoError('too-large', `The body is larger than ${limit} bytes (server.limits.bodyBytes).`);
}

/** Returns a small body that arrived in one packet with its headers; undefined if the body is not complete yet. */
function readArrived(request: IncomingMessage): Buffer | undefined {
  if (!request.complete || request.readableLength === 0) return undefined;
  return request.read() as Buffer;
}

/** Reads the body in chunks. Resolves with undefined once it is too large. */
async function collect(request: IncomingMessage, limits: BytesLimits): Promise<Buffer | undefined> {
  using deadline = new Deadline(undefined, { ref: false }).expect(limits.bodySeconds * 1_000);
  try {
    const bytes = await readAll(chunksOf(request, deadline.signal), limits.bodyBytes);
    if (!bytes || request.readableEnded) return bytes;
  } catch (cause) {
    if (deadline.hasPassed)
      throw new LangoError('timeout', `The body did not arrive within ${limits.bodySeconds} s.`, { cause });
  }
  throw new LangoError('canceled', 'The client went away before the body was complete.');
}

/** Reads and drops the rest of a body, within limits. A client that sends more is cut off by `Connection: close`. */
async function discardRest(request: IncomingMessage): Promise<void> {
  using deadline = new Deadline(undefined, { ref: false }).expect(DISCARD_MS);
  let size = 0;
  try {
    for await (const chunk of chunksOf(request, deadline.signal)) {
      size += chunk.length;
      if (size > DISCARD_BYTES) return;
    }
  } catch {
    // The rest did not arrive in time, or the client closed the connection.
  }
}

/** Yields the chunks of the body. The stream's own iterator would destroy the request at its end, and the response with it. */
async function* chunksOf(request: IncomingMessage, signal: AbortSignal): AsyncGenerator<Buffer, void> {
  if (request.readableEnded || request.destroyed) return;
  try {
    for await (const [chunk] of on(request, 'data', { signal, close: ['end', 'close'] }))
      yield chunk as Buffer;
  } finally {
    request.pause();
  }
}
