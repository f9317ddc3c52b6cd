import { isUtf8 } from 'node:buffer';
import { on } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { LangoError } from '../core/errors.js';
import type { Json } from '../core/json.js';
import { assertJsonValue } from '../core/json.js';
import { assertJsonLimits, membersOf } from './json-scan.js';

export interface BodyLimits {
  readonly bodyBytes: number;
  readonly jsonDepth: number;
  readonly jsonKeys: number;
  /** Time the whole body may take to arrive. */
  readonly bodySeconds: number;
}

type BytesLimits = Pick<BodyLimits, 'bodyBytes' | 'bodySeconds'>;

/** The type that nearly every client sends; any other one is parsed. */
const USUAL_TYPE = 'application/json';
const JSON_TYPE = /^application\/(?:json|[\w.+-]+\+json)$/;
const BYTE_ORDER_MARK = '\uFEFF';
/** How much of a body that is too large is still read and dropped, so that the client gets the answer and not a reset. */
const LINGER_BYTES = 16 * 1024 * 1024;
const LINGER_MS = 1_000;

/** The body as JSON; every limit is checked before parsing. Errors as promised by `HttpExchange.readJson`. */
export async function readJson(request: IncomingMessage, limits: BodyLimits): Promise<Json> {
  const taken = takenBody(request);
  if (taken !== undefined && !Buffer.isBuffer(taken)) return checkParsed(taken.json, limits);
  assertJsonType(request);
  if (taken === undefined) assertNotCompressed(request);
  const bytes = taken ?? (await readBody(request, limits));
  if (bytes.length > limits.bodyBytes) throw tooLarge(limits.bodyBytes);
  if (bytes.length === 0) throw new LangoError('invalid-input', 'The request has no body; JSON is expected.');
  if (!isUtf8(bytes)) throw new LangoError('invalid-input', 'The body is not UTF-8 text.');
  const written = assertJsonLimits(bytes, { depth: limits.jsonDepth, keys: limits.jsonKeys });
  const value = parse(bytes.toString('utf8'));
  // Programs disagree about which of two members counts, so one of them could be smuggled past a check.
  if (membersOf(value) !== written) throw memberTwice();
  return value;
}

/** The body as it is. Errors as promised by `HttpExchange.readBytes`. */
export async function readBytes(request: IncomingMessage, limits: BytesLimits): Promise<Buffer> {
  const taken = takenBody(request);
  if (taken !== undefined && !Buffer.isBuffer(taken)) throw bodyIsGone();
  if (taken === undefined) assertNotCompressed(request);
  const bytes = taken ?? (await readBody(request, limits));
  if (bytes.length > limits.bodyBytes) throw tooLarge(limits.bodyBytes);
  return bytes;
}

/**
 * The body that a parser of the surrounding app (`express.json()` and its like) has read already, as bytes or as JSON;
 * undefined when the stream is untouched. Throws `unavailable` when a parser read it and left nothing to use.
 */
function takenBody(request: IncomingMessage): Buffer | { readonly json: Json } | undefined {
  if (!request.readableDidRead) return undefined;
  const { body } = request as { readonly body?: unknown };
  if (Buffer.isBuffer(body)) return body;
  if (typeof body === 'string') return Buffer.from(body);
  if (typeof body === 'object' && body !== null) return { json: body as Json };
  throw bodyIsGone();
}

function bodyIsGone(): LangoError {
  return new LangoError('unavailable', 'Another middleware has read the body of this request.', {
    hint: 'Mount lango.router() before body parsers, or use express.json() alone.',
  });
}

/** The limits of a body that is parsed already. The size counts as it would be written again. */
function checkParsed(value: Json, limits: BodyLimits): Json {
  assertJsonValue(value, { depth: limits.jsonDepth, keys: limits.jsonKeys });
  if (Buffer.byteLength(JSON.stringify(value)) > limits.bodyBytes) throw tooLarge(limits.bodyBytes);
  return value;
}

function memberTwice(): LangoError {
  return new LangoError(
    'invalid-input',
    'An object of the body names a member twice. Send each member once.',
  );
}

function parse(text: string): Json {
  try {
    return JSON.parse(text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text) as Json;
  } catch (cause) {
    throw new LangoError('invalid-input', 'The body is not valid JSON.', { cause });
  }
}

function assertNotCompressed(request: IncomingMessage): void {
  const coding = request.headers['content-encoding']?.trim().toLowerCase();
  if (coding !== undefined && coding !== '' && coding !== 'identity') {
    throw unsupported('Compressed bodies are not accepted.');
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

function unsupported(message: string): LangoError {
  return new LangoError('content-type-not-supported', message);
}

async function readBody(request: IncomingMessage, limits: BytesLimits): Promise<Buffer> {
  const declared = Number(request.headers['content-length'] ?? 0);
  const bytes =
    declared > limits.bodyBytes ? undefined : ((await arrived(request)) ?? (await collect(request, limits)));
  if (bytes && bytes.length <= limits.bodyBytes) return bytes;
  await linger(request);
  throw tooLarge(limits.bodyBytes);
}

function tooLarge(limit: number): LangoError {
  return new LangoError('too-large', `The body is larger than ${limit} bytes (server.limits.bodyBytes).`);
}

/** A small body arrives in one packet with its headers: then it can be read as soon as that packet is parsed. */
async function arrived(request: IncomingMessage): Promise<Buffer | undefined> {
  await new Promise<void>((resolve) => setImmediate(resolve));
  if (!request.complete || request.readableLength === 0) return undefined;
  return request.read() as Buffer;
}

/** Resolves with undefined once the body is too large. */
async function collect(request: IncomingMessage, limits: BytesLimits): Promise<Buffer | undefined> {
  const late = AbortSignal.timeout(limits.bodySeconds * 1_000);
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of chunksOf(request, late)) {
      size += chunk.length;
      if (size > limits.bodyBytes) return undefined;
      chunks.push(chunk);
    }
  } catch (cause) {
    if (late.aborted)
      throw new LangoError('timeout', `The body did not arrive within ${limits.bodySeconds} s.`, { cause });
  }
  if (request.readableEnded) return Buffer.concat(chunks, size);
  throw new LangoError('canceled', 'The client went away before the body was complete.');
}

/** Drops the rest of a body, within bounds. The answer's `Connection: close` cuts off a client that sends even more. */
async function linger(request: IncomingMessage): Promise<void> {
  let size = 0;
  try {
    for await (const chunk of chunksOf(request, AbortSignal.timeout(LINGER_MS))) {
      size += chunk.length;
      if (size > LINGER_BYTES) return;
    }
  } catch {
    // The rest did not come in time, or the client is gone.
  }
}

/** Yields the chunks that arrive. The stream's own iterator would destroy the request at the end, and so the answer. */
async function* chunksOf(request: IncomingMessage, signal: AbortSignal): AsyncGenerator<Buffer, void> {
  if (request.readableEnded || request.destroyed) return;
  try {
    for await (const [chunk] of on(request, 'data', { signal, close: ['end', 'close'] }))
      yield chunk as Buffer;
  } finally {
    request.pause();
  }
}
