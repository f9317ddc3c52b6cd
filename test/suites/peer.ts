import { afterEach, describe, expect, it } from '@jest/globals';
import type { Peer, PeerEvent, PeerRequest } from '../../src/core/agent.js';
import { LangoError } from '../../src/core/errors.js';
import { newId } from '../../src/core/ids.js';
import { textPart } from '../../src/core/message.js';
import { chainIn } from '../../src/a2a/translate/extensions.js';
import type { ScriptedExecutor } from '../a2a/client/scripted-executor.js';

export interface OpenPeer {
  readonly peer: Peer;
  readonly executor: ScriptedExecutor;
  /** The prefix of the names of agents below this peer: a remote peer's own name. */
  readonly prefix: string;
  close(): Promise<void>;
}

export type EndOf = Extract<PeerEvent, { type: 'end' }>;

export function ask(text: string, changes: Partial<PeerRequest> = {}): PeerRequest {
  return {
    scope: { tenant: '', owner: 'alice' },
    message: { id: newId(), role: 'user', parts: [textPart(text)] },
    contextId: newId(),
    parentTaskId: 'parent-1',
    grant: { chain: ['root@node'], depth: 3 },
    ...changes,
  };
}

export async function collect(events: AsyncIterable<PeerEvent>): Promise<{ all: PeerEvent[]; end: EndOf }> {
  const all: PeerEvent[] = [];
  for await (const event of events) all.push(event);
  const ends = all.filter((event) => event.type === 'end');
  expect(ends).toHaveLength(1);
  expect(all.at(-1)).toBe(ends[0]);
  return { all, end: ends[0] as EndOf };
}

function taskIn(events: readonly PeerEvent[]): string | undefined {
  return events.find((event) => event.type === 'task')?.taskId;
}

export function textsOf(events: readonly PeerEvent[]): string {
  let text = '';
  for (const event of events) {
    if (event.type === 'text-delta' && !event.isLive) text = event.replace ? event.text : text + event.text;
  }
  return text;
}

