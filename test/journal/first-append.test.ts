import { afterEach, describe, expect, it } from '@jest/globals';
import { textPart } from '../../src/core/message.js';
import { FirstAppend } from '../../src/journal/run-appends.js';
import { newTask } from '../suites/task-store-fixtures.js';
import { close, ended, journal, message, open, SCOPE, store, until } from './journal-under-test.js';

afterEach(close);

describe('a message of a new task', () => {
  it('is stored together with the events of its run in the same turn', async () => {
    await open(async (run) => {
      run.emit({ type: 'text-delta', artifactId: 'answer', text: 'done', replace: true });
      return { state: 'completed' };
    });
    const told: string[] = [];
    store.onAppend((taskId) => void told.push(taskId));
    const { task, seq } = await journal.submit(message('go'));
    expect(await store.get(SCOPE, task.id)).toMatchObject({ state: 'completed', head: 4 });
    expect({ seq, state: task.state, told }).toEqual({ seq: 1, state: 'submitted', told: [task.id] });
  });

  it('begins one run, also when it is sent again', async () => {
    const runs: string[] = [];
    await open(async (run) => {
      runs.push(run.task.id);
      return { state: 'completed' };
    });
    const sent = message('go');
    const accepted = await Promise.all(Array.from({ length: 20 }, () => journal.submit(sent)));
    accepted.push(await journal.submit(sent));
    await journal.stop();
    await journal.start();
    accepted.push(await journal.submit(sent));
    expect(new Set(accepted.map(({ task }) => task.id))).toEqual(new Set(runs));
    expect(runs).toHaveLength(1);
  });

  it('is stored alone when its run cannot be stored, and the task fails', async () => {
    await open(async (run) => {
      run.emit({ type: 'activity', activity: { type: 'text', text: 'x'.repeat(1_200_000) } });
      return { state: 'completed' };
    });
    const { task } = await journal.submit(message('go'));
    const events = (await ended(task.id)).map(({ body }) => body);
    expect(events).toMatchObject([
      { type: 'message' },
      { type: 'run-end', state: 'failed', reason: 'too-large' },
    ]);
  });

  it('keeps its lease while its run comes to its end, when it was stored alone', async () => {
    await open(async () => ({ state: 'completed' }));
    const first = new FirstAppend(store, newTask(), 'worker');
    const activity = { type: 'text', text: 'x'.repeat(1_200_000) } as const;
    const written = first.append([{ author: 'echo', body: { type: 'activity', activity } }]);
    await expect(written).rejects.toMatchObject({ code: 'too-large' });
    expect(await first.outcome).toMatchObject({ kind: 'accepted', leased: true });
    // The worker renews the leases of the runs whose tasks are stored.
    expect(first.isStored).toBe(true);
  });

  it('is refused when it is too large itself, and its run leaves nothing', async () => {
    await open(async () => ({ state: 'completed' }));
    const large = message('x'.repeat(1_200_000));
    await expect(journal.submit(large)).rejects.toMatchObject({ code: 'too-large' });
    const page = await journal.list(SCOPE, { agent: 'echo', pageSize: 5 });
    expect(page.totalSize).toBe(0);
    expect(
      await journal.submit({ ...large, message: { ...large.message, parts: [textPart('go')] } }),
    ).toMatchObject({ repeated: false });
  });

  it('sees earlier messages of its context before its own task is stored', async () => {
    const counts: number[] = [];
    await open(async (run) => {
      counts.push((await run.history(100)).filter(({ body }) => body.type === 'message').length);
      return { state: 'completed' };
    });
    const { task } = await journal.submit(message('one'));
    await ended(task.id);
    const second = await journal.submit({ ...message('two'), contextId: task.contextId });
    await ended(second.task.id);
    expect(counts).toEqual([0, 1]);
  });

  it('is stored for the next start when the server is stopping', async () => {
    const attempts: number[] = [];
    const begun = Promise.withResolvers<void>();
    await open(async (run) => {
      attempts.push(run.attempt);
      begun.resolve();
      return attempts.length === 1 ? until(run.signal) : { state: 'completed' };
    });
    const submitted = journal.submit(message('go'));
    await begun.promise; // The commit comes in the next turn of the event loop.
    await journal.stop();
    const { task } = await submitted;
    await journal.start();
    expect((await ended(task.id)).at(-1)?.body).toMatchObject({ state: 'completed' });
    expect(attempts).toHaveLength(2);
  });
});
