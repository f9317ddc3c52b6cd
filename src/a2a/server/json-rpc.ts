import { StreamResponse } from '@a2a-js/sdk';
import { isLangoError } from '../../core/errors.js';
import type { HttpExchange } from '../../core/http.js';
import type { Json, JsonObject } from '../../core/json.js';
import { isJsonObject } from '../../core/json.js';
import { toWireError } from '../translate/errors.js';
import { errorHeaders, logDefect, sendJson, sendNothing } from './answer.js';
import type { Binding } from './binding.js';
import { detached, extensionHeaders, namedVersion, openCall } from './http-call.js';
import { JSON_TYPE } from './modes.js';
import type { Operation, OperationName, Request } from './operations.js';
import { operationNamed } from './operations.js';
import type { ProtocolVersion } from './service-parameters.js';
import type { Framing } from './streaming.js';
import type { Dialect } from './v03/dialect.js';
import { SCHEMA_DIALECT } from './v03/dialect.js';
import { OLD_METHODS } from './v03/methods.js';

const VERSIONS: readonly ProtocolVersion[] = ['1.0', '0.3'];
const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
/** Errors of the server and of the way to it have their own HTTP status; the rest is an answer like any other. */
const OWN_STATUS: readonly number[] = [-32000, -32603];

type Id = string | number | null;

/** Answers one JSON-RPC 2.0 request (A2A 1.0 section 9), whatever is wrong with it. */
export async function answerJsonRpc(exchange: HttpExchange, binding: Binding): Promise<void> {
  let id: Id = null;
  let asEvent = false;
  try {
    await exchange.caller();
    const version = namedVersion(exchange, VERSIONS);
    const envelope = toEnvelope(await readBody(exchange));
    if (envelope.id === undefined) {
      await notify(exchange, binding, { envelope, version });
      return;
    }
    id = envelope.id;
    const method = requireMethod(envelope.method, version);
    const { operation, dialect } = method;
    asEvent = operation.kind === 'stream' && dialect !== undefined;
    const context = await openCall(exchange, versionOf(method));
    const request = { handler: binding.handler, params: paramsOf(method, envelope.params), context };
    const headers = extensionHeaders(exchange);
    if (operation.kind === 'stream') {
      await binding.streaming.answer(exchange, {
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

interface Asked {
  readonly id: Id;
  /** For clients of 0.3 that asked for a stream: they read an answer of status 200 as nothing else. */
  readonly asEvent: boolean;
}

function sendFault(exchange: HttpExchange, fault: Fault, { id, asEvent }: Asked): void {
  const { status, headers } = fault;
  const body = errorTextOf(id, fault);
  if (asEvent && status === 200)
    sendJson(exchange, { status, type: 'text/event-stream', body: `data: ${body}\n\n`, headers });
  else sendJson(exchange, { status, type: JSON_TYPE, body, headers });
}

/** For a path that belongs to no agent: the call cannot even be read. */
export function sendNoSuchAgent(exchange: HttpExchange, message: string): void {
  const fault = { status: 404, headers: {}, error: { code: METHOD_NOT_FOUND, message } };
  sendJson(exchange, { status: fault.status, type: JSON_TYPE, body: errorTextOf(null, fault) });
}

interface Notification {
  readonly envelope: Envelope;
  readonly version: ProtocolVersion | undefined;
}

/** A request without an id is carried out and not answered, not even when it fails. */
async function notify(exchange: HttpExchange, binding: Binding, sent: Notification): Promise<void> {
  try {
    const method = requireMethod(sent.envelope.method, sent.version);
    const params = paramsOf(method, sent.envelope.params);
    const context = await detached(exchange, versionOf(method));
    await carryOut(method.operation, { handler: binding.handler, params, context });
  } catch (error) {
    toFault(exchange, error);
  }
  sendNothing(exchange);
}

async function carryOut(operation: Operation, request: Request): Promise<void> {
  if (operation.kind === 'unary') await operation.answer(request);
  else for await (const event of operation.events(request)) void event;
}

/** What JSON-RPC itself has an error for. */
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
  /** How 0.3 writes it; undefined for 1.0. */
  readonly dialect: Dialect | undefined;
}

/** Each version has names of its own, so a client that names no version is understood by the name of the method. */
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