/** The contract of every peer, over any transport. */
export function describePeer(name: string, open: () => Promise<OpenPeer>): void {
  const opened: OpenPeer[] = [];
  const start = async (): Promise<OpenPeer> => {
    const one = await open();
    opened.push(one);
    return one;
  };
  const never = new AbortController().signal;

  describe(`a peer ${name}`, () => {
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((one) => one.close()));
    });

    it('streams its output: task, activity, text as it arrives, and the whole text at the end', async () => {
      const { peer } = await start();
      const { all, end } = await collect(peer.send(ask('stream'), never));
      expect(all[0]).toMatchObject({ type: 'task' });
      expect(all).toContainEqual({
        type: 'activity',
        author: 'scripted',
        activity: { type: 'text', text: 'thinking about it' },
      });
      expect(all.filter((event) => event.type === 'text-delta').length).toBeGreaterThan(1);
      expect(textsOf(all)).toBe('one two three');
      expect(end).toMatchObject({
        state: 'completed',
        text: 'one two three',
        author: 'scripted',
        questions: [],
      });
    });

    it('accepts a message instead of a task as output', async () => {
      const { peer } = await start();
      const { all, end } = await collect(peer.send(ask('message'), never));
      expect(textsOf(all)).toBe('just so');
      expect(end).toMatchObject({ state: 'completed', text: 'just so' });
    });

    it('uses the closing status as output when there is no artifact', async () => {
      const { peer } = await start();
      const { all, end } = await collect(peer.send(ask('status-answer'), never));
      expect(textsOf(all)).toBe('in the status');
      expect(end).toMatchObject({ state: 'completed', text: 'in the status' });
    });

    it.each([
      ['fail', 'failed', 'it broke'],
      ['reject', 'rejected', 'not my job'],
    ])('ends with %s as %s and the reason', async (word, state, text) => {
      const { peer } = await start();
      const { end } = await collect(peer.send(ask(word), never));
      expect(end).toMatchObject({ state, text });
    });

    it('yields authors, activities and usage of agents with the extensions', async () => {
      const { peer, prefix } = await start();
      const { all, end } = await collect(peer.send(ask('marks'), never));
      const author = `${prefix}deep-agent`;
      expect(all).toContainEqual({
        type: 'activity',
        author,
        activity: { type: 'tool-call', tool: 'fs_read', arguments: { path: 'a' } },
        // Only a peer that shares the journal names its entries.
        ...(peer.isRemote ? {} : { from: [taskIn(all), expect.any(Number), expect.any(Number)] }),
      });
      expect(all).toContainEqual(expect.objectContaining({ type: 'text-delta', author }));
      expect(all.some((event) => 'from' in event && event.from !== undefined)).toBe(!peer.isRemote);
      expect(end.usage).toEqual({ input: 7, output: 3, cached: 1 });
    });

    it('yields files and data as whole artifacts, apart from the text', async () => {
      const { peer } = await start();
      const { all, end } = await collect(peer.send(ask('files'), never));
      const artifacts = all.flatMap((event) => (event.type === 'artifact' ? [event.artifact] : []));
      expect(artifacts.at(-1)).toMatchObject({
        id: 'report',
        parts: [
          { kind: 'data', data: { rows: 1 } },
          { kind: 'file', bytes: Buffer.from('png').toString('base64'), mediaType: 'image/png' },
        ],
      });
      expect(end.text).toBe('see the report');
    });

    it('sends the delegating chain and the remaining grant, under the scope of the request', async () => {
      const { peer, executor } = await start();
      await collect(peer.send(ask('stream'), never));
      const { message } = executor.calls[0]!;
      expect(chainIn(message.metadata)).toEqual({
        parentTaskId: 'parent-1',
        grant: { chain: ['root@node'], depth: 3 },
      });
    });

    it('asks, and continues with the reply in the same task', async () => {
      const { peer, executor } = await start();
      const request = ask('ask');
      const first = await collect(peer.send(request, never));
      const taskId = first.all.flatMap((event) => (event.type === 'task' ? [event.taskId] : []))[0]!;
      expect(first.end).toMatchObject({ state: 'input-required', text: 'which color?' });
      expect(first.end.questions).toMatchObject([{ kind: 'input', text: 'which color?' }]);

      const { contextId } = request;
      const second = await collect(peer.send(ask('red', { contextId, taskId, isReply: true }), never));
      expect(second.end).toMatchObject({ state: 'completed', text: 'painted red' });
      expect(executor.calls.map(({ taskId: id }) => id)).toEqual([taskId, taskId]);
    });

    it('reports the end of a task whose question was replied to before', async () => {
      const { peer, executor } = await start();
      const request = ask('ask');
      const first = await collect(peer.send(request, never));
      const { taskId } = first.all.find((event) => event.type === 'task')!;
      const answer = { contextId: request.contextId, taskId, isReply: true };
      await collect(peer.send(ask('red', answer), never));
      const late = await collect(peer.send(ask('blue', answer), never));
      expect(late.end).toMatchObject({ state: 'completed', text: 'painted red' });
      expect(executor.calls).toHaveLength(2);
    });

    it('yields the questions of a peer with the approval extension', async () => {
      const { peer } = await start();
      const { end } = await collect(peer.send(ask('approve'), never));
      expect(end).toMatchObject({
        state: 'input-required',
        questions: [{ hash: 'h1', kind: 'approval', tool: 'exec', arguments: { command: 'ls' } }],
      });
    });

    it('cancels the task of the peer when it is canceled, and reports that', async () => {
      const { peer, executor } = await start();
      const controller = new AbortController();
      const all: PeerEvent[] = [];
      for await (const event of peer.send(ask('wait'), controller.signal)) {
        all.push(event);
        if (event.type !== 'task') continue;
        void executor.isWaiting.then(() => controller.abort(new LangoError('canceled', 'enough')));
      }
      expect(all.at(-1)).toMatchObject({ type: 'end', state: 'canceled' });
      expect(executor.canceled).toHaveLength(1);
    });

    it('cancels a task that is known only by the message that began it', async () => {
      const { peer, executor } = await start();
      const request = ask('wait');
      const events = peer.send(request, never)[Symbol.asyncIterator]();
      // The peer names the task once it has stored it.
      expect(await events.next()).toMatchObject({ value: { type: 'task' } });
      const watched = collect({ [Symbol.asyncIterator]: () => events });
      await executor.isWaiting;
      const { scope, grant, contextId, message } = request;
      const by = { ...scope, grant };
      await peer.cancel(by, { contextId, messageId: newId() });
      expect(executor.canceled).toHaveLength(0);
      await peer.cancel(by, { contextId, messageId: message.id });
      expect((await watched).end.state).toBe('canceled');
      expect(executor.canceled).toHaveLength(1);
    });

    it('stops following, but not the task, when the server stops, and finds the task again', async () => {
      const { peer, executor } = await start();
      const controller = new AbortController();
      const stop = (): void => controller.abort(new LangoError('unavailable', 'stopping'));
      const request = ask('wait');
      let taskId = '';
      const first: PeerEvent[] = [];
      for await (const event of peer.send(request, controller.signal)) {
        first.push(event);
        if (event.type !== 'task') continue;
        taskId = event.taskId;
        // Late enough that nothing is in transit any more: the follower is idle.
        void executor.isWaiting.then(() => setTimeout(stop, 50));
      }
      expect(first.at(-1)).toMatchObject({ type: 'end', state: 'failed' });
      expect(executor.canceled).toHaveLength(0);

      const again = collect(peer.send({ ...request, taskId }, never));
      setTimeout(() => executor.proceed(), 50);
      expect((await again).end).toMatchObject({ state: 'completed', text: 'done waiting' });
      expect(executor.calls).toHaveLength(1);
    });

    it('finds a task again that has ended meanwhile', async () => {
      const { peer, executor } = await start();
      const request = ask('stream');
      const first = await collect(peer.send(request, never));
      const taskId = first.all.flatMap((event) => (event.type === 'task' ? [event.taskId] : []))[0]!;
      const again = await collect(peer.send({ ...request, taskId }, never));
      expect(textsOf(again.all)).toBe('one two three');
      expect(again.end).toMatchObject({ state: 'completed', text: 'one two three' });
      expect(executor.calls).toHaveLength(1);
    });

    it('fails for a task that the peer does not know', async () => {
      const { peer } = await start();
      const { end } = await collect(peer.send(ask('x', { taskId: newId() }), never));
      expect(end.state).toBe('failed');
    });

    it('ends at once when it is canceled before the start', async () => {
      const { peer, executor } = await start();
      const { end } = await collect(
        peer.send(ask('stream'), AbortSignal.abort(new LangoError('canceled', 'no'))),
      );
      expect(end.state).toBe('canceled');
      expect(executor.calls).toHaveLength(0);
    });
  });
}
