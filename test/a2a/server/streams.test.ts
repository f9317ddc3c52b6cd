import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { Run, RunEnd } from '../../../src/core/run.js';
import type { A2aNode, A2aNodeOptions } from '../../support/a2a-node.js';
import { TOKEN, startA2aNode } from '../../support/a2a-node.js';
import type { SseEvent, Wire, WireTask } from '../../support/a2a-requests.js';
import { ask, rpc, sseEvents, taskIn, userMessage } from '../../support/a2a-requests.js';
import type { Script } from '../../support/scripted-agent.js';
import { followOrders, scriptedAgent } from '../../support/scripted-agent.js';

let node: A2aNode;

afterEach(() => node.stop());

async function start(options: Partial<A2aNodeOptions> = {}, script: Script = followOrders): Promise<void> {
  node = await startA2aNode({ agents: [scriptedAgent('lango-agent', script)], ...options });
}

async function stream(text: string, more: object = {}): Promise<readonly SseEvent[]> {
  const reply = await ask(node, '/message:stream', { body: userMessage(text, more) });
  return sseEvents(reply.text);
}

async function beginWaiting(): Promise<string> {
  const body = { ...userMessage('wait'), configuration: { returnImmediately: true } };
  const { id } = (await ask(node, '/message:send', { body })).json.task;
  await taskIn(node, id, 'working');
  return id;
}

function subscribe(id: string, after?: number | string) {
  const headers = { 'Last-Event-ID': String(after) };
  return ask(node, `/tasks/${id}:subscribe`, after === undefined ? {} : { headers });
}

/** An event stream whose reader decides when to read. */
async function openStream(path: string, headers: object = {}, body?: object): Promise<IncomingMessage> {
  const outgoing = request(node.origin + path, {
    method: 'POST',
    agent: false,
    headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json', ...headers },
  });
  outgoing.end(body && JSON.stringify(body));
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  response.on('error', () => {});
  return response;
}

async function readUntil(response: IncomingMessage, words: string): Promise<string> {
  let text = '';
  response.setEncoding('utf8');
  for await (const chunk of response.iterator({ destroyOnReturn: false })) {
    text += chunk as string;
    if (text.includes(words)) break;
  }
  return text;
}

describe('X5 numbered events', () => {
  it('carry their number as the id and in their metadata, in order', async () => {
    await start();
    const events = await stream('chunks 5');
    const ids = events.map(({ id }) => Number(id));
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
    expect(new Set(ids).size).toBe(ids.length);
    for (const { id, data } of events) {
      const [payload] = Object.values(data) as { metadata: Record<string, { seq: number }> }[];
      expect(payload?.metadata['urn:lango:a2a:cursor:v1']?.seq).toBe(Number(id));
    }
  });

  it('are replayed from a cursor, also when the task has ended, without a snapshot', async () => {
    await start();
    const events = await stream('chunks 5');
    const { id } = events[0]!.data.task;
    for (const [index, event] of events.entries()) {
      const replayed = sseEvents((await subscribe(id, event.id)).text);
      expect(replayed).toEqual(events.slice(index + 1));
    }
  });

  it('are not replayed without a cursor: a subscription to an ended task is refused', async () => {
    await start();
    const { id } = (await stream('say x'))[0]!.data.task;
    const reply = await subscribe(id);
    expect(reply.json.error.details[0]).toMatchObject({
      reason: 'UNSUPPORTED_OPERATION',
      metadata: { code: 'already-ended' },
    });
  });

  it('are refused from a cursor that is no number, and from one ahead of the task', async () => {
    await start();
    const { id } = (await stream('say x'))[0]!.data.task;
    for (const after of ['first', '-1', '1.5', '999']) {
      expect((await subscribe(id, after)).json.error.status).toBe('INVALID_ARGUMENT');
    }
  });

  it('continue from a cursor of a running task, in a stream that opens before there are new events', async () => {
    await start();
    const id = await beginWaiting();
    const { head } = (await node.store.get({ tenant: '', owner: 'default' }, id))!;
    const response = await fetch(`${node.origin}/tasks/${id}:subscribe`, {
      headers: { Authorization: `Bearer ${TOKEN}`, 'Last-Event-ID': String(head) },
    });
    expect(response.status).toBe(200);
    await ask(node, `/tasks/${id}:cancel`, { method: 'POST' });
    const states = sseEvents(await response.text()).map(({ data }) => data.statusUpdate.status.state);
    expect(states).toEqual(['TASK_STATE_CANCELED']);
  });

  it('are all either in the snapshot or after it, at any time of subscription', async () => {
    await start();
    const body = { ...userMessage('chunks 300'), configuration: { returnImmediately: true } };
    const { id } = (await ask(node, '/message:send', { body })).json.task;
    const subscriptions: Promise<string>[] = [];
    for (let i = 0; i < 20; i += 1) {
      subscriptions.push(subscribe(id).then(({ text }) => text));
      await new Promise((resolve) => setImmediate(resolve));
    }
    const whole = Array.from({ length: 300 }, (_, i) => `<${i}>`).join('');
    const seen = (await Promise.all(subscriptions)).filter((text) => text.startsWith('id:')).map(textSeen);
    expect(seen.length).toBeGreaterThan(0);
    expect(new Set(seen)).toEqual(new Set([whole]));
  });
});

