import { describe, expect, it } from '@jest/globals';
import { StreamResponse, Task } from '@a2a-js/sdk';
import { toStreamResponse } from '../../../src/a2a/translate/events.js';
import { authorIn, chainIn, seqIn, usageIn } from '../../../src/a2a/translate/extensions.js';
import { EXTENSIONS } from '../../../src/core/extensions.js';
import { TaskFold } from '../../../src/a2a/translate/task.js';
import type { WireTask } from '../../support/a2a-requests.js';
import { NO_USAGE } from '../../../src/core/model.js';
import type { EventBody, TaskEvent, TaskRecord } from '../../../src/core/task.js';

const RECORD: TaskRecord = {
  id: 't',
  tenant: '',
  owner: 'o',
  agent: 'a',
  contextId: 'c',
  parentTaskId: undefined,
  grant: { chain: [], depth: 5 },
  state: 'completed',
  statusMessage: undefined,
  head: 9,
  epoch: 1,
  crashes: 0,
  createdAt: 0,
  statusAt: Date.UTC(2026, 10, 21, 12, 0, 0, 5),
};

function event(body: EventBody, seq = 1, author: string | undefined = 'operator'): TaskEvent {
  return { taskId: 't', seq, at: RECORD.statusAt, author, body };
}

function delta(text: string, replace = false, artifactId = 'answer'): EventBody {
  return { type: 'text-delta', artifactId, text, replace };
}

function folded(
  bodies: readonly EventBody[],
  view = { historyLength: undefined as number | undefined, includeArtifacts: true },
): WireTask {
  const fold = new TaskFold();
  bodies.forEach((body, index) => fold.add(event(body, index + 1), 'operator'));
  return Task.toJSON(fold.toTask(RECORD, view)) as WireTask;
}

describe('a task read from its journal', () => {
  it('has the text of an artifact joined, and begun anew where a run began it anew', () => {
    const task = folded([delta('lost'), delta('a', true), delta('b'), delta('other', true, 'second')]);
    expect(task.artifacts.map(({ artifactId, parts }) => [artifactId, parts])).toEqual([
      ['answer', [{ text: 'ab' }]],
      ['second', [{ text: 'other' }]],
    ]);
  });

  it('has parts and text in the order in which they came', () => {
    const file = { kind: 'file', url: 'https://example.com/x' } as const;
    const parts = (append: boolean): EventBody => ({
      type: 'artifact',
      artifact: { id: 'answer', parts: [file] },
      append,
    });
    const [artifact] = folded([delta('a', true), parts(true), delta('b'), delta('c')]).artifacts;
    expect(artifact?.parts).toEqual([{ text: 'a' }, { url: 'https://example.com/x' }, { text: 'bc' }]);
    expect(folded([delta('a'), parts(false)]).artifacts[0]?.parts).toEqual([
      { url: 'https://example.com/x' },
    ]);
  });

  it('has two text parts kept apart', () => {
    const two = [
      { kind: 'text', text: 'a' },
      { kind: 'text', text: 'b' },
    ] as const;
    const [artifact] = folded([
      { type: 'artifact', artifact: { id: 'x', parts: two }, append: false },
      delta('c', false, 'x'),
    ]).artifacts;
    expect(artifact?.parts).toEqual([{ text: 'a' }, { text: 'bc' }]);
  });

  it('has the text of a message joined, begun anew where a run began it anew, and a blank one left out', () => {
    const said = (text: string, replace: boolean, artifactId: string): EventBody => ({
      type: 'text-delta',
      artifactId,
      text,
      replace,
      isMessage: true,
    });
    const bodies = [
      ...[said('lo', true, 'c0/a'), said('x', true, 'c1/a'), said('st', false, 'c0/a')],
      ...[said('a', true, 'c0/a'), said(' ', true, 'c2/a'), said('b', false, 'c0/a')],
    ];
    const { history, artifacts } = folded(bodies);
    expect(history.map(({ parts }) => parts)).toEqual([[{ text: 'ab' }], [{ text: 'x' }]]);
    expect(artifacts).toBeUndefined();
    expect(folded(bodies, { historyLength: 1, includeArtifacts: false }).history).toHaveLength(1);
  });

  it('A1 has the author on artifacts and on what agents say', () => {
    const end: EventBody = {
      type: 'run-end',
      state: 'completed',
      message: { id: 'm', role: 'agent', parts: [{ kind: 'text', text: 'done' }] },
      usage: NO_USAGE,
    };
    const task = folded([delta('a'), { type: 'activity', activity: { type: 'text', text: 'hm' } }, end]);
    for (const holder of [...task.artifacts, ...task.history]) {
      expect(authorIn(holder.metadata)).toEqual({ author: 'operator' });
    }
    expect(task.history).toHaveLength(2);
  });

  it('has no artifacts field when artifacts are not asked for', () => {
    expect(folded([delta('a')], { historyLength: 0, includeArtifacts: false })).not.toHaveProperty(
      'artifacts',
    );
  });

  it('has its time in the form of the protocol, and the number of its newest event', () => {
    const task = folded([]);
    expect(task.status).toMatchObject({
      state: 'TASK_STATE_COMPLETED',
      timestamp: '2026-11-21T12:00:00.005Z',
    });
    expect(seqIn((task as unknown as { readonly metadata: unknown }).metadata)).toBe(9);
  });
});

