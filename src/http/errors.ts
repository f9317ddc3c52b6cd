import type { ServerResponse } from 'node:http';
import { adviceText, errorText, isLangoError } from '../core/errors.js';
import { statusOf, type HttpExchange } from '../core/http.js';
import type { Logger } from '../core/logger.js';

const INTERNAL_MESSAGE = 'Internal error. The log of the server says more.';

/** Returns the body of the response for an error (google.rpc.Status as JSON). */
export function errorBody(
  [code, status]: readonly [number, string],
  message: string,
  details: readonly object[] = [],
) {
  return { error: { code, status, message, details } };
}

/**
 * Responds with `error`, in the hot path and in express alike. Logs a defect (any error but a `LangoError`) in full, and
 * shows nothing of it. If the headers were already sent, closes the connection, so that the client sees the failure.
 */
export function sendError(
  { request, response }: Pick<HttpExchange, 'request' | 'response'>,
  error: unknown,
  logger: Logger,
): void {
  if (!isLangoError(error)) {
    const stack = error instanceof Error ? error.stack : undefined;
    logger.error('request failed', { error: errorText(error), stack });
  }
  if (response.headersSent) {
    response.destroy();
    return;
  }
  // Otherwise the server would read the rest of this request as the next one.
  if (!request.complete) response.setHeader('Connection', 'close');
  if (!isLangoError(error)) return sendJson(response, 500, errorBody([500, 'INTERNAL'], INTERNAL_MESSAGE));
  const { code, violations, retryAfterMs, headers = {} } = error;
  if (retryAfterMs !== undefined) {
    response.setHeader('Retry-After', Math.max(1, Math.ceil(retryAfterMs / 1000)));
  }
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  const details = violations
    ? [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: violations }]
    : [];
  const status = statusOf(code);
  sendJson(response, status[0], errorBody(status, adviceText(error), details));
}

export function sendJson(response: ServerResponse, code: number, value: unknown): void {
  const text = Buffer.from(`${JSON.stringify(value)}\n`, 'utf8');
  response.writeHead(code, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': text.length,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  });
  response.end(text);
}
