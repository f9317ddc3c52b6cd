import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { EXPORT_LEASE_MS, TRACE_AFTER_MS, type TraceStore } from '../../src/stores/traces.js';
import type { OpenStore, StoreUnderTest } from './task-store-fixtures.js';
import { BOB, RUN_START, acceptOne, delta, fenceOf, runEnd } from './task-store-fixtures.js';

/** The contract of every store of the export state of spans. */
export function traceStoreSuite(name: string, open: OpenStore): void {
  describe(`trace store: ${name}`, () => {
    let under: StoreUnderTest;
    let store: TraceStore;
    const due = async (limit = 10) => (await store.listDue(limit)).map(({ id, exported }) => [id, exported]);

    beforeEach(async () => {
      under = await open();
      store = under.storage.traces;
    });
    afterEach(async () => {
      await under.storage.close();
      await under.dispose();
    });

    it('lists ended tasks of all owners once, in the order of their creation', async () => {
      const [first, open, last] = [
        await acceptOne(under.store),
        await acceptOne(under.store),
        await acceptOne(under.store, { scope: BOB }),
      ];
      await under.store.append(fenceOf(last), [RUN_START, runEnd('completed')]);
      await under.store.requestCancel(first, first.id);
      expect(await due(1)).toEqual([[first.id, 0]]);
      expect(await due()).toEqual([
        [first.id, 0],
        [last.id, 0],
      ]);
      await store.noteExported(await store.listDue(1));
      expect(await due()).toEqual([[last.id, 0]]);
      await store.noteExported(await store.listDue(9));
      await under.store.append(fenceOf(open), [RUN_START, runEnd('failed')]);
      expect(await due()).toEqual([[open.id, 0]]);
    });

    it('lists a long-running task each time it has grown by a quarter, and at its end', async () => {
      const task = await acceptOne(under.store);
      await under.store.append(fenceOf(task), [RUN_START, delta('a'), delta('b')]);
      expect(await due()).toEqual([]);
      await under.advance(TRACE_AFTER_MS);
      expect(await due()).toEqual([[task.id, 0]]);
      const [listed] = await store.listDue(1);
      await under.store.append(fenceOf(task), [delta('c')]);
      await store.noteExported([listed!]);
      expect(await due()).toEqual([[task.id, 4]]);
      await store.noteExported(await store.listDue(1));
      await under.store.append(fenceOf(task), [delta('d')]);
      expect(await due()).toEqual([]);
      await under.store.append(fenceOf(task), [runEnd('completed')]);
      expect(await due()).toEqual([[task.id, 5]]);
      await store.noteExported(await store.listDue(1));
      expect(await due()).toEqual([]);
    });

    it('lets a worker export again, and another one only after its time is over', async () => {
      expect([await store.claim('one'), await store.claim('one')]).toEqual([true, true]);
      await under.advance(EXPORT_LEASE_MS);
      expect(await store.claim('two')).toBe(true);
      await store.release('two');
      expect(await store.claim('one')).toBe(true);
    });
  });
}
