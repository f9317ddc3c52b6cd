import { describe, expect, it } from '@jest/globals';
import { NO_USAGE } from '../../src/core/model.js';
import type { NewEvent } from '../../src/core/task.js';
import type { StoreUnderTest } from './task-store-fixtures.js';
import {
  acceptOne,
  AGENT,
  fenceOf,
  newInput,
  readAll,
  reload,
  RUN_START,
  taskOf,
  typesOf,
} from './task-store-fixtures.js';

const HOUR_MS = 3_600_000;

/** The end of a run that waits for a person, with a question for each of these times. */
function waiting(...times: readonly (number | undefined)[]): NewEvent {
  const questions = times.map((expiresAt, index) => ({
    ...({ hash: `h${index}`, kind: 'approval', text: 'May I?', author: AGENT } as const),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  }));
  return { author: AGENT, body: { type: 'run-end', state: 'input-required', questions, usage: NO_USAGE } };
}

export function expiryCases(get: () => StoreUnderTest): void {
  const claimIds = async (...named: readonly string[]) => {
    const agents = named.length > 0 ? named : [AGENT];
    const waits = await get().store.waits(agents);
    const claimed = (await get().store.claim('worker', agents, () => 10)).map(({ id }) => id);
    expect(waits).toBe(claimed.length > 0);
    return claimed;
  };

  /** A task that waits with these questions. The times are by the store's clock. */
  async function waitingTask(...after: readonly (number | undefined)[]) {
    const { store } = get();
    const task = await acceptOne(store, { lease: 'worker' });
    const now = (await reload(store, task)).statusAt;
    const times = after.map((ms) => (ms === undefined ? undefined : now + ms));
    await store.append(fenceOf(task), [RUN_START, waiting(...times)]);
    return task;
  }

  describe('an expired question', () => {
    it('makes its task runnable at its time, once, with an event that says so', async () => {
      const { store, advance } = get();
      const task = await waitingTask(2 * HOUR_MS, HOUR_MS, undefined);
      await advance(HOUR_MS - 60_000);
      expect(await claimIds()).toEqual([]);
      expect((await reload(store, task)).state).toBe('input-required');
      await advance(120_000);
      expect(await claimIds('another')).toEqual([]);
      expect(await claimIds()).toEqual([task.id]);
      expect(await claimIds()).toEqual([]);
      expect(await reload(store, task)).toMatchObject({
        state: 'submitted',
        statusMessage: undefined,
        head: 4,
      });
      expect((await readAll(store, task)).at(-1)!.body).toEqual({ type: 'question-expiry' });
    });

    it('has no effect once it was replied to, or its task has ended', async () => {
      const { store, advance } = get();
      const answered = await waitingTask(HOUR_MS);
      const again = taskOf(await store.addInput(newInput(answered, { lease: 'worker' })));
      const canceled = await waitingTask(HOUR_MS);
      await store.requestCancel(canceled, canceled.id);
      await store.append(fenceOf(again), [RUN_START, waiting(undefined)]);
      await advance(2 * HOUR_MS);
      expect(await claimIds()).toEqual([]);
      expect(await typesOf(store, answered)).not.toContain('question-expiry');
      expect(await typesOf(store, canceled)).toEqual(['message', 'run-start', 'run-end', 'run-end']);
    });

    it('leaves its task waiting for a free slot as other tasks do', async () => {
      const { store, advance } = get();
      const task = await waitingTask(HOUR_MS);
      await advance(2 * HOUR_MS);
      expect(await store.claim('worker', [AGENT], () => 0)).toEqual([]);
      expect((await reload(store, task)).state).toBe('submitted');
      expect(await claimIds()).toEqual([task.id]);
      expect(await typesOf(store, task)).toEqual(['message', 'run-start', 'run-end', 'question-expiry']);
    });
  });
}
