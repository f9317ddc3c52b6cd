import type { Answer } from './connection.js';
import type { Kind } from './target.js';
import { TOKEN } from './target.js';

const PATHS: Readonly<Record<Kind, string>> = {
  lango: '/agents/bench',
  'lango-flat': '/',
  'lango-memory': '/',
  'lango-serve': '/',
  stock: '/',
  bare: '/',
};

let lastMessage = 0;

export interface Call {
  readonly method: 'SendMessage' | 'SendStreamingMessage';
  readonly text: string;
  readonly contextId?: string;
}

/** A JSON-RPC request as the bytes of HTTP; the same for every server but for path and token. */
export function callText(kind: Kind, { method, text, contextId }: Call): string {
  const messageId = `bench-${process.pid}-${(lastMessage += 1)}`;
  const message = { messageId, role: 'ROLE_USER', parts: [{ text }], ...(contextId ? { contextId } : {}) };
  const body = JSON.stringify({ jsonrpc: '2.0', id: lastMessage, method, params: { message } });
  const head = [
    `POST ${PATHS[kind]} HTTP/1.1`,
    'Host: 127.0.0.1',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'A2A-Version: 1.0',
    `Authorization: Bearer ${TOKEN}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

export function cardRequestText(): string {
  return 'GET /.well-known/agent-card.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
}

/** Throws when an answer is not that of a finished task: a bench of errors would be worth nothing. */
export function requireCompleted(answer: Answer): void {
  if (answer.status !== 200 || !answer.text().includes('"TASK_STATE_COMPLETED"')) {
    throw new Error(
      `a request was not answered with a completed task: ${answer.status} ${answer.text().slice(0, 500)}`,
    );
  }
}

/** How much the model was given for this answer. Throws when the answer does not say. */
export function tokensAsked(answer: Answer): number {
  requireCompleted(answer);
  const [, tokens] = /"urn:lango:a2a:usage:v1":\{"input":(\d+)/.exec(answer.text()) ?? [];
  if (tokens === undefined) throw new Error('an answer did not say how much the model was given');
  return Number(tokens);
}

/** Throws unless a stream brought that many characters of text and the end of its task. */
export function requireCharacters(answer: Answer, count: number): void {
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
