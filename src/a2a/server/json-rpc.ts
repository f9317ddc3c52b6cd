import { isLangoError } from '../../core/errors.js';
import type { HttpExchange } from '../../core/http.js';
import { idTextOf, isJsonObject, onOneLine, type Json, type JsonObject } from '../../core/json.js';
import { DIALECT_1_0, type Dialect } from './dialect.js';
import type { ResponseFormat } from './http-call.js';
import { HttpCall, serveOperation, errorHeaders, reportedError, sendJson } from './http-call.js';
import { JSON_TYPE } from './modes.js';
import { OPERATIONS, isOperation } from './operations.js';
import type { Operation, PublishedAgent, Request } from './operations.js';
import type { OperationName } from './requests.js';
import type { ProtocolVersion } from './service-parameters.js';
import type { Streaming } from './sse.js';
import { OLD_METHODS, SCHEMA_DIALECT } from './v03/dialect.js';
import { withTextAsArtifact } from './v03/values.js';

const VERSIONS: readonly ProtocolVersion[] = ['1.0', '0.3'];
const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
/** Errors of the server and of the transport have an HTTP status of their own; all others have 200. */
const OWN_STATUS: readonly number[] = [-32000, -32603];

/** Serves one JSON-RPC 2.0 request (A2A 1.0 section 9). Resolves with true, and never rejects. */
export async function serveJsonRpc(exchange: HttpExchange, agent: PublishedAgent, streaming: Streaming) {
  let id = 'null';
  // Clients of 0.3 that asked for a stream read a response of status 200 as a stream, errors included.
  let asEvent = false;
  // The client of a request without an id gets neither a result nor an error.
  let isNotification = false;
  try {
    const known = exchange.caller();
    const caller = known instanceof Promise ? await known : known;
    let body: unknown;
    try {
      body = await exchange.readJson();
    } catch (error) {
      if (isLangoError(error, 'invalid-input')) throw new JsonRpcFault(PARSE_ERROR, error.message);
      throw error;
    }
    // The response to an invalid request, or one of an unknown version, has its id, when that can be read.
    if (isJsonObject(body) && isId(body['id'])) id = idTextOf(body);
    const call = new HttpCall(exchange, caller, VERSIONS);
    const envelope = toEnvelope(body);
    isNotification = envelope.id === undefined;
    const { operation, dialect } = requireMethod(envelope.method, call.named);
    asEvent = operation.kind === 'stream' && dialect === SCHEMA_DIALECT;
    const params = dialect.params(operation.name, requireParams(envelope.params));
    if (isNotification) {
      await carryOut(operation, { agent, params, dialect, context: call.toDetachedContext(dialect.version) });
    } else {
      const request = { agent, params, dialect, context: call.toContext(dialect.version) };
      const format = new JsonRpcFormat(exchange, { id, dialect, name: operation.name });
      await serveOperation(exchange, streaming, { operation, request, call, format });
    }
  } catch (error) {
    if (!isNotification) sendFault(exchange, faultOf(exchange, id, error), asEvent);
    else if (!(error instanceof JsonRpcFault)) reportedError(exchange, error);
  }
  const { response } = exchange;
  if (isNotification && !response.destroyed && !response.headersSent) response.writeHead(204).end();
  return true;
}

async function carryOut(operation: Operation, request: Request): Promise<void> {
  if (operation.kind === 'unary') await operation.call(request);
  else for await (const event of operation.events(request)) void event;
}

function sendFault(exchange: HttpExchange, { status, headers, body }: Fault, asEvent: boolean): void {
  const isEvent = asEvent && status === 200;
  const type = isEvent ? 'text/event-stream' : JSON_TYPE;
  sendJson(exchange, { status, type, headers, body: isEvent ? `data: ${onOneLine(body)}\n\n` : body });
}

/** Holds neither the body nor the parameters: a stream has it for as long as it lasts. */
class JsonRpcFormat implements ResponseFormat {
  readonly type = JSON_TYPE;
  readonly #exchange: HttpExchange;
  readonly #answered: Answered;

