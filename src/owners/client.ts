import { z } from 'zod';
import { serverUrl } from '../core/card.js';
import { isLangoError, LangoError, type ErrorCode } from '../core/errors.js';
import { hasJsonBody, type Operation, type OperationClient, type OperationTable } from '../core/operation.js';
import type { Scope } from '../core/task.js';
import { pause } from '../core/time.js';
import { performCall, type OwnerService } from './service.js';

type Fields = Readonly<Record<string, unknown>>;

/** The most attempts of a call to a server that limits the rate of requests. */
const MAX_ATTEMPTS = 30;
const LONGEST_PAUSE_MS = 10_000;

export interface ServerAccess {
  readonly url: string;
  /** Bound to the server, with the caller's token. */
  readonly fetch: typeof fetch;
}

/** Creates the client of these operations on a server. */
export function createOwnerClient<Table extends OperationTable>(
  table: Table,
  server: ServerAccess,
): OperationClient<Table> {
  return createCalls(table, (_name, operation, fields) => {
    const request = toRequest(operation, fields);
    return operation.isRepeated ? retry(() => send(server, request)) : send(server, request);
  });
}

/** Creates the client of these operations of a service in this process, for one owner. */
export function createDirectClient<Table extends OperationTable>(
  table: Table,
  service: OwnerService,
  scope: Scope,
): OperationClient<Table> {
  const { signal } = new AbortController();
  return createCalls(table, (name, _operation, fields) =>
    performCall(service, { name, fields, scope, signal }),
  );
}

function createCalls<Table extends OperationTable>(
  table: Table,
  call: (name: string, operation: Operation, fields: Fields) => Promise<unknown>,
): OperationClient<Table> {
  const calls = Object.entries(table).map(([name, operation]) => [
    name,
    async (input: Fields) => readResult(operation.result, await call(name, operation, input)),
  ]);
  return Object.fromEntries(calls) as OperationClient<Table>;
}

function readResult(schema: z.ZodType, result: unknown): unknown {
  const { success, data } = schema.safeParse(result);
  if (success) return data;
  const hint = 'Check that it is a Lango server of about the same version as this program.';
  throw new LangoError('invalid-agent-response', 'The response of the server cannot be read.', { hint });
}

/** Puts each field of the input where its operation says: into the path, the query string or the body. */
function toRequest(operation: Operation, fields: Fields) {
  const { path, query = [], bytes } = operation;
  const method = operation.method.toUpperCase();
  const rest = new Map(Object.entries(fields));
  const take = (field: string): unknown => {
    const value = rest.get(field);
    rest.delete(field);
    return value;
  };
  const filled = path.replace(/:(\w+)/g, (_, field: string) => encodeURIComponent(String(take(field))));
  const search = new URLSearchParams();
  for (const field of query)
    for (const value of [take(field) ?? []].flat()) search.append(field, `${value as string}`);
  const target = search.size === 0 ? filled : `${filled}?${search.toString()}`;
  if (bytes !== undefined) {
    return { method, target, body: new Uint8Array(take(bytes) as Buffer), type: 'application/octet-stream' };
  }
  const body = hasJsonBody(operation) ? JSON.stringify(Object.fromEntries(rest)) : undefined;
  return { method, target, body, type: 'application/json' };
}

const errorSchema = z.object({ error: z.object({ message: z.string() }) });

async function send(server: ServerAccess, request: ReturnType<typeof toRequest>): Promise<unknown> {
  const { method, target, body, type } = request;
  const payload = body === undefined ? {} : { body, headers: { 'content-type': type } };
  const response = await server.fetch(serverUrl(server.url, target), { method, ...payload });
  const content: unknown = await response.json().catch(() => undefined);
  if (response.ok) return content;
  const { data } = errorSchema.safeParse(content);
  const message = data?.error.message ?? `The server responded with status ${response.status}.`;
  const { status } = response;
  throw new LangoError(CODES[status] ?? (status < 500 ? 'invalid-input' : 'unavailable'), message);
}

const CODES: Readonly<Record<number, ErrorCode>> = {
  ...{ 401: 'unauthenticated', 404: 'not-found', 405: 'not-supported', 408: 'timeout', 409: 'conflict' },
  ...{ 413: 'too-large', 500: 'internal', 501: 'not-supported' },
};

/** Waits as long as the server says and sends the call again. */
async function retry<T>(call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      if (!isLangoError(error, 'too-many') || attempt >= MAX_ATTEMPTS) throw error;
      await pause(Math.min(error.retryAfterMs ?? 1_000, LONGEST_PAUSE_MS));
    }
  }
}
