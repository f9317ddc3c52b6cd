import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { serverUrl } from '../core/card.js';
import { isLangoError, LangoError, type ErrorCode } from '../core/errors.js';
import type { Scope } from '../core/task.js';
import type { InputOf, Operation, OperationName, ResultOf } from './operations.js';
import { OPERATIONS, hasJsonBody } from './operations.js';
import { performCall, type OwnerService } from './service.js';

/**
 * The operations of an owner on its data, on a server or in a data folder of this machine. Both give the same answers.
 * Calls reject with a `LangoError`; `invalid-input` names the field.
 */
export type OwnerClient = {
  readonly [Name in OperationName]: (input: InputOf<Name>) => Promise<ResultOf<Name>>;
};

type Fields = Readonly<Record<string, unknown>>;

/** One command calls these operations many times. They are idempotent: a call that the rate limit refused is sent again. */
const REPEATED: ReadonlySet<OperationName> = new Set([
  'listDocuments',
  'submitDocument',
  'removeDocuments',
  'updateVectors',
  'readData',
]);
/** How often a call is sent to a server that limits the rate of requests. */
const MAX_ATTEMPTS = 30;
const LONGEST_PAUSE_MS = 10_000;

export interface ServerAccess {
  readonly url: string;
  /** Bound to the server, with the caller's token. */
  readonly fetch: typeof fetch;
}

/** Creates the client of a server. */
export function createOwnerClient(server: ServerAccess): OwnerClient {
  return createCalls((name, fields) => {
    const request = toRequest(OPERATIONS[name], fields);
    return REPEATED.has(name) ? retry(() => send(server, request)) : send(server, request);
  });
}

/** Reads a list from its start, page by page. */
export async function* pagesOf<Page extends { readonly next?: string | undefined }>(
  read: (after: string | undefined) => Promise<Page>,
): AsyncGenerator<Page, void, undefined> {
  let after: string | undefined;
  do {
    const page = await read(after);
    yield page;
    after = page.next;
  } while (after !== undefined);
}

/** Creates the client of a service in this process, for one owner. */
export function createDirectClient(service: OwnerService, scope: Scope): OwnerClient {
  const { signal } = new AbortController();
  return createCalls((name, fields) => performCall(service, { name, fields, scope, signal }));
}

function createCalls(call: (name: OperationName, fields: Fields) => Promise<unknown>): OwnerClient {
  const names = Object.keys(OPERATIONS) as OperationName[];
  const calls = names.map((name) => [
    name,
    async (input: Fields) => readResult(OPERATIONS[name].result, await call(name, input)),
  ]);
  return Object.fromEntries(calls) as OwnerClient;
}

function readResult(schema: z.ZodType, answer: unknown): unknown {
  const { success, data } = schema.safeParse(answer);
  if (success) return data;
  throw new LangoError('invalid-agent-response', 'The server gave an answer that could not be read.', {
    hint: 'Check that it is a Lango server of about the same version as this program.',
  });
}

interface OwnerRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly body: Uint8Array<ArrayBuffer> | string | undefined;
  readonly type: string;
}

/** Puts each field of the input where its operation says: into the path, the query string or the body. */
function toRequest(operation: Operation, fields: Fields): OwnerRequest {
  const { path, query = [], bytes } = operation;
  const method = operation.method.toUpperCase();
  const rest = new Map(Object.entries(fields));
  const take = (field: string): unknown => {
    const value = rest.get(field);
    rest.delete(field);
    return value;
  };
  const takeTexts = (field: string): string[] =>
    [take(field) ?? []].flat().map((value: unknown) => `${value as string}`);
  const filled = path.replace(/:(\w+)/g, (_, field: string) => encodeURIComponent(String(take(field))));
  const search = new URLSearchParams(
    query.flatMap((field) => takeTexts(field).map((text): [string, string] => [field, text])),
  );
  const target = search.size === 0 ? filled : `${filled}?${search.toString()}`;
  if (bytes !== undefined) {
    return { method, target, body: new Uint8Array(take(bytes) as Buffer), type: 'application/octet-stream' };
  }
  const body = hasJsonBody(operation) ? JSON.stringify(Object.fromEntries(rest)) : undefined;
  return { method, target, body, type: 'application/json' };
}

const errorSchema = z.object({ error: z.object({ message: z.string() }) });

async function send(server: ServerAccess, request: OwnerRequest): Promise<unknown> {
  const { method, target, body, type } = request;
  const content = body === undefined ? {} : { body, headers: { 'content-type': type } };
  const response = await server.fetch(serverUrl(server.url, target), { method, ...content });
  const answer: unknown = await response.json().catch(() => undefined);
  if (response.ok) return answer;
  const { data } = errorSchema.safeParse(answer);
  const message = data?.error.message ?? `The server answered with status ${response.status}.`;
  throw new LangoError(codeOf(response.status), message);
}

function codeOf(status: number): ErrorCode {
  switch (status) {
    case 401:
      return 'unauthenticated';
    case 404:
      return 'not-found';
    case 408:
      return 'timeout';
    case 409:
      return 'conflict';
    case 413:
      return 'too-large';
    case 500:
      return 'internal';
    case 405:
    case 501:
      return 'not-supported';
    default:
      return status < 500 ? 'invalid-input' : 'unavailable';
  }
}

/** Waits as long as the server says and sends the call again. */
async function retry<T>(call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      if (!isLangoError(error, 'too-many') || attempt >= MAX_ATTEMPTS) throw error;
      await sleep(Math.min(error.retryAfterMs ?? 1_000, LONGEST_PAUSE_MS));
    }
  }
}
