import type { EventBody, Scope, TaskRecord } from '../../src/core/task.js';
import { createTaskTraces } from '../../src/telemetry/spans.js';

const ANA: Scope = { tenant: '', owner: 'ana' };
const USAGE = { input: 3, output: 2, cached: 0 };

interface Kept {
  readonly id: string;
  readonly owner?: string;
  readonly parent?: string;
  readonly bodies: readonly EventBody[];
}

/** The traces of tasks with these events. */
function tracesOf(...kept: readonly Kept[]) {
  return createTaskTraces({
    tasks: {
      async get({ owner }, id) {
        const task = kept.find((one) => one.id === id && (one.owner ?? 'ana') === owner);
        if (!task) return undefined;
        const record: Partial<TaskRecord> = { ...ANA, owner, id, agent: 'helper', contextId: 'c' };
        const rest: Partial<TaskRecord> = {
          parentTaskId: task.parent,
          grant: { chain: [], depth: 3 },
          createdAt: 0,
        };
        return { ...record, ...rest, head: task.bodies.length } as TaskRecord;
      },
      async read(taskId, after, limit) {
        const { bodies } = kept.find(({ id }) => id === taskId)!;
        return bodies
          .map((body, at) => ({ taskId, seq: at + 1, at: (at + 1) * 10, author: 'helper', body }))
          .slice(after, after + limit);
      },
    },
  });
}

const turnStart = (step: string): EventBody => ({ type: 'turn-start', step });
const turnEnd = (step: string): EventBody => ({
  ...{ type: 'turn-end', step, content: [], stopReason: 'end', usage: USAGE },
});
const delegation = (step: string, taskId: string): readonly EventBody[] => [
  {
    ...{ type: 'delegation-start', step, callId: step, agent: 'peer', request: 'do it' },
    ...{ final: false, key: step },
  },
  { type: 'delegation-task', step, taskId },
];

describe('the spans of a task', () => {
  it('are the same at each reading, and show a call that a crash cut off', async () => {
    const bodies = [turnStart('t1'), turnStart('t1'), turnEnd('t1'), turnStart('t2')];
    const trace = tracesOf({ id: 'a', bodies });
    const { spans } = await trace(ANA, 'a');
    expect(spans.map(({ startedAt, endedAt }) => [startedAt, endedAt])).toEqual([
      [0, undefined],
      [10, 20],
      [20, 30],
      [40, undefined],
    ]);
    expect(spans[1]!.attributes['error.type']).toBe('interrupted');
    expect(spans[2]!.attributes['error.type']).toBeUndefined();
    expect(new Set(spans.map(({ id }) => id)).size).toBe(4);
    expect(await trace(ANA, 'a')).toEqual(await trace(ANA, 'a'));
  });

  it('show when the first text of a model call came, and how long the task waited for a person', async () => {
    const text = (replace: boolean): EventBody => ({
      type: 'text-delta',
      artifactId: 'answer',
      text: 'a',
      replace,
    });
    const asks: EventBody = { type: 'run-end', state: 'input-required', usage: USAGE };
    const done: EventBody = { type: 'run-end', state: 'completed', usage: USAGE };
    const runStart: EventBody = { type: 'run-start', attempt: 2 };
    const bodies = [turnStart('t1'), text(true), text(false), turnEnd('t1'), asks, runStart, done];
    const { spans } = await tracesOf({ id: 'a', bodies })(ANA, 'a');
    expect(spans.map(({ name, startedAt, endedAt }) => [name, startedAt, endedAt])).toEqual([
      ['invoke_agent helper', 0, 70],
      ['chat', 10, 40],
      ['wait_for_person', 50, 60],
    ]);
    expect(spans[1]!.attributes['lango.time_to_first_text']).toBe(0.01);
    const canceled: EventBody = { type: 'run-end', state: 'canceled', usage: USAGE };
    const left = await tracesOf({ id: 'a', bodies: [asks, canceled] })(ANA, 'a');
    expect(left.spans[1]).toMatchObject({ name: 'wait_for_person', endedAt: 20 });
    expect(left.spans[1]!.attributes['error.type']).toBeUndefined();
  });

  it('show the waits of a model call for its next attempts, until the task went on', async () => {
    const waits = (waitMs: number): EventBody => ({
      type: 'activity',
      activity: { type: 'text', text: 'The model is overloaded.', waitMs },
    });
    const bodies = [turnStart('t1'), waits(4), waits(7_000), turnEnd('t1'), turnStart('t2'), waits(9)];
    const { spans } = await tracesOf({ id: 'a', bodies })(ANA, 'a');
    const [, first, one, two, second, last] = spans;
    expect([one, two, last].map((wait) => [wait!.name, wait!.startedAt, wait!.endedAt])).toEqual([
      ['wait_for_retry', 20, 24],
      ['wait_for_retry', 30, 40],
      ['wait_for_retry', 60, 69],
    ]);
    expect([one, two, last].map((wait) => wait!.parent)).toEqual([first!.id, first!.id, second!.id]);
    expect(one!.attributes).not.toHaveProperty('error.type');
    const relayed = await tracesOf({ id: 'a', bodies: [...delegation('d1', 'b'), waits(4)] })(ANA, 'a');
    expect(relayed.spans.map(({ name }) => name)).not.toContain('wait_for_retry');
  });

  it('end with the reason of a failed run', async () => {
    const end: EventBody = { type: 'run-end', state: 'failed', reason: 'limit-cost', usage: USAGE };
    const { spans } = await tracesOf({ id: 'a', bodies: [turnStart('t1'), end] })(ANA, 'a');
    expect(spans.map(({ attributes }) => attributes['error.type'])).toEqual(['limit-cost', 'limit-cost']);
    expect(spans.map(({ endedAt }) => endedAt)).toEqual([20, 20]);
  });

  it('hold the children of a task only, each once, and none of another owner', async () => {
    const trace = tracesOf(
      {
        id: 'a',
        bodies: [
          ...delegation('d1', 'a'),
          ...delegation('d2', 'b'),
          ...delegation('d3', 'x'),
          ...delegation('d4', 'b'),
        ],
      },
      { id: 'b', parent: 'a', bodies: [...delegation('d1', 'a'), ...delegation('d2', 'c')] },
      { id: 'c', parent: 'a', bodies: [turnStart('t1')] },
      { id: 'x', owner: 'bob', parent: 'a', bodies: [turnStart('t1')] },
    );
    const { spans } = await trace(ANA, 'a');
    const [task, , second, , , child, ...below] = spans;
    expect(child).toMatchObject({ kind: 'server', parent: second!.id });
    expect(below.map(({ parent }) => parent)).toEqual([child!.id, child!.id]);
    expect(task).not.toHaveProperty('parent');
    await expect(trace(ANA, 'x')).rejects.toMatchObject({ code: 'not-found' });
  });

  it('are cut when there are too many', async () => {
    const bodies = Array.from({ length: 11_000 }, (_, at) => turnStart(`t${at}`));
    const { spans, isCut } = await tracesOf({ id: 'a', bodies })(ANA, 'a');
    expect([spans.length, isCut]).toEqual([10_000, true]);
  });
});
