import { StreamResponse } from '@a2a-js/sdk';
import type { HttpExchange } from '../../core/http.js';
import type { Json, JsonObject } from '../../core/json.js';
import { isJsonObject } from '../../core/json.js';
import { toWireError } from '../translate/errors.js';
import { errorHeaders, logDefect, openCall, sendJson } from './http-call.js';
import type { OperationName, PublishedAgent } from './operations.js';
import { operationNamed } from './operations.js';
import type { RestDialect, RestError, RestRoute } from './rest-dialect.js';
import { REST_1_0 } from './rest-dialect.js';
import type { Framing, Streaming } from './sse.js';
import { REST_0_3 } from './v03/dialect.js';

const METHOD_NOT_FOUND = -32601;

const OLD_PATH = /^\/v1\//;

export function isRestPath(path: string): boolean {
  return dialectOf(path).routes.some((route) => route.path.test(path));
}

/** The paths of 0.3 begin with `/v1`, so the path tells the version of a client that names none. */
function dialectOf(path: string): RestDialect {
  return OLD_PATH.test(path) ? REST_0_3 : REST_1_0;
}

export interface RestTarget {
  readonly agent: PublishedAgent;
  readonly streaming: Streaming;
  /** The path below the agent's own. */
  readonly path: string;
}

/** Answers one request of the HTTP+JSON binding (A2A 1.0 section 11). Never rejects. */
export async function answerRest(exchange: HttpExchange, target: RestTarget): Promise<void> {
  const { agent, streaming, path } = target;
  const dialect = dialectOf(path);
  try {
    const route = dialect.routes.find((candidate) => candidate.path.test(path));
    if (!route) {
      exchange.anyone();
      const message = `there is no such path in the HTTP+JSON binding of A2A ${dialect.version}`;
      sendRestError(exchange, dialect, noSuchPath(message));
      return;
    }
    const name = route.methods[exchange.request.method ?? ''];
    if (!name) {
      exchange.anyone();
      sendRestError(exchange, dialect, wrongMethod(Object.keys(route.methods)));
      return;
    }
    const call = await openCall(exchange, [dialect.version]);
    const given = await readParams(exchange, pathParams(route, path));
    const params = isJsonObject(given) ? dialect.params(name, given) : given;
    const request = { agent, params, context: call.toContext(dialect.version) };
    const operation = operationNamed(name)!;
    const headers = call.extensionHeaders;
    if (operation.kind === 'stream') {
      await streaming.answer(exchange, {
        scope: call.scope,
        events: () => operation.events(request),
        framing: framing(exchange, dialect, name),
        headers,
      });
      return;
    }
    const answer = (await operation.answer(request)) as Json;
    const body = JSON.stringify(dialect.result(name, answer));
    sendJson(exchange, { status: 200, type: dialect.type, body, headers });
  } catch (error) {
    sendRestError(exchange, dialect, toRestError(exchange, error));
  }
}

/** Answers 404 on a path that no agent answers. */
export function sendNoSuchPath(exchange: HttpExchange, message: string): void {
  sendRestError(exchange, REST_1_0, noSuchPath(message));
}

export function sendWrongMethod(exchange: HttpExchange, allowed: readonly string[]): void {
  sendRestError(exchange, REST_1_0, wrongMethod(allowed));
}

function framing(exchange: HttpExchange, dialect: RestDialect, name: OperationName): Framing {
  return {
    event: (event) => JSON.stringify(dialect.event(name, StreamResponse.toJSON(event) as JsonObject)),
    error: (error) => JSON.stringify(dialect.error(toRestError(exchange, error))),
  };
}

function toRestError(exchange: HttpExchange, error: unknown): RestError {
  logDefect(exchange, error);
  return toWireError(error);
}

function sendRestError(exchange: HttpExchange, dialect: RestDialect, error: RestError): void {
  sendJson(exchange, {
    status: error.httpStatus,
    type: dialect.type,
    body: JSON.stringify(dialect.error(error)),
    headers: errorHeaders(error),
  });
}

function noSuchPath(message: string): RestError {
  return plainError({ httpStatus: 404, status: 'NOT_FOUND', message }, {});
}

function wrongMethod(allowed: readonly string[]): RestError {
  const message = `this path answers ${allowed.join(' and ')}`;
  return plainError({ httpStatus: 405, status: 'UNIMPLEMENTED', message }, { Allow: allowed.join(', ') });
}

/** An error that A2A does not define. */
function plainError(
  error: Pick<RestError, 'httpStatus' | 'status' | 'message'>,
  headers: RestError['headers'],
): RestError {
  return { ...error, headers, jsonRpcCode: METHOD_NOT_FOUND, details: [], retryAfterSeconds: undefined };
}

function pathParams(route: RestRoute, path: string): Record<string, string> {
  const groups = route.path.exec(path)?.groups ?? {};
  return Object.fromEntries(Object.entries(groups).map(([name, value]) => [name, decoded(value)]));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The members of the body or, without a body, of the query. Parameters of the path come first. */
async function readParams(exchange: HttpExchange, path: Record<string, string>): Promise<unknown> {
  const { method, headers } = exchange.request;
  const hasBody = (headers['content-length'] ?? '0') !== '0' || headers['transfer-encoding'] !== undefined;
  if (method === 'GET' || method === 'DELETE' || !hasBody)
    return { ...Object.fromEntries(exchange.query), ...path };
  const body: Json = await exchange.readJson();
  return isJsonObject(body) ? { ...body, ...path } : body;
}
