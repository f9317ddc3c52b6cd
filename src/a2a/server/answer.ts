import type { HttpExchange } from '../../core/http.js';
import type { WireError } from '../translate/errors.js';
import { isTold } from '../translate/errors.js';

export interface JsonAnswer {
  readonly status: number;
  readonly type: string;
  /** The JSON text. */
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Answers in one write, with its length, so that the connection stays open. Nothing happens when the client is gone. */
export function sendJson({ request, response }: HttpExchange, answer: JsonAnswer): void {
  if (response.destroyed || response.headersSent) return;
  response.writeHead(answer.status, {
    'Content-Type': answer.type,
    'Content-Length': Buffer.byteLength(answer.body),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    // What was not read of a request would be taken for the next one.
    ...(request.complete || request.headers['content-length'] === '0' ? {} : { Connection: 'close' }),
    ...answer.headers,
  });
  response.end(request.method === 'HEAD' ? undefined : answer.body);
}

export function sendNothing({ response }: HttpExchange): void {
  if (response.destroyed || response.headersSent) return;
  response.writeHead(204).end();
}

export function errorHeaders(error: ErrorFacts): Readonly<Record<string, string>> {
  const wait = error.retryAfterSeconds;
  return wait === undefined ? error.headers : { 'Retry-After': String(wait), ...error.headers };
}

type ErrorFacts = Pick<WireError, 'retryAfterSeconds' | 'headers'>;

/** What a client is only told as "internal error" stands in the log in full. */
export function logDefect({ logger, path }: HttpExchange, error: unknown): void {
  if (isTold(error)) return;
  logger.error('an A2A request failed', {
    path,
    error: error instanceof Error ? error.stack : String(error),
  });
}