/** The text as a client assembles it. */
function textSeen(text: string): string {
  let answer = '';
  for (const { data } of sseEvents(text)) {
    const { task, artifactUpdate } = data as Partial<Wire>;
    const artifact = artifactUpdate?.artifact ?? (task as Partial<WireTask> | undefined)?.artifacts?.[0];
    if (!artifact) continue;
    const words = artifact.parts.map((part) => part.text).join('');
    answer = artifactUpdate?.append === true ? answer + words : words;
  }
  return answer;
}

describe('X5 a message sent twice', () => {
  it('attaches to the same task and gets the same stream', async () => {
    await start();
    const body = userMessage('chunks 5');
    const first = await ask(node, '/message:stream', { body });
    const second = await ask(node, '/message:stream', { body });
    expect(second.text).toBe(first.text);
    const blocking = await ask(node, '/message:send', { body });
    expect(blocking.json.task.id).toBe(sseEvents(first.text)[0]?.data.task.id);
    expect(blocking.json.task.status.state).toBe('TASK_STATE_COMPLETED');
    expect((await rpc(node, 'ListTasks')).json.result.totalSize).toBe(1);
  });

  it('gets only its own turn when it is a follow-up', async () => {
    await start();
    const asked = (await ask(node, '/message:send', { body: userMessage('ask') })).json.task;
    const followUp = userMessage('chunks 2', { taskId: asked.id });
    const first = await ask(node, '/message:stream', { body: followUp });
    expect((await ask(node, '/message:stream', { body: followUp })).text).toBe(first.text);
    expect(sseEvents(first.text)[0]?.data.task.history).toHaveLength(3);
  });

  it('is refused when its id comes with other content', async () => {
    await start();
    const { message } = userMessage('say one');
    await ask(node, '/message:send', { body: { message } });
    const reply = await ask(node, '/message:send', {
      body: { message: { ...message, parts: [{ text: 'say two' }] } },
    });
    expect([reply.status, reply.json.error.details[0]?.metadata['code']]).toEqual([409, 'conflict']);
  });
});

const MUCH = 100;

/** More than the kernel buffers for a reader that does not read. */
async function sayMuch(run: Run): Promise<RunEnd> {
  const text = 'x'.repeat(200_000);
  for (let i = 0; i < MUCH; i += 1) {
    await run.append({ type: 'text-delta', artifactId: 'answer', text, replace: i === 0 });
  }
  return { state: 'completed' };
}

/** All events that arrived whole, also when the stream was cut. */
async function wholeEvents(response: IncomingMessage): Promise<readonly SseEvent[]> {
  if (response.statusCode !== 200) return [];
  let text = '';
  response.setEncoding('utf8').on('data', (data: string) => (text += data));
  response.resume();
  if (!response.closed) await new Promise((resolve) => response.on('close', resolve));
  return sseEvents(text.slice(0, text.lastIndexOf('\n\n') + 2));
}

function isEnd({ data }: SseEvent): boolean {
  return 'statusUpdate' in data && data.statusUpdate.status.state === 'TASK_STATE_COMPLETED';
}

/** Waits for a free slot on a node that allows one stream: it looks an unknown task up only once a slot is free. */
async function placeIsFree(): Promise<void> {
  while ((await subscribe('nothing')).status !== 404) await new Promise((resolve) => setTimeout(resolve, 10));
}

