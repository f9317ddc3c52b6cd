import type { ServerResponse } from 'node:http';
import type { HttpExchange } from '../core/http.js';

const EXPOSED_HEADERS =
  'A2A-Extensions, WWW-Authenticate, X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, ETag, Last-Modified';
const ACCEPTED_HEADERS =
  'Authorization, Content-Type, A2A-Version, A2A-Extensions, Last-Event-ID, If-None-Match, X-Request-Id, Traceparent, Tracestate';
const PREFLIGHT_SECONDS = '600';

/** Lets a page of `origin` (which the operator allowed) read the answer. */
export function shareWithOrigin(response: ServerResponse, origin: string): void {
  response.setHeader('Access-Control-Allow-Origin', origin);
  response.setHeader('Access-Control-Expose-Headers', EXPOSED_HEADERS);
  response.setHeader('Vary', 'Origin');
}

/** Answers a browser's question before the real request; false when it is not one. */
export function answerPreflight({ request, response }: HttpExchange): boolean {
  if (request.method !== 'OPTIONS' || !request.headers['access-control-request-method']) return false;
  response.writeHead(204, {
    'Access-Control-Allow-Methods': 'GET, POST, DELETE',
    'Access-Control-Allow-Headers': ACCEPTED_HEADERS,
    'Access-Control-Max-Age': PREFLIGHT_SECONDS,
  });
  response.end();
  return true;
}
