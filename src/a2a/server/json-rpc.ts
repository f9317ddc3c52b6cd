import { StreamResponse } from '@a2a-js/sdk';
import { isLangoError } from '../../core/errors.js';
import type { HttpExchange } from '../../core/http.js';
import type { Json, JsonObject } from '../../core/json.js';
import { isJsonObject } from '../../core/json.js';
import { toWireError } from '../translate/errors.js';
import type { HttpCall } from './http-call.js';
import { errorHeaders, logDefect, openCall, sendJson, sendNothing } from './http-call.js';
import { JSON_TYPE } from './modes.js';
import type { Operation, OperationName, PublishedAgent, Request } from './operations.js';
import { operationNamed } from './operations.js';
import type { ProtocolVersion } from './service-parameters.js';
import type { Framing, Streaming } from './sse.js';
import type { Dialect } from './v03/dialect.js';
import { OLD_METHODS, SCHEMA_DIALECT } from './v03/dialect.js';

const VERSIONS: readonly ProtocolVersion[] = ['1.0', '0.3'];
const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
/** Errors of the server and of the transport have an HTTP status of their own; all others are answered with 200. */
const OWN_STATUS: readonly number[] = [-32000, -32603];

type Id = string | number | null;

/** Answers one JSON-RPC 2.0 request (A2A 1.0 section 9). Never rejects. */
export async function answerJsonRpc(
  exchange: HttpExchange,
  agent: PublishedAgent,
  streaming: Streaming,
): Promise<void> {
  let id: Id = null;
  let asEvent = false;
  try {
    const call = await openCall(exchange, VERSIONS);
    const envelope = toEnvelope(await readBody(exchange));
    if (envelope.id === undefined) {
      await notify(exchange, agent, { envelope, call });
      return;
    }
    id = envelope.id;
    const method = requireMethod(envelope.method, call.named);
    const { operation, dialect } = method;
    asEvent = operation.kind === 'stream' && dialect !== undefined;
    const request = {
      agent,
      params: paramsOf(method, envelope.params),
      context: call.toContext(versionOf(method)),
    };
    const headers = call.extensionHeaders;
    if (operation.kind === 'stream') {
      await streaming.answer(exchange, {
        scope: call.scope,
        events: () => operation.events(request),
        framing: framing(exchange, id, method),
        headers,
      });
      return;
    }
    const answer = await operation.answer(request);
    const result = JSON.stringify(dialect ? dialect.result(method.name, answer as Json) : answer);
    sendJson(exchange, { status: 200, type: JSON_TYPE, body: resultText(id, result), headers });
  } catch (error) {
    sendFault(exchange, toFault(exchange, error), { id, asEvent });
  }
}

interface FaultTarget {
  readonly id: Id;
  /** Clients of 0.3 that asked for a stream read an answer of status 200 as a stream, errors included. */
  readonly asEvent: boolean;
}

function sendFault(exchange: HttpExchange, fault: Fault, { id, asEvent }: FaultTarget): void {
  const { status, headers } = fault;
  const body = errorTextOf(id, fault);
  if (asEvent && status === 200)
    sendJson(exchange, { status, type: 'text/event-stream', body: `data: ${body}\n\n`, headers });
  else sendJson(exchange, { status, type: JSON_TYPE, body, headers });
}

/** Answers a request for an agent that does not exist; its body is not read. */
export function sendNoSuchAgent(exchange: HttpExchange, message: string): void {
  const fault = { status: 404, headers: {}, error: { code: METHOD_NOT_FOUND, message } };
  sendJson(exchange, { status: fault.status, type: JSON_TYPE, body: errorTextOf(null, fault) });
}

interface Notification {
  readonly envelope: Envelope;
  readonly call: HttpCall;
}

/** A request without an id is carried out, and gets neither a result nor an error. */
async function notify(exchange: HttpExchange, agent: PublishedAgent, sent: Notification): Promise<void> {
  const { envelope, call } = sent;
  try {
    const method = requireMethod(envelope.method, call.named);
    const params = paramsOf(method, envelope.params);
    await carryOut(method.operation, {
      agent,
      params,
      context: call.toDetachedContext(versionOf(method)),
    });
  } catch (error) {
    toFault(exchange, error);
  }
  sendNothing(exchange);
}

