import { randomUUID } from 'node:crypto';
import { EXTENSIONS } from '../../src/core/extensions.js';
import type { BenchResponse } from './connection.js';
import type { Kind } from './target.js';
import { TOKEN } from './target.js';

const PATHS: Readonly<Record<Kind, string>> = {
  lango: '/agents/bench',
  'lango-team': '/',
  'lango-executor': '/agents/bench',
  'lango-postgres': '/agents/bench',
  'lango-flat': '/',
  'lango-memory': '/',
  'lango-serve': '/',
  stock: '/',
  'stock-database': '/',
  bare: '/',
};

export type Call =
  MessageCall | { readonly method: 'ListTasks' | 'SubscribeToTask'; readonly params: object };

interface MessageCall {
  readonly method: 'SendMessage' | 'SendStreamingMessage';
  readonly text: string;
  readonly contextId?: string;
  readonly taskId?: string;
  /** The extension that the client asks for. */
  readonly extension?: string;
}

/** A JSON-RPC request as the bytes of HTTP. It differs between servers only in path and token. */
export function callText(kind: Kind, call: Call): string {
  const params = 'params' in call ? call.params : { message: messageOf(call) };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: call.method, params });
  const head = [
    `POST ${PATHS[kind]} HTTP/1.1`,
    'Host: 127.0.0.1',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'A2A-Version: 1.0',
    `Authorization: Bearer ${TOKEN}`,
    ...('extension' in call ? [`A2A-Extensions: ${call.extension}`] : []),
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

/** A random id, as clients use. Ascending ids would be cheaper for an index. */
function messageOf({ text, contextId, taskId }: MessageCall): object {
  const place = { ...(contextId ? { contextId } : {}), ...(taskId ? { taskId } : {}) };
  return { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...place };
}

export function cardRequestText(): string {
  return 'GET /.well-known/agent-card.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
}

/** Throws when a response is not that of a completed task, because a bench of errors would measure nothing. */
export function requireCompleted(answer: BenchResponse): void {
  requireText(answer, '"TASK_STATE_COMPLETED"');
}

/** Throws unless a request succeeded with this text in its response. */
export function requireText(answer: BenchResponse, expected: string): void {
  if (answer.status === 200 && answer.text().includes(expected)) return;
  throw new Error(`an answer lacks ${expected}: ${answer.status} ${answer.text().slice(0, 500)}`);
}

/** The tokens that the model got for this response. Throws when the response has no such number. */
export function tokensAsked(answer: BenchResponse): number {
  requireCompleted(answer);
  const [, tokens] = new RegExp(`"${EXTENSIONS.usage}":\\{"input":(\\d+)`).exec(answer.text()) ?? [];
  if (tokens === undefined) throw new Error('an answer did not say how much the model was given');
  return Number(tokens);
}

/** Throws unless a stream had that many characters of text and the end of its task. */
export function requireCharacters(answer: BenchResponse, count: number): void {
  requireCompleted(answer);
  const lines = answer.text().split('\n');
  const texts = lines.filter((line) => line.startsWith('data: ')).map(artifactText);
  const found = texts.reduce((total, text) => total + text.length, 0);
  if (found !== count) throw new Error(`a stream brought ${found} characters instead of ${count}`);
}

interface StreamLine {
  readonly result: {
    readonly artifactUpdate?: { readonly artifact: { readonly parts: readonly { readonly text: string }[] } };
  };
}

function artifactText(line: string): string {
  const { result } = JSON.parse(line.slice('data: '.length)) as StreamLine;
  return (result.artifactUpdate?.artifact.parts ?? []).map(({ text }) => text).join('');
}
