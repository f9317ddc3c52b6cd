import { isLangoError } from '../../core/errors.js';
import type { HttpExchange } from '../../core/http.js';
import type { JsonObject } from '../../core/json.js';
import { isJsonObject } from '../../core/json.js';
import { toWireError } from '../translate/errors.js';
import { errorHeaders, logDefect, sendJson, sendNothing } from './answer.js';
import type { Binding } from './binding.js';
import { detached, extensionHeaders, openCall } from './http-call.js';
import type { Operation, Request } from './operations.js';
import { operationNamed } from './operations.js';
import type { Framing } from './streaming.js';

const TYPE = 'application/json';
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
  try {
    const context = await openCall(exchange);
    const envelope = toEnvelope(await readBody(exchange));
    if (envelope.id === undefined) {
      await notify(exchange, binding, envelope);
      return;
    }
    id = envelope.id;
    const operation = requireOperation(envelope.method);
    const request = { handler: binding.handler, params: requireParams(envelope.params), context };
    const headers = extensionHeaders(exchange);
    if (operation.kind === 'stream') {
      await binding.streaming.answer(exchange, {
        events: () => operation.events(request),
        framing: framing(exchange, id),
        headers,
      });
      return;
    }
    const result = JSON.stringify(await operation.answer(request));
    sendJson(exchange, { status: 200, type: TYPE, body: resultText(id, result), headers });
  } catch (error) {
    const fault = toFault(exchange, error);
    sendJson(exchange, {
      status: fault.status,
      type: TYPE,
      body: errorTextOf(id, fault),
      headers: fault.headers,
    });
  }
}

/** For a path that belongs to no agent: the call cannot even be read. */
export function sendNoSuchAgent(exchange: HttpExchange, message: string): void {
  const fault = { status: 404, headers: {}, error: { code: METHOD_NOT_FOUND, message } };
  sendJson(exchange, { status: fault.status, type: TYPE, body: errorTextOf(null, fault) });
}

/** A request without an id is carried out and not answered, not even when it fails. */
async function notify(exchange: HttpExchange, binding: Binding, envelope: Envelope): Promise<void> {
  try {
    const operation = requireOperation(envelope.method);
    const params = requireParams(envelope.params);
    await carryOut(operation, { handler: binding.handler, params, context: await detached(exchange) });
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

function requireOperation(method: string): Operation {
  const operation = operationNamed(method);
  if (operation) return operation;
  throw new JsonRpcFault(METHOD_NOT_FOUND, `there is no method ${method.slice(0, 100)} in A2A 1.0`);
}

function requireParams(params: unknown): JsonObject {
  if (params === undefined || params === null) return {};
  if (isJsonObject(params)) return params;
  throw new JsonRpcFault(INVALID_PARAMS, 'params must be a JSON object');
}

function framing(exchange: HttpExchange, id: Id): Framing {
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`;
  return {
    event: (json) => `${head}${json}}`,
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
