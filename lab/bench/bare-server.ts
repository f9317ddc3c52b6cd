import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { attend } from './child.js';
import { ANSWER, eachChunk, parseWork } from './work.js';

/**
 * The lower bound: responses of the same shape and size as Lango's over node:http, without a protocol, a store or an
 * agent. Shows the best possible figure, and how much the bench's own client can send.
 */
export async function serve(): Promise<void> {
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  attend((server.address() as AddressInfo).port, async () => {
    server.closeAllConnections();
    server.close();
  });
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  const { params } = JSON.parse(body) as { params: { message: { parts: [{ text: string }] } } };
  const work = parseWork(params.message.parts[0].text);
  if (work.kind === 'ask') {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write(':\n\n');
    return; // an idle stream
  }
  if (work.chunks === 0) {
    const text = envelope({ task: task() });
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': text.length }).end(text);
    return;
  }
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  await eachChunk(work, (text, index) => void response.write(event(text, index + 1)));
  response.end(`data: ${envelope({ statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } })}\n\n`);
}

const ID = '019a0000-0000-7000-8000-000000000000';
const PLACE = { taskId: ID, contextId: ID };
const AUTHOR = { 'urn:lango:a2a:author:v1': { author: 'bench' } };

function event(text: string, seq: number): string {
  const artifact = { artifactId: 'answer', name: 'answer', parts: [{ text }], metadata: AUTHOR };
  const metadata = { 'urn:lango:a2a:cursor:v1': { seq } };
  const artifactUpdate = { ...PLACE, artifact, append: seq > 1, metadata };
  return `id: ${seq}\ndata: ${envelope({ artifactUpdate })}\n\n`;
}

function task(): object {
  const message = { messageId: ID, ...PLACE, role: 'ROLE_USER', parts: [{ text: 'echo' }] };
  return {
    id: ID,
    contextId: ID,
    status: { state: 'TASK_STATE_COMPLETED', timestamp: new Date().toISOString() },
    artifacts: [{ artifactId: 'answer', name: 'answer', parts: [{ text: ANSWER }], metadata: AUTHOR }],
    history: [message],
    metadata: { 'urn:lango:a2a:cursor:v1': { seq: 4 } },
  };
}

function envelope(result: object): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, result });
}