describe('an event as a stream shows it', () => {
  const place = { taskId: 't', contextId: 'c' };

  function shown(body: EventBody): unknown {
    const response = toStreamResponse(event(body, 3), place.contextId, 'operator');
    return response && StreamResponse.toJSON(response);
  }

  it('carries its number and its author', () => {
    expect(shown(delta('x'))).toEqual({
      artifactUpdate: {
        taskId: 't',
        contextId: 'c',
        append: true,
        artifact: {
          artifactId: 'answer',
          name: 'answer',
          parts: [{ text: 'x' }],
          metadata: { [EXTENSIONS.author]: { author: 'operator' } },
        },
        metadata: { [EXTENSIONS.cursor]: { seq: 3 } },
      },
    });
  });

  it('shows the activity of an agent in the metadata of a working status', () => {
    const body: EventBody = {
      type: 'tool-call',
      step: 's',
      callId: 'c',
      tool: 'fs_read',
      arguments: { path: 'a' },
      effect: 'pure',
      key: 'k',
    };
    const mark = {
      author: 'operator',
      activity: { type: 'tool-call', tool: 'fs_read', arguments: { path: 'a' } },
    };
    expect(shown(body)).toMatchObject({
      statusUpdate: { status: { state: 'TASK_STATE_WORKING' }, metadata: { [EXTENSIONS.author]: mark } },
    });
  });

  it('is left out when it is only bookkeeping', () => {
    expect(shown({ type: 'cancel-request' })).toBeUndefined();
    expect(shown({ type: 'delegation-task', step: 's', taskId: 'x' })).toBeUndefined();
  });
});

describe('the chain that a sender declares', () => {
  it('is read unchanged', () => {
    const mark = {
      parentTaskId: 'p',
      chain: ['a@x'],
      depth: 2,
      deadline: 1,
      tokens: 3,
      tools: ['fs_read'],
      more: 1,
    };
    const { parentTaskId, more: _more, ...grant } = mark;
    expect(chainIn({ [EXTENSIONS.chain]: mark })).toEqual({ parentTaskId, grant });
    expect(chainIn(undefined)).toEqual({ parentTaskId: undefined, grant: {} });
  });

  it.each([
    { tools: 'all' },
    { chain: [1] },
    { depth: '9' },
    { deadline: 1.5 },
    { tokens: null },
    { parentTaskId: 'x'.repeat(300) },
    'everything',
    5,
  ])('is refused when it is malformed: %j', (mark) => {
    expect(() => chainIn({ [EXTENSIONS.chain]: mark })).toThrow('cannot be read');
  });
});

describe('the usage that a peer reports', () => {
  const tokens = { input: 5, output: 2, cached: 0 };
  const row = { node: 'n', agent: 'a', model: 'm', currency: 'USD', cost: 1, ...tokens };
  const read = (mark: unknown) => usageIn({ [EXTENSIONS.usage]: mark });

  it.each([
    ['too many', Array.from({ length: 51 }, () => row)],
    ['of negative cost', [{ ...row, cost: -1 }]],
    ['no list', 'rows'],
  ])('counts tokens in a way that keeps limits in force when its rows are %s', (_, rows) => {
    expect(read({ ...tokens, rows })).toEqual(tokens);
    expect(read({ ...tokens, rows: [row] })).toEqual({ ...tokens, rows: [row] });
  });
});
