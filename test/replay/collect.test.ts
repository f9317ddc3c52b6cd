import { expect, it } from '@jest/globals';
import { gatherTask } from '../../src/replay/collect.js';
import type { TaskPage } from '../../src/replay/task-file.js';

/** The limits of what one export reads of other nodes. */

const event = (body: object) => ({ seq: 1, at: 0, body });
const delegation = [
  event({ type: 'delegation-start', step: 't1.c0', agent: 'painter' }),
  event({ type: 'delegation-task', step: 't1.c0', taskId: 'endless' }),
];
const thousands = Array.from({ length: 50_000 }, () => event({ type: 'run-start' }));

/** Exports a task of nodes which have a task of two events, and one that never ends. */
const exported = (taskId: string) =>
  gatherTask(taskId, {
    async readPage({ taskId: id, after }) {
      const isShort = id === 'short';
      const events = isShort ? delegation : thousands;
      const task = { id, agent: 'operator', parentTaskId: 'short', events };
      return { task, ...(!isShort && { next: after + events.length }) } as unknown as TaskPage;
    },
    readCard: async () => ({}),
  });

it('names a task below that has more than a million events, and leaves it out', async () => {
  const { tasks, elsewhere } = await exported('short');
  expect(tasks.map(({ id }) => id)).toEqual(['short']);
  expect(elsewhere).toEqual([{ taskId: 'endless', agent: 'painter', parentTaskId: 'short' }]);
});

it('refuses to export a task that has more than a million events itself, and names no command for it', async () => {
  const message = expect.stringContaining('has more than 1000000 events');
  await expect(exported('endless')).rejects.toMatchObject({ code: 'too-large', message, hint: undefined });
});
