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

/** Returns the body of the response for an error. Shows no details of a defect (any error but a `LangoError`). */
function toErrorBody(error: unknown) {
  if (!isLangoError(error)) return errorBody([500, 'INTERNAL'], INTERNAL_MESSAGE);
  const details = error.violations
    ? [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: error.violations }]
    : [];
  return errorBody(statusOf(error.code), adviceText(error), details);
}

/**
 * Responds with `error`, in the hot path and in express alike, and logs a defect in full. If the headers were already sent,
 * closes the connection, so that the client sees the failure.
 */
export function sendError({ request, response }: FailedRequest, error: unknown, logger: Logger): void {
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
  const { retryAfterMs, headers = {} } = isLangoError(error) ? error : {};
  if (retryAfterMs !== undefined) {
    response.setHeader('Retry-After', Math.max(1, Math.ceil(retryAfterMs / 1000)));
  }
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  const body = toErrorBody(error);
  sendJson(response, body.error.code, body);
}

type FailedRequest = Pick<HttpExchange, 'request' | 'response'>;

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