describe('X5 streams and their readers (3.2 #4, 3.2 #5)', () => {
  it('send heartbeats while nothing happens', async () => {
    await start({ streams: { heartbeatSeconds: 0.02 } });
    const id = await beginWaiting();
    const response = await openStream(`/tasks/${id}:subscribe`);
    expect(await readUntil(response, '\n:\n\n')).toContain('id: ');
    response.destroy();
  });

  it('never stop their task when the reader leaves, and free their slot', async () => {
    await start({ streams: { streams: 1 } });
    const response = await openStream('/message:stream', {}, userMessage('wait'));
    const [first] = sseEvents(await readUntil(response, 'waiting'));
    const { id } = first!.data.task;
    response.destroy();
    let again = await openStream(`/tasks/${id}:subscribe`);
    while (again.statusCode === 429) again = await openStream(`/tasks/${id}:subscribe`);
    expect(sseEvents(await readUntil(again, '\n\n'))[0]?.data.task.status.state).toBe('TASK_STATE_WORKING');
    again.destroy();
  });

  it('are limited in number; one too many gets a time to retry and stores nothing', async () => {
    await start({ streams: { streams: 1 } });
    const held = await openStream('/message:stream', {}, userMessage('wait'));
    await readUntil(held, 'waiting');
    for (const reply of [
      await ask(node, '/message:stream', { body: userMessage('say x') }),
      await rpc(node, 'SendStreamingMessage', userMessage('say x').message),
    ]) {
      expect(reply.status).toBe(429);
      expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    expect((await rpc(node, 'ListTasks')).json.result.totalSize).toBe(1);
    held.destroy();
  });

  it('are cut when their reader takes nothing, and the cursor gets the rest', async () => {
    await start({ streams: { streams: 1, heartbeatSeconds: 0.05, streamBufferBytes: 64 * 1024 } }, sayMuch);
    const response = await openStream('/message:stream', {}, userMessage('much'));
    response.pause();
    await placeIsFree();
    // The client reads what the kernel has buffered, and then meets the cut. It resumes until it has everything.
    const events = [...(await wholeEvents(response))];
    expect(response.complete).toBe(false);
    const { id } = events[0]!.data.task;
    while (!isEnd(events.at(-1)!)) {
      const path = `/tasks/${id}:subscribe`;
      events.push(...(await wholeEvents(await openStream(path, { 'Last-Event-ID': events.at(-1)!.id! }))));
    }
    const texts = events.filter(({ data }) => 'artifactUpdate' in data);
    expect(texts).toHaveLength(MUCH);
    expect(new Set(events.map((event) => event.id)).size).toBe(events.length);
  });

  it('hold their slot until the reader has taken everything', async () => {
    await start({ streams: { streams: 1 } }, sayMuch);
    const response = await openStream('/message:stream', {}, userMessage('much'));
    response.pause();
    const { id } = (await rpc(node, 'ListTasks')).json.result.tasks[0]!;
    await taskIn(node, id, 'completed');
    expect((await subscribe('nothing')).status).toBe(429);
    response.resume();
    await once(response, 'end');
    await placeIsFree();
  });

  it('end cleanly when the host stops', async () => {
    await start();
    const response = await openStream('/message:stream', {}, userMessage('wait'));
    await readUntil(response, 'waiting');
    const stopped = node.stop();
    response.resume();
    await once(response, 'end');
    expect(response.complete).toBe(true);
    await stopped;
    await start();
  });

  it('report a later error inside the stream, without its cause', async () => {
    await start();
    const response = await openStream('/message:stream', {}, userMessage('wait'));
    const [first] = sseEvents(await readUntil(response, 'waiting'));
    const { id } = first!.data.task;
    const read = node.store.read.bind(node.store);
    node.store.read = () => Promise.reject(new Error('disk /dev/sda1 is gone'));
    await ask(node, `/tasks/${id}:cancel`, { method: 'POST' });
    const text = await readUntil(response, 'event: error');
    const error = sseEvents(text).at(-1);
    expect(error).toMatchObject({
      event: 'error',
      data: { error: { code: 500, message: 'Internal error.' } },
    });
    expect(text).not.toContain('sda1');
    node.store.read = read;
  });
});

describe('X5 a blocking call', () => {
  it('returns the current task when the host stops, and the task continues at the next start', async () => {
    await start();
    const waiting = ask(node, '/message:send', { body: userMessage('wait') });
    for (;;) {
      const page = (await rpc(node, 'ListTasks', { status: 'TASK_STATE_WORKING' })).json.result;
      if (page.totalSize === 1) break;
    }
    const stopped = node.stop();
    expect((await waiting).json.task.status.state).toBe('TASK_STATE_WORKING');
    await stopped;
    await start();
  });
});