async function carryOut(operation: Operation, request: Request): Promise<void> {
  if (operation.kind === 'unary') await operation.answer(request);
  else for await (const event of operation.events(request)) void event;
}

/** An error that JSON-RPC 2.0 itself defines. */
class JsonRpcFault extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

async function readBody(exchange: HttpExchange): Promise<unknown> {
  try {
    return await exchange.readJson();
  } catch (error) {
    if (isLangoError(error, 'invalid-input')) throw new JsonRpcFault(PARSE_ERROR, error.message);
    throw error;
  }
}

interface Envelope {
  /** Absent in a notification. */
  readonly id: Id | undefined;
  readonly method: string;
  readonly params: unknown;
}

function toEnvelope(body: unknown): Envelope {
  if (Array.isArray(body))
    throw new JsonRpcFault(INVALID_REQUEST, 'batches are not part of A2A: send one request at a time');
  if (!isJsonObject(body)) throw new JsonRpcFault(INVALID_REQUEST, 'a JSON-RPC request is a JSON object');
  const { id, jsonrpc, method, params } = body;
  if (jsonrpc !== '2.0') throw new JsonRpcFault(INVALID_REQUEST, 'jsonrpc must be "2.0"');
  if (!isId(id)) throw new JsonRpcFault(INVALID_REQUEST, 'id must be a string, a number or null');
  if (typeof method !== 'string') throw new JsonRpcFault(INVALID_REQUEST, 'method must be a string');
  return { id, method, params };
}

function isId(value: unknown): value is Id | undefined {
  return value === undefined || value === null || typeof value === 'string' || typeof value === 'number';
}

interface Method {
  readonly name: OperationName;
  readonly operation: Operation;
  /** The translation of 0.3; undefined for 1.0. */
  readonly dialect: Dialect | undefined;
}

/** Each version has method names of its own, so the name tells the version of a client that names none. */
function requireMethod(method: string, version: ProtocolVersion | undefined): Method {
  if (version !== '1.0' && Object.hasOwn(OLD_METHODS, method)) {
    const name = OLD_METHODS[method]!;
    return { name, operation: operationNamed(name)!, dialect: SCHEMA_DIALECT };
  }
  const operation = version === '0.3' ? undefined : operationNamed(method);
  if (operation) return { name: method as OperationName, operation, dialect: undefined };
  const where = version ?? VERSIONS.join(' or ');
  throw new JsonRpcFault(METHOD_NOT_FOUND, `there is no method ${method.slice(0, 100)} in A2A ${where}`);
}

function versionOf({ dialect }: Method): ProtocolVersion {
  return dialect ? '0.3' : '1.0';
}

function paramsOf({ name, dialect }: Method, params: unknown): JsonObject {
  const given = requireParams(params);
  return dialect ? dialect.params(name, given) : given;
}

function requireParams(params: unknown): JsonObject {
  if (params === undefined || params === null) return {};
  if (isJsonObject(params)) return params;
  throw new JsonRpcFault(INVALID_PARAMS, 'params must be a JSON object');
}

function framing(exchange: HttpExchange, id: Id, { name, dialect }: Method): Framing {
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`;
  return {
    event(event) {
      const json = StreamResponse.toJSON(event);
      return `${head}${JSON.stringify(dialect ? dialect.event(name, json as JsonObject) : json)}}`;
    },
    error: (error) => errorTextOf(id, toFault(exchange, error)),
  };
}

function resultText(id: Id, result: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`;
}

interface Fault {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly error: { readonly code: number; readonly message: string; readonly data?: readonly JsonObject[] };
}

function toFault(exchange: HttpExchange, error: unknown): Fault {
  if (error instanceof JsonRpcFault) {
    return { status: 200, headers: {}, error: { code: error.code, message: error.message } };
  }
  logDefect(exchange, error);
  const wire = toWireError(error);
  return {
    status: OWN_STATUS.includes(wire.jsonRpcCode) ? wire.httpStatus : 200,
    headers: errorHeaders(wire),
    error: { code: wire.jsonRpcCode, message: wire.message, data: wire.details },
  };
}

function errorTextOf(id: Id, fault: Fault): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: fault.error });
}
