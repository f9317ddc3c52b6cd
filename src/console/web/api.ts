import { signal } from '@preact/signals';
import { EXTENSIONS } from '../../core/extensions.js';
import type { StreamEvent, Task } from './wire.js';

interface Reply<Result> {
  readonly result?: Result;
  readonly error?: { readonly message: string };
}

/** An answer other than success, with a sentence for the reader. */
export class Refusal extends Error {
  /** Whether the same request may succeed later. */
  readonly isTemporary: boolean;

  constructor(message: string, isTemporary = false) {
    super(message);
    this.isTemporary = isTemporary;
  }
}

/** Undefined until the server has answered a request that needs a caller. */
export const isSignedIn = signal<boolean | undefined>(undefined);
/** Whether the last request reached the server. */
export const isOnline = signal(true);

export interface Owner {
  readonly tenant: string;
  readonly owner: string;
}
/** The owner whose data an operator reads instead of their own. The server refuses every change then. */
export const viewed = signal<Owner | undefined>(undefined);

export const AWAY = 'The server cannot be reached. The page continues as soon as it answers.';

/** `path` is relative to the page, so that a server that is mounted below a path works too. */
export async function call(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = {
    ...(init.headers as Record<string, string>),
    ...(viewed.value && headersOf(viewed.value)),
    'Lango-Console': '1',
  };
  const answer = await fetch(path, { ...init, headers }).catch((error: unknown) => {
    if (init.signal?.aborted) throw error;
    isOnline.value = false;
    throw new Refusal(AWAY, true);
  });
  isOnline.value = true;
  if (answer.ok) {
    if (isSignedIn.value === undefined && path !== 'oidc') isSignedIn.value = true;
    return answer;
  }
  if (answer.status === 401) isSignedIn.value = false;
  const isTemporary = answer.status === 401 || answer.status === 429 || answer.status >= 500;
  throw new Refusal(await reasonOf(answer), isTemporary);
}

const headersOf = (of: Owner) => ({ 'Lango-Owner': new URLSearchParams({ ...of }).toString() });

async function reasonOf(answer: Response): Promise<string> {
  if (answer.status === 401) return 'The server does not accept this sign-in.';
  const body = (await answer.json().catch(() => undefined)) as Reply<never> | undefined;
  return body?.error?.message ?? `The server refused the request with status ${answer.status}.`;
}

/** Calls a route of `/lango/...`, which works on the data of the signed-in owner. */
export async function owner<Result>(path: string, method = 'GET', body?: object): Promise<Result> {
  const content = body && { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } };
  return (await (await call(`../lango/${path}`, { method, ...content })).json()) as Result;
}

/** Reads the data of another owner, for an operator. */
export async function readOf<Result>(of: Owner, path: string): Promise<Result> {
  return (await (await call(`../lango/${path}`, { headers: headersOf(of) })).json()) as Result;
}

const { author, cursor, approval, usage } = EXTENSIONS;

function request(method: string, params: object): RequestInit {
  return {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      'A2A-Version': '1.0',
      'A2A-Extensions': [author, cursor, approval, usage].join(', '),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  };
}

const pathOf = (agent: string) => `../agents/${encodeURIComponent(agent)}`;

/** Calls an operation of A2A. */
export async function ask<Result>(agent: string, method: string, params: object): Promise<Result> {
  const answer = (await (await call(pathOf(agent), request(method, params))).json()) as Reply<Result>;
  if (answer.result === undefined) throw new Refusal(answer.error?.message ?? 'The answer has no result.');
  return answer.result;
}

export const getTask = (agent: string, id: string) => ask<Task>(agent, 'GetTask', { id });
export const newId = () => crypto.getRandomValues(new Uint32Array(4)).join('-');

interface Following {
  readonly agent: string;
  readonly id: string;
  /** The number of the last event that is known. */
  readonly after: number;
  readonly signal: AbortSignal;
}

/** The events of a task after `after`, stored and new. Ends when the task has ended or the connection breaks. */
export async function* subscribe({
  agent,
  id,
  after,
  signal,
}: Following): AsyncGenerator<readonly StreamEvent[]> {
  const init = request('SubscribeToTask', { id });
  const headers = { ...(init.headers as Record<string, string>), 'Last-Event-ID': String(after) };
  const answer = await call(pathOf(agent), { ...init, signal, headers });
  if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) {
    const { error } = (await answer.json()) as Reply<never>;
    throw new Refusal(error?.message ?? 'The answer is no stream.');
  }
  let rest = '';
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    const lines = (rest + piece.value).split('\n');
    rest = lines.pop() ?? '';
    yield lines.filter((line) => line.startsWith('data:')).flatMap(eventsIn);
  }
}

function eventsIn(line: string): readonly StreamEvent[] {
  const { result, error } = JSON.parse(line.slice('data:'.length)) as Reply<StreamEvent>;
  if (error) throw new Refusal(error.message);
  return result ? [result] : [];
}
