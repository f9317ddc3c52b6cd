import type { HttpExchange } from '../../core/http.js';
import type { Json } from '../../core/json.js';
import { isJsonObject } from '../../core/json.js';
import type { WireError } from '../translate/errors.js';
import { toWireError } from '../translate/errors.js';
import { errorHeaders, logDefect, sendJson } from './answer.js';
import type { Binding } from './binding.js';
import { extensionHeaders, openCall } from './http-call.js';
import type { OperationName } from './operations.js';
import { operationNamed } from './operations.js';
import type { Framing } from './streaming.js';

const TYPE = 'application/a2a+json';

interface Route {
  /** Of the path below the agent's; named groups are parameters. */
  readonly path: RegExp;
  readonly methods: Readonly<Partial<Record<string, OperationName>>>;
}

const TASK = String.raw`/tasks/(?<id>[^/:]+)`;
const CONFIGS = String.raw`/tasks/(?<taskId>[^/:]+)/pushNotificationConfigs`;

/** A2A 1.0 section 11.3. Specification and proto disagree on the method of a subscription, so both work. */
const ROUTES: readonly Route[] = [
  { path: /^\/message:send$/, methods: { POST: 'SendMessage' } },
  { path: /^\/message:stream$/, methods: { POST: 'SendStreamingMessage' } },
  { path: /^\/tasks$/, methods: { GET: 'ListTasks' } },
  { path: new RegExp(`^${TASK}$`), methods: { GET: 'GetTask' } },
  { path: new RegExp(`^${TASK}:cancel$`), methods: { POST: 'CancelTask' } },
  { path: new RegExp(`^${TASK}:subscribe$`), methods: { GET: 'SubscribeToTask', POST: 'SubscribeToTask' } },
  {
    path: new RegExp(`^${CONFIGS}$`),
    methods: { GET: 'ListTaskPushNotificationConfigs', POST: 'CreateTaskPushNotificationConfig' },
  },
  {
    path: new RegExp(`^${CONFIGS}/(?<id>[^/]+)$`),
    methods: { GET: 'GetTaskPushNotificationConfig', DELETE: 'DeleteTaskPushNotificationConfig' },
  },
  { path: /^\/extendedAgentCard$/, methods: { GET: 'GetExtendedAgentCard' } },
];

export function isRestPath(path: string): boolean {
  return ROUTES.some((route) => route.path.test(path));
}

/** Answers one request of the HTTP+JSON binding (A2A 1.0 section 11). `path` is what follows the agent's own. */
export async function answerRest(exchange: HttpExchange, path: string, binding: Binding): Promise<void> {
  try {
    const route = ROUTES.find((candidate) => candidate.path.test(path));
    if (!route) {
      sendNoSuchPath(exchange, 'there is no such path in the HTTP+JSON binding of A2A');
      return;
    }
    const name = route.methods[exchange.request.method ?? ''];
    if (!name) {
      sendWrongMethod(exchange, Object.keys(route.methods));
      return;
    }
    const context = await openCall(exchange);
    const request = {
      handler: binding.handler,
      params: await readParams(exchange, pathParams(route, path)),
      context,
    };
    const operation = operationNamed(name)!;
    const headers = extensionHeaders(exchange);
    if (operation.kind === 'stream') {
      await binding.streaming.answer(exchange, {
        events: () => operation.events(request),
        framing: framing(exchange),
        headers,
      });
      return;
    }
    const body = JSON.stringify(await operation.answer(request));
    sendJson(exchange, { status: 200, type: TYPE, body, headers });
  } catch (error) {
    sendRestError(exchange, toldError(exchange, error));
  }
}

/** A path that no agent answers: 404, without a claim about any task. */
export function sendNoSuchPath(exchange: HttpExchange, message: string): void {
  sendRestError(exchange, plainError({ httpStatus: 404, status: 'NOT_FOUND', message }));
}

export function sendWrongMethod(exchange: HttpExchange, allowed: readonly string[]): void {
  const message = `this path answers ${allowed.join(' and ')}`;
  sendRestError(exchange, plainError({ httpStatus: 405, status: 'UNIMPLEMENTED', message }), {
    Allow: allowed.join(', '),
  });
}

type RestError = Omit<WireError, 'jsonRpcCode'>;

function framing(exchange: HttpExchange): Framing {
  return { event: (json) => json, error: (error) => errorBody(toldError(exchange, error)) };
}

function toldError(exchange: HttpExchange, error: unknown): RestError {
  logDefect(exchange, error);
  return toWireError(error);
}

function sendRestError(
  exchange: HttpExchange,
  error: RestError,
  headers: Readonly<Record<string, string>> = {},
): void {
  sendJson(exchange, {
    status: error.httpStatus,
    type: TYPE,
    body: errorBody(error),
    headers: { ...errorHeaders(error), ...headers },
  });
}

function plainError(error: Pick<RestError, 'httpStatus' | 'status' | 'message'>): RestError {
  return { ...error, details: [], retryAfterSeconds: undefined, headers: {} };
}

function errorBody({ httpStatus, status, message, details }: RestError): string {
  return JSON.stringify({ error: { code: httpStatus, status, message, details } });
}

function pathParams(route: Route, path: string): Record<string, string> {
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

/** Members of the body or, where a request has none, of the query; what the path says counts. */
async function readParams(exchange: HttpExchange, path: Record<string, string>): Promise<unknown> {
  const { method, headers } = exchange.request;
  const hasBody = (headers['content-length'] ?? '0') !== '0' || headers['transfer-encoding'] !== undefined;
  if (method === 'GET' || method === 'DELETE' || !hasBody)
    return { ...Object.fromEntries(exchange.query), ...path };
  const body: Json = await exchange.readJson();
  return isJsonObject(body) ? { ...body, ...path } : body;
}
