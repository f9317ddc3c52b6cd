import { OUR_EXTENSIONS } from '../../src/core/extensions.js';
import type { A2aNode } from './a2a-node.js';
import { TOKEN } from './a2a-node.js';

/** Plain HTTP to a node with our extensions, like a careless or hostile client. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON. */
  readonly json: Wire;
}

/** Every member that a response may have. The tests check which of them are present, so none is optional. */
export interface Wire {
  readonly jsonrpc: string;
  readonly id: unknown;
  readonly result: Wire;
  readonly error: WireFault;
  readonly task: WireTask;
  readonly tasks: readonly WireTask[];
  /** The status of a task that stands alone. */
  readonly status: WireStatus;
  readonly artifacts: readonly WireArtifact[];
  readonly history: readonly WireMessage[];
  readonly totalSize: number;
  readonly nextPageToken: string;
  readonly statusUpdate: { readonly status: WireStatus; readonly metadata: WireMetadata };
  readonly artifactUpdate: { readonly artifact: WireArtifact; readonly append?: boolean };
}

interface WireFault {
  readonly code: number;
  readonly status: string;
  readonly message: string;
  readonly data: readonly WireDetail[];
  readonly details: readonly WireDetail[];
}

interface WireDetail {
  readonly '@type': string;
  readonly reason: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly fieldViolations: readonly { readonly field: string; readonly description: string }[];
}

type WireMetadata = Readonly<Record<string, { readonly author: string; readonly seq: number } | undefined>>;

interface WireMessage {
  readonly role: string;
  readonly parts: readonly { readonly text: string }[];
  readonly metadata: WireMetadata;
}

interface WireStatus {
  readonly state: string;
  readonly message: WireMessage;
}

interface WireArtifact {
  readonly artifactId: string;
  readonly name: string;
  readonly parts: readonly { readonly text: string }[];
  readonly metadata: WireMetadata;
}

export interface WireTask {
  readonly id: string;
  readonly contextId: string;
  readonly status: WireStatus;
  readonly artifacts: readonly WireArtifact[];
  readonly history: readonly WireMessage[];
}

export interface Ask {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** A raw body, sent instead of `body`. */
  readonly raw?: string;
  /** The token to send. Null sends none. */
  readonly token?: string | null;
}

export async function ask(node: Pick<A2aNode, 'origin'>, path: string, options: Ask = {}): Promise<Reply> {
  const { token = TOKEN, body, raw } = options;
  const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  const response = await fetch(node.origin + path, {
    method: options.method ?? (payload === undefined ? 'GET' : 'POST'),
    headers: {
      ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
      ...(payload === undefined ? {} : { 'Content-Type': 'application/json' }),
      'A2A-Extensions': OUR_EXTENSIONS.join(', '),
      ...options.headers,
    },
    ...(payload === undefined ? {} : { body: payload }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: parsed(text) };
}

export function rpc(node: A2aNode, method: string, params?: unknown): Promise<Reply> {
  return ask(node, '/', { body: { jsonrpc: '2.0', id: 7, method, params } });
}

let count = 0;

export function userMessage(text: string, more: object = {}): { readonly message: object } {
  count += 1;
  return { message: { messageId: `m-${count}`, role: 'ROLE_USER', parts: [{ text }], ...more } };
}

export interface SseEvent {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: Wire;
}

/** The events of a complete event stream. */
export function sseEvents(text: string): readonly SseEvent[] {
  return text.split('\n\n').flatMap((block) => {
    const fields = new Map(
      block
        .split('\n')
        .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
    );
    const data = fields.get('data');
    return data === undefined
      ? []
      : [{ id: fields.get('id'), event: fields.get('event'), data: parsed(data) }];
  });
}

/** Polls the node until a task is in `state` ("completed"). */
export async function taskIn(node: A2aNode, id: string, state: string): Promise<void> {
  const scope = { tenant: '', owner: 'default' };
  for (;;) {
    const record = await node.journal.get(scope, id);
    if (record?.state === state) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

function parsed(text: string): Wire {
  try {
    return JSON.parse(text) as Wire;
  } catch {
    return {} as Wire;
  }
}
