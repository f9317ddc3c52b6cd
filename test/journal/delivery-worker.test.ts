import { describe, expect, it } from '@jest/globals';
import { LangoError } from '../../src/core/errors.js';
import { silentLogger } from '../../src/core/logger.js';
import type { PushDelivery } from '../../src/core/push.js';
import type { PushOutcome, PushStore } from '../../src/stores/pushes.js';
import type { EventBody, TaskEvent } from '../../src/core/task.js';
import { DeliveryWorker } from '../../src/journal/delivery-worker.js';
import { DeliveryQueue, nextDelivery } from '../../src/journal/delivery-queue.js';

const HOUR_MS = 3_600_000;
const LIMITS = { tries: 8, retryMs: 5_000, maxRetryMs: 300_000, textMs: 0, concurrent: 4, perHost: 4 };

function eventOf(seq: number, body: EventBody, author = 'worker'): TaskEvent {
  return { taskId: 't', seq, at: 0, author, body };
}

/** The outcome of a delivery that fails with `error` after so many earlier failures. */
async function outcomeOf(error: unknown, attempts = 0): Promise<PushOutcome> {
  const work = {
    ...{ key: 'k', id: 'c', taskId: 't', agent: 'worker', contextId: 'x', url: 'http://receiver.test/' },
    ...{ trace: undefined, cursor: 0, upTo: 1, attempts, nextAt: 0 },
  } as unknown as PushDelivery;
  let settle: (outcome: PushOutcome) => void;
  const outcome = new Promise<PushOutcome>((resolve) => (settle = resolve));
  const pushes: Partial<PushStore> = {
    listActive: async () => [work],
    onFreed: () => undefined,
    getActive: async () => work,
    claim: async () => true,
    settle: async (_key, _worker, settled) => settle(settled),
    release: async () => {},
  };
  const worker = new DeliveryWorker({
    pushes: pushes as PushStore,
    tasks: { onAppend: () => () => {}, read: async () => [eventOf(1, { type: 'run-start', attempt: 1 })] },
    sender: {
      shown: (_work, events) => events,
      send: async () => {
        throw error;
      },
    },
    limits: LIMITS,
    logger: silentLogger,
  });
  await worker.start();
  const settled = await outcome;
  await worker.stop();
  return settled;
}

const busy = (retryAfterMs?: number) =>
  new LangoError('unavailable', 'busy', { retryable: true, ...(retryAfterMs ? { retryAfterMs } : {}) });

async function pauseAfter(error: unknown, attempts?: number): Promise<number> {
  const outcome = await outcomeOf(error, attempts);
  if (outcome.kind !== 'failed') throw new Error(`it was ${outcome.kind}`);
  return outcome.nextAt - Date.now();
}

describe('a delivery that fails', () => {
  it('is retried with a doubling pause, up to the longest one', async () => {
    expect(await pauseAfter(busy(), 1)).toBeGreaterThan(9_000);
    expect(await pauseAfter(busy(), 6)).toBeGreaterThan(299_000);
    expect(await pauseAfter(busy(), 6)).toBeLessThan(361_000);
  });

  it('waits as long as the receiver asks, an hour at most', async () => {
    expect(await pauseAfter(busy(HOUR_MS / 2))).toBeGreaterThan(HOUR_MS / 2 - 60_000);
    expect(await pauseAfter(busy(365 * 24 * HOUR_MS))).toBeLessThanOrEqual(HOUR_MS);
  });

  it('is given up at once when a retry makes no sense', async () => {
    const refused = new LangoError('forbidden', 'a private address');
    expect(await outcomeOf(refused)).toEqual({ kind: 'given-up', reason: 'a private address' });
  });
});

describe('the text of a delivery', () => {
  const text = (
    seq: number,
    said: string,
    { author = 'worker', ...change }: { author?: string } & object = {},
  ) => eventOf(seq, { type: 'text-delta', artifactId: 'a', text: said, replace: false, ...change }, author);
  const joined = (...events: readonly TaskEvent[]) => nextDelivery(events)?.event;

  it('is joined for one author and one artifact, up to the next beginning', () => {
    expect(joined(text(1, 'a'), text(2, 'b'))).toMatchObject({ seq: 2, body: { text: 'ab' } });
    for (const other of [
      text(2, 'b', { author: 'other' }),
      text(2, 'b', { artifactId: 'b' } as object),
      text(2, 'b', { replace: true } as object),
    ])
      expect(joined(text(1, 'a'), other)).toMatchObject({ seq: 1, body: { text: 'a' } });
  });

  it('has 64 Ki characters at most', () => {
    const half = 'x'.repeat(40_000);
    expect(joined(text(1, half), text(2, half))).toMatchObject({ seq: 1, body: { text: half } });
  });
});

describe('the slots of deliveries', () => {
  it('are limited in total, and for one host', () => {
    const queue = new DeliveryQueue(3, 2);
    const entries = ['a', 'a', 'a', 'b', 'c'].map((host, n) => ({ key: `${n}`, taskId: 't', host }));
    for (const entry of entries) queue.add(entry);
    const taken = [1, 2, 3, 4].map(() => queue.take()?.key);
    expect(taken).toEqual(['0', '1', '3', undefined]);
    queue.done(entries[0]!);
    expect(queue.take()?.key).toBe('2');
  });
});
