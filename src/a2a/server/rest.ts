import type { HttpExchange } from '../../core/http.js';
import { isJsonObject, mapMembers, type Json } from '../../core/json.js';
import { percentDecoded } from '../../core/text.js';
import type { WireError } from '../translate/errors.js';
import { REST_1_0, type RestDialect } from './dialect.js';
import type { ResponseFormat } from './http-call.js';
import { HttpCall, serveOperation, errorHeaders, reportedError, sendJson } from './http-call.js';
import { OPERATIONS, type PublishedAgent } from './operations.js';
import type { OperationName } from './requests.js';
import type { Streaming } from './sse.js';
import { REST_0_3 } from './v03/dialect.js';

/** The fields that errors of paths and HTTP methods share. A2A does not define these errors. */
const NO_SUCH_METHOD = { jsonRpcCode: -32601, details: [], retryAfterSeconds: undefined, headers: {} };

export function isRestPath(path: string): boolean {
  return dialectOf(path).routes.some((route) => route.path.test(path));
}

/** The paths of 0.3 begin with `/v1`, so the path tells the version of a client that names none. */
const dialectOf = (path: string): RestDialect => (path.startsWith('/v1/') ? REST_0_3 : REST_1_0);

/** Serves one request of the HTTP+JSON binding (A2A 1.0 section 11), at a path below the agent's own. Never rejects. */
export async function serveRest(
  exchange: HttpExchange,
  { agent, streaming, path }: { agent: PublishedAgent; streaming: Streaming; path: string },
): Promise<void> {
  const dialect = dialectOf(path);
  try {
    const route = dialect.routes.find((candidate) => candidate.path.test(path));
    if (!route) {
      exchange.anyone();
      const message = `There is no such path in the HTTP+JSON binding of A2A ${dialect.version}.`;
      return sendNoSuchPath(exchange, message, dialect);
    }
    const name = route.methods[exchange.request.method ?? ''];
    if (!name) {
      exchange.anyone();
      return sendWrongMethod(exchange, Object.keys(route.methods), dialect);
    }
    const call = new HttpCall(exchange, await exchange.caller(), [dialect.version]);
    const given = await readParams(exchange, route.path.exec(path)?.groups ?? {});
    const params = isJsonObject(given) ? dialect.params(name, given) : given;
    const request = { agent, params, dialect, context: call.toContext(dialect.version) };
    const format = formatOf(exchange, dialect, name);
    await serveOperation(exchange, streaming, { operation: OPERATIONS[name], request, call, format });
  } catch (error) {
    sendRestError(exchange, dialect, reportedError(exchange, error));
  }
}

/** Apart from the call, since a stream holds its format: the body and the parameters must not last as long. */
function formatOf(exchange: HttpExchange, dialect: RestDialect, name: OperationName): ResponseFormat {
  return {
    type: typeFor(exchange, dialect),
    result: (json) => JSON.stringify(dialect.result(name, json)),
    event: (json) => JSON.stringify(dialect.event(name, json)),
    error: (error) => JSON.stringify(dialect.error(reportedError(exchange, error))),
  };
}

export function sendNoSuchPath(exchange: HttpExchange, message: string, dialect = REST_1_0): void {
  sendRestError(exchange, dialect, { ...NO_SUCH_METHOD, httpStatus: 404, status: 'NOT_FOUND', message });
}

export function sendWrongMethod(exchange: HttpExchange, allowed: readonly string[], dialect = REST_1_0) {
  const message = `This path takes ${allowed.join(' and ')}.`;
  const headers = { Allow: allowed.join(', ') };
  const error = { ...NO_SUCH_METHOD, httpStatus: 405, status: 'UNIMPLEMENTED', message, headers };
  sendRestError(exchange, dialect, error);
}

function sendRestError(exchange: HttpExchange, dialect: RestDialect, error: WireError): void {
  sendJson(exchange, {
    status: error.httpStatus,
    type: typeFor(exchange, dialect),
    body: JSON.stringify(dialect.error(error)),
    headers: errorHeaders(error),
  });
}

/** A client whose Accept does not cover A2A's own type gets plain JSON: Go's SDK reads errors in no other type. */
function typeFor({ request: { headers } }: HttpExchange, dialect: RestDialect): string {
  const isAccepted = /a2a\+json|\*\/\*|application\/\*/.test(headers.accept ?? '*/*');
  return isAccepted ? dialect.type : 'application/json';
}

/** The members of the body or, without a body (or with `null`), of the query. Parameters of the path come first. */
async function readParams(exchange: HttpExchange, segments: Record<string, string>): Promise<unknown> {
  const path = mapMembers(segments, percentDecoded);
  const { method, headers } = exchange.request;
  const hasBody = (headers['content-length'] ?? '0') !== '0' || headers['transfer-encoding'] !== undefined;
  const isRead = method !== 'GET' && method !== 'DELETE' && hasBody;
  const body: Json = isRead ? await exchange.readJson() : null;
  if (body === null) return { ...Object.fromEntries(exchange.query), ...path };
  return isJsonObject(body) ? { ...body, ...path } : body;
}
