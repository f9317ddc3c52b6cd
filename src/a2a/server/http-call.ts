import type { Trace } from '../../core/task.js';
import type { ServerCallContext } from '@a2a-js/sdk/server';
import type { HttpExchange } from '../../core/http.js';
import type { Caller } from '../../core/identity.js';
import type { Json } from '../../core/json.js';
import { readTrace } from '../translate/trace.js';
import { toCallContext, type Call } from '../translate/call.js';
import { isVisible, toWireError, type WireError } from '../translate/errors.js';
import type { Operation, Request } from './operations.js';
import {
  CURSOR_PARAMETER,
  EXTENSIONS_PARAMETERS,
  VERSION_PARAMETER,
  activatedExtensions,
  cursorIn,
  extensionsIn,
  versionIn,
  type ProtocolVersion,
} from './service-parameters.js';
import { sendStream, type Framing, type Streaming } from './sse.js';

export class HttpCall implements Call {
  readonly scope: Caller;
  readonly viewer: Caller | undefined;
  /** The version that the client named; undefined when it named none. */
  readonly named: ProtocolVersion | undefined;
  readonly from: string;
  readonly baseUrl: string;
  readonly trace: Trace | undefined;
  /** The headers of the response that name the extensions in use; 0.3 had another name for the header. */
  readonly extensionHeaders: Readonly<Record<string, string>>;
  readonly extensions: ReadonlySet<string>;
  /** The version of the operation that was called; `toContext` sets it. */
  version: ProtocolVersion = '1.0';
  readonly #exchange: HttpExchange;

  /** Throws `version-not-supported`. `supported`: the versions of the binding. */
  constructor(exchange: HttpExchange, caller: Caller, supported: readonly ProtocolVersion[]) {
    const { views, scopes } = caller;
    this.#exchange = exchange;
    this.scope = views ? { ...views, ...(scopes && { scopes }) } : caller;
    this.viewer = views && caller;
    this.named = namedVersion(exchange, supported);
    this.from = exchange.address;
    this.baseUrl = exchange.baseUrl;
    this.trace = readTrace((name) => headerOf(exchange, name));
    const named = EXTENSIONS_PARAMETERS.map((name) => headerOf(exchange, name));
    this.extensions = extensionsIn(...named);
    const [current, old] = named.map(activatedExtensions);
    this.extensionHeaders = {
      ...(current && { 'A2A-Extensions': current }),
      ...(old && { 'X-A2A-Extensions': old }),
    };
  }

  /** Made on first use, since most calls do not wait. */
  get signal(): AbortSignal {
    return this.#exchange.signal;
  }

  /** Read on first use: a wrong cursor matters to subscriptions alone. Throws `invalid-input`. */
  get after(): number | undefined {
    return cursorIn(headerOf(this.#exchange, CURSOR_PARAMETER));
  }

  /** The context that the handler gets. Call it once, with the version that the operation was found in. */
  toContext(version: ProtocolVersion): ServerCallContext {
    this.version = version;
    return toCallContext(this);
  }

  /** The context of a call whose client waits for no response. */
  toDetachedContext(version: ProtocolVersion): ServerCallContext {
    return toCallContext({ ...this, version, signal: AbortSignal.abort(), after: undefined });
  }
}

/** The version in the header or request parameter A2A-Version; undefined for none. Throws `version-not-supported`. */
export function namedVersion(exchange: HttpExchange, supported: readonly ProtocolVersion[]) {
  const inQuery = () =>
    [...exchange.query].find(([name]) => name.toLowerCase() === VERSION_PARAMETER)?.[1] ?? '';
  return versionIn(headerOf(exchange, VERSION_PARAMETER) || inQuery(), supported);
}

interface JsonResponse {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Responds with JSON that no cache keeps. Does nothing when the client is gone. */
export function sendJson(exchange: HttpExchange, { status, type, body, headers }: JsonResponse): void {
  const { request } = exchange;
  const all = { 'Content-Type': type, 'Cache-Control': 'no-store', ...headers };
  const isRead = request.complete || request.headers['content-length'] === '0';
  // The unread rest of a request would be taken for the next one.
  exchange.send(status, isRead ? all : { Connection: 'close', ...all }, body);
}

/** The form in which a binding writes the responses of one operation. */
export interface ResponseFormat extends Framing {
  readonly type: string;
  result(json: Json): string;
}

/** Runs an operation, and responds with its result or its stream. Rejects when it sent nothing. */
export async function serveOperation(
  exchange: HttpExchange,
  streaming: Streaming,
  sent: { operation: Operation; request: Request; call: HttpCall; format: ResponseFormat },
): Promise<void> {
  const { operation, request, call, format } = sent;
  const headers = call.extensionHeaders;
  if (operation.kind === 'stream') {
    const events = () => operation.events(request);
    return sendStream(exchange, streaming, { scope: call.scope, events, framing: format, headers });
  }
  const waiting = operation.changes ? undefined : exchange.roomForAnswer();
  if (waiting) await waiting;
  const result = await operation.call(request);
  sendJson(exchange, { status: 200, type: format.type, body: format.result(result.toJson()), headers });
}

export function errorHeaders({ retryAfterSeconds: wait, headers }: WireError): WireError['headers'] {
  return wait === undefined ? headers : { 'Retry-After': String(wait), ...headers };
}

/** Converts an error for the client. Logs in full each error that the client gets as "Internal error.". */
export function reportedError({ logger, path }: ReportedCall, error: unknown): WireError {
  if (!isVisible(error)) {
    const shown = error instanceof Error ? error.stack : String(error);
    logger.error('an A2A request failed', { path, error: shown });
  }
  return toWireError(error);
}

/** The call in whose name an error is logged. Over gRPC its path is the service and the method. */
export type ReportedCall = Pick<HttpExchange, 'path' | 'logger'>;

function headerOf(exchange: HttpExchange, name: string): string {
  const value = exchange.request.headers[name];
  return (Array.isArray(value) ? value.join(',') : (value ?? '')).trim();
}
