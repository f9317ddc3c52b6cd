import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { textOf } from '../../src/core/message.js';
import type { Run } from '../../src/core/run.js';
import {
  close,
  closed,
  crash,
  ended,
  journal,
  message,
  open,
  SCOPE,
  seenTimes,
  store,
  until,
} from './journal-under-test.js';

/** The runs of a crashed journal end by their time limit, and keep the test process alive until then. */
const SHORT = { runSeconds: 10 };

/** Longer than the pause between two renewals of leases. */
const RENEWAL_MS = 5_000;

beforeEach(() => {
  jest.useFakeTimers({
    doNotFake: [
      'setTimeout',
      'clearTimeout',
      'setImmediate',
      'clearImmediate',
      'nextTick',
      'Date',
      'performance',
      'queueMicrotask',
      'hrtime',
    ],
  });
});
afterEach(async () => {
  await close();
  jest.useRealTimers();
});

const textOfRun = (run: Run): string => textOf(run.inputs[0]!.message.parts);

describe('a task that is running when its process ends', () => {
  it('does not fail by any number of stops and starts', async () => {
    let isSlow = true;
    await open(async (run) => (isSlow ? until(run.signal) : { state: 'completed' }), SHORT);
    const { task } = await journal.submit(message('go'));
    for (let count = 1; count <= 22; count += 1) {
      await seenTimes(task.id, count);
      await journal.stop();
      isSlow = count < 22;
      await journal.start();
    }
    expect((await ended(task.id)).at(-1)?.body).toMatchObject({ state: 'completed' });
  });

  it('does not fail by 60 crashes of a process that has just started', async () => {
    let isSlow = true;
    await open(async (run) => (isSlow ? until(run.signal) : { state: 'completed' }), SHORT);
    const tasks = [await journal.submit(message('one')), await journal.submit(message('two'))];
    for (let count = 1; count <= 60; count += 1) await crash();
    isSlow = false;
    await renewUntil(() => Promise.all(tasks.map(({ task }) => closed(task.id, 1))));
    for (const { task } of tasks) expect(await closed(task.id, 1)).toMatchObject({ state: 'completed' });
  });

  it('does not fail by the crashes of another task, which fails with the reason', async () => {
    let crashing = Promise.withResolvers<void>();
    await open(async (run) => {
      if (textOfRun(run) === 'crash') {
        crashing.resolve();
        return until(run.signal);
      }
      await delay(100);
      return { state: 'completed' };
    }, SHORT);
    const good = await Promise.all(['one', 'two', 'three'].map((text) => journal.submit(message(text))));
    const bad = await journal.submit(message('crash'));
    let crashes = 0;
    const crashAgain = async (): Promise<void> => {
      for (;;) {
        await crashing.promise;
        crashing = Promise.withResolvers();
        crashes += 1;
        store.noteCrash('an uncaught RangeError');
        await crash();
      }
    };
    void crashAgain();
    await renewUntil(async () => {
      for (const { task } of [...good, bad]) while (!(await endOf(task.id))) await delay(20);
    });
    for (const { task } of good) expect(await endOf(task.id)).toMatchObject({ state: 'completed' });
    const end = await endOf(bad.task.id);
    expect(end).toMatchObject({ state: 'failed' });
    expect(textOf(end!.statusMessage!.parts)).toContain(
      'The server process ended 6 times while it worked on this task, which got no further. The last time: an uncaught RangeError.',
    );
    expect(crashes).toBe(6);
  });

  it('is no longer a suspect once its run has advanced', async () => {
    let attempt = 0;
    const begun = Promise.withResolvers<void>();
    await open(async (run) => {
      attempt += 1;
      if (attempt > 20) return { state: 'completed' };
      await run.append({ type: 'turn-start', step: `t${run.attempt}` });
      if (attempt === 20) begun.resolve();
      return until(run.signal);
    }, SHORT);
    const { task } = await journal.submit(message('go'));
    for (let count = 1; count <= 20; count += 1) {
      await seenTimes(task.id, count);
      while ((await store.get(SCOPE, task.id))!.head < 1 + 2 * count) await delay(5);
      await crash();
    }
    await begun.promise;
    expect((await ended(task.id)).at(-1)?.body).toMatchObject({ state: 'completed' });
  });
});

async function endOf(taskId: string) {
  const task = await store.get(SCOPE, taskId).catch(() => undefined);
  return task && ['completed', 'failed'].includes(task.state) ? task : undefined;
}

/** Lets the leases be renewed again and again, until `done`. */
async function renewUntil(done: () => Promise<unknown>): Promise<void> {
  const renewing = new AbortController();
  const renew = async (): Promise<void> => {
    while (!renewing.signal.aborted) {
      jest.advanceTimersByTime(RENEWAL_MS);
      await delay(150);
    }
  };
  const loop = renew();
  await done();
  renewing.abort();
  await loop;
}