  constructor(exchange: HttpExchange, answered: Answered) {
    this.#exchange = exchange;
    this.#answered = answered;
  }

  result(json: Json): string {
    const { id, dialect, name } = this.#answered;
    const result = dialect.result(name, json);
    const isJava =
      dialect === SCHEMA_DIALECT &&
      /^Java-http-client\b/.test(this.#exchange.request.headers['user-agent'] ?? '');
    return replyText(id, 'result', isJava ? withTextAsArtifact(result) : result);
  }

  event(json: JsonObject): string {
    const { id, dialect, name } = this.#answered;
    return replyText(id, 'result', dialect.event(name, json));
  }

  error(error: unknown): string {
    return faultOf(this.#exchange, this.#answered.id, error).body;
  }
}

interface Answered {
  /** The id of the request, as JSON. */
  readonly id: string;
  readonly dialect: Dialect;
  readonly name: OperationName;
}

/** Refuses a request for an agent that does not exist; its body is not read. */
export function sendNoSuchAgent(exchange: HttpExchange, message: string): void {
  const body = replyText('null', 'error', { code: METHOD_NOT_FOUND, message });
  sendJson(exchange, { status: 404, type: JSON_TYPE, body });
}

/** An error that JSON-RPC 2.0 itself defines. */
class JsonRpcFault extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** The id is absent in a notification. */
function toEnvelope(body: unknown) {
  if (Array.isArray(body))
    throw new JsonRpcFault(INVALID_REQUEST, 'A2A has no batches. Send one request at a time.');
  if (!isJsonObject(body))
    throw new JsonRpcFault(INVALID_REQUEST, 'A JSON-RPC request must be a JSON object.');
  const { id, jsonrpc, method, params } = body;
  if (jsonrpc !== '2.0') throw new JsonRpcFault(INVALID_REQUEST, 'jsonrpc must be "2.0".');
  if (!isId(id)) throw new JsonRpcFault(INVALID_REQUEST, 'id must be a string, a number or null.');
  if (typeof method !== 'string') throw new JsonRpcFault(INVALID_REQUEST, 'method must be a string.');
  return { id, method, params };
}

function isId(value: unknown): value is string | number | null | undefined {
  return value === undefined || value === null || typeof value === 'string' || typeof value === 'number';
}

/** Each version has method names of its own, so the name tells the version of a client that names none. */
function requireMethod(method: string, version: ProtocolVersion | undefined) {
  if (version !== '1.0' && Object.hasOwn(OLD_METHODS, method))
    return { operation: OPERATIONS[OLD_METHODS[method]!], dialect: SCHEMA_DIALECT };
  if (version !== '0.3' && isOperation(method))
    return { operation: OPERATIONS[method], dialect: DIALECT_1_0 };
  const where = version ?? VERSIONS.join(' or ');
  throw new JsonRpcFault(METHOD_NOT_FOUND, `There is no method ${method.slice(0, 100)} in A2A ${where}.`);
}

function requireParams(params: unknown): JsonObject {
  if (params === undefined || params === null) return {};
  if (isJsonObject(params)) return params;
  throw new JsonRpcFault(INVALID_PARAMS, 'params must be a JSON object.');
}

type Fault = ReturnType<typeof faultOf>;

function faultOf(exchange: HttpExchange, id: string, error: unknown) {
  if (error instanceof JsonRpcFault) {
    const { code, message } = error;
    return { status: 200, headers: {}, body: replyText(id, 'error', { code, message }) };
  }
  const wire = reportedError(exchange, error);
  const { jsonRpcCode: code, message, details: data } = wire;
  return {
    status: OWN_STATUS.includes(code) || wire.httpStatus === 415 ? wire.httpStatus : 200,
    headers: errorHeaders(wire),
    body: replyText(id, 'error', { code, message, data }),
  };
}

/** `id` is JSON. */
function replyText(id: string, member: 'result' | 'error', value: unknown): string {
  return `{"jsonrpc":"2.0","id":${id},${JSON.stringify({ [member]: value }).slice(1)}`;
}
