import { describe, expect, it } from '@jest/globals';
import { StreamResponse } from '@a2a-js/sdk';
import { TaskReader } from '../../../src/a2a/client/reader.js';
import { textPart, type Part } from '../../../src/core/message.js';
import { fromWireUpdate } from '../../../src/a2a/translate/updates.js';
import { snapshot, status, text } from './wire-server.js';

const read = (reader: TaskReader, json: unknown) =>
  reader.read(fromWireUpdate(StreamResponse.fromJSON(json)));
const WORKING = 'TASK_STATE_WORKING';

describe('TaskReader', () => {
  it('limits the number of events of a stream', () => {
    const reader = new TaskReader({ agent: 'a' });
    const event = fromWireUpdate(StreamResponse.fromJSON(status(WORKING)));
    expect(() => {
      for (let at = 0; at <= 100_000; at += 1) reader.read(event);
    }).toThrow(/100000 events/);
  });

  it.each([
    ['a single event', [17]],
    ['many events', Array.from({ length: 17 }, () => 1)],
  ])('limits the characters of %s', (_, sizes) => {
    const reader = new TaskReader({ agent: 'a' });
    expect(() => {
      for (const megabytes of sizes) read(reader, text('x'.repeat(megabytes * 1024 * 1024), undefined, true));
    }).toThrow(/16777216 characters/);
  });

  it('yields only what a snapshot adds to the part of the stream before it', () => {
    const reader = new TaskReader({ agent: 'a' });
    read(reader, snapshot(WORKING));
    read(reader, text('one', undefined, false));
    const more = { artifacts: [{ artifactId: 'a', parts: [{ text: 'one two' }] }] };
    expect(read(reader, snapshot(WORKING, more))).toEqual([
      { type: 'text-delta', author: 'a', artifactId: 'a', text: ' two', replace: false },
    ]);
    expect(read(reader, snapshot(WORKING, more))).toEqual([]);
    const other = { artifacts: [{ artifactId: 'a', parts: [{ text: 'again' }] }] };
    expect(read(reader, snapshot(WORKING, other))).toEqual([
      { type: 'text-delta', author: 'a', artifactId: 'a', text: 'again', replace: true },
    ]);
  });

  it('names the entries that hold a whole text or all files, and no others', () => {
    const reader = new TaskReader({ agent: 'a' });
    const from = ['task', 7, 7] as const;
    const origins = (parts: readonly Part[], append: boolean) => {
      const artifact = { id: 'a', parts };
      const update = {
        type: 'artifact',
        taskId: 'task',
        contextId: '',
        artifact,
        append,
        lastChunk: false,
        from,
      } as const;
      return reader
        .read(update)
        .filter(({ type }) => type !== 'task')
        .map((event) => [event.type, 'from' in event ? event.from : undefined]);
    };
    const file = { kind: 'file', bytes: 'AAAA' } as const;
    expect(origins([textPart('one')], false)).toEqual([['text-delta', from]]);
    expect(origins([textPart(' two')], true)).toEqual([['text-delta', from]]);
    expect(origins([textPart('of '), textPart('two')], false)).toEqual([['text-delta', undefined]]);
    expect(origins([file, file], false)).toEqual([
      ['text-delta', undefined],
      ['artifact', from],
    ]);
    expect(origins([file], true)).toEqual([['artifact', undefined]]);
    expect(origins([textPart('and'), file], false)).toEqual([
      ['text-delta', undefined],
      ['artifact', undefined],
    ]);
  });

  it('replaces an artifact when the server starts it again', () => {
    const reader = new TaskReader({ agent: 'a' });
    read(reader, text('wrong', undefined, false));
    expect(read(reader, text('right', undefined, false))).toMatchObject([{ text: 'right', replace: true }]);
    const [, end] = read(reader, status('TASK_STATE_COMPLETED'));
    expect(end).toMatchObject({ type: 'end', text: 'right' });
    expect(reader.hasEnded).toBe(true);
  });

  it('yields what an agent says before its output once, also when a snapshot repeats it', () => {
    const reader = new TaskReader({ agent: 'a' });
    const message = { messageId: 'm1', role: 'ROLE_AGENT', parts: [{ text: 'on it' }] };
    const said = { type: 'activity', author: 'a', activity: { type: 'text', text: 'on it' } };
    const saying = { status: { state: WORKING, message } };
    expect(read(reader, snapshot(WORKING, saying))).toContainEqual(said);
    expect(read(reader, snapshot(WORKING, saying))).toEqual([]);
    expect(read(reader, status(WORKING, undefined, saying))).toEqual([]);
  });

  it('yields a growing message as output, chunk by chunk', () => {
    const reader = new TaskReader({ agent: 'a' });
    const say = (state: string, words: string) => {
      const message = { messageId: 'm1', role: 'ROLE_AGENT', parts: [{ text: words }] };
      return read(reader, snapshot(state, { status: { state, message } }));
    };
    const piece = { type: 'text-delta', author: 'a', artifactId: 'm1' };
    say(WORKING, '');
    expect(say(WORKING, 'It ')).toEqual([{ ...piece, text: 'It ', replace: true }]);
    expect(say(WORKING, 'It ')).toEqual([]);
    expect(say(WORKING, 'It is ')).toEqual([{ ...piece, text: 'is ', replace: false }]);
    expect(say('TASK_STATE_COMPLETED', 'It is done.')).toMatchObject([
      { type: 'status', state: 'completed' },
      { ...piece, text: 'done.', replace: false },
      { type: 'end', text: 'It is done.' },
    ]);
  });

  it('remembers the newest cursor', () => {
    const reader = new TaskReader({ agent: 'a' });
    expect(reader.cursor).toBeUndefined();
    read(reader, text('one', 4));
    read(reader, status(WORKING));
    expect(reader.cursor).toBe(4);
  });

  it('accepts an event without a context id, and refuses one without a task id', () => {
    const reader = new TaskReader({ agent: 'a', contextId: 'context-1' });
    const bare = { statusUpdate: { taskId: 'task-1', status: { state: WORKING } } };
    expect(read(reader, bare)).toContainEqual({ type: 'status', state: 'working' });
    const nameless = { statusUpdate: { status: { state: WORKING } } };
    expect(() => read(new TaskReader({ agent: 'a' }), nameless)).toThrow(/task id/);
  });
});
