import { signal } from '@preact/signals';
import { EXTENSIONS } from '../../core/extensions.js';
import type { StreamEvent, Task } from './wire.js';

type RpcResponse<Result> = Readonly<{ result?: Result; error?: { readonly message: string } }>;

/** A response other than success, with a sentence for the reader. */
export class Refusal extends Error {
  readonly isTemporary: boolean;

  constructor(message: string, isTemporary = false) {
    super(message);
    this.isTemporary = isTemporary;
  }
}

/** Undefined until the first response to a request that needs a caller. */
export const isSignedIn = signal<boolean | undefined>(undefined);
let signIns = 0;

/** Begins a session, which only a refusal of a request that is sent after this ends. */
export function beginSession(): void {
  signIns += 1;
  isSignedIn.value = true;
}

/** Whether the last request reached the server. */
export const isOnline = signal(true);

export type Owner = Readonly<{ tenant: string; owner: string }>;
/** The owner whose data an operator reads instead of their own. The server refuses every change then. */
export const viewed = signal<Owner | undefined>(undefined);

export const AWAY = 'The server cannot be reached. The page continues as soon as it responds.';

/** `path` is relative to the page, so that a server that is mounted below a path works too. */
export async function call(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = {
    ...(init.headers as Record<string, string>),
    ...(viewed.value && headersOf(viewed.value)),
    'Lango-Console': pageKey(),
  };
  const sentAt = signIns;
  const response = await fetch(path, { ...init, headers }).catch((error: unknown) => {
    if (init.signal?.aborted) throw error;
    isOnline.value = false;
    throw new Refusal(AWAY, true);
  });
  isOnline.value = true;
  const { ok, status } = response;
  if (ok) {
    if (!path.startsWith('oidc')) isSignedIn.value ??= true;
    return response;
  }
  if (status === 401 && sentAt === signIns) isSignedIn.value = false;
  throw new Refusal(await reasonOf(response), status === 401 || status === 429 || status >= 500);
}

const PAGE_KEY = 'lango-page';
let madeKey = '';

/**
 * Proves to the server that a request comes from this origin's pages, to which a session is bound: pages of other ports and
 * sibling domains can set the cookie of a session, and cannot read this. It opens nothing without the cookie.
 */
function pageKey(): string {
  try {
    const kept = localStorage.getItem(PAGE_KEY);
    if (kept !== null) return kept;
    madeKey ||= newId();
    localStorage.setItem(PAGE_KEY, madeKey);
  } catch {
    // A browser may keep nothing: a session then lasts as long as the page.
    madeKey ||= newId();
  }
  return madeKey;
}

const headersOf = (of: Owner) => ({ 'Lango-Owner': new URLSearchParams({ ...of }).toString() });

async function reasonOf(response: Response): Promise<string> {
  if (response.status === 401) return 'The server does not accept this sign-in.';
  const body = (await response.json().catch(() => undefined)) as RpcResponse<never> | undefined;
  return body?.error?.message ?? `The server refused the request with status ${response.status}.`;
}

/** Calls a route of `/lango/...`, which works on the data of the signed-in owner. */
export function owner<Result>(path: string, method = 'GET', body?: object): Promise<Result> {
  const content = body && { body: JSON.stringify(body), headers: JSON_CONTENT };
  return readJson(`../lango/${path}`, { method, ...content });
}

/** Reads the data of another owner, for an operator. */
export const readOf = <Result>(of: Owner, path: string) =>
  readJson<Result>(`../lango/${path}`, { headers: headersOf(of) });

export async function readJson<Result>(path: string, init?: RequestInit): Promise<Result> {
  return (await (await call(path, init)).json()) as Result;
}

const JSON_CONTENT = { 'Content-Type': 'application/json' };
const { author, cursor, approval, usage } = EXTENSIONS;

function request(method: string, params: object): RequestInit {
  const extensions = [author, cursor, approval, usage].join(', ');
  return {
    method: 'POST',
    headers: { ...JSON_CONTENT, 'A2A-Version': '1.0', 'A2A-Extensions': extensions },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  };
}

const pathOf = (agent: string) => `../agents/${encodeURIComponent(agent)}`;

/** Calls an operation of A2A. */
export async function ask<Result>(agent: string, method: string, params: object): Promise<Result> {
  const { result, error } = await readJson<RpcResponse<Result>>(pathOf(agent), request(method, params));
  if (result === undefined) throw new Refusal(error?.message ?? 'The response has no result.');
  return result;
}

export type TaskPage = Readonly<{ tasks: readonly Task[]; nextPageToken?: string; totalSize?: number }>;
/** The newest 100 tasks of an agent, or the next ones after a page. */
export const listTasks = (agent: string, filter: object) =>
  ask<TaskPage>(agent, 'ListTasks', { pageSize: 100, ...filter });
export const getTask = (agent: string, id: string) => ask<Task>(agent, 'GetTask', { id });
export const newId = () => crypto.getRandomValues(new Uint32Array(4)).join('-');

/** The events of a task after its event number `after`. Ends when the task has ended or the connection breaks. */
export async function* subscribe(
  agent: string,
  id: string,
  { after, signal }: Readonly<{ after: number; signal: AbortSignal }>,
): AsyncGenerator<readonly StreamEvent[]> {
  const init = request('SubscribeToTask', { id });
  const headers = { ...(init.headers as Record<string, string>), 'Last-Event-ID': String(after) };
  const response = await call(pathOf(agent), { ...init, signal, headers });
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    const { error } = (await response.json()) as RpcResponse<never>;
    throw new Refusal(error?.message ?? 'The response is no stream.');
  }
  let rest = '';
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    const lines = (rest + chunk.value).split('\n');
    rest = lines.pop() ?? '';
    yield lines.filter((line) => line.startsWith('data:')).flatMap(eventsIn);
  }
}

function eventsIn(line: string): readonly StreamEvent[] {
  const { result, error } = JSON.parse(line.slice('data:'.length)) as RpcResponse<StreamEvent>;
  if (error) throw new Refusal(error.message);
  return result ? [result] : [];
}
