import { type AllStores } from '../../lab/all-stores.js';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KnowledgeStore } from '../../src/capabilities/knowledge/stores/knowledge.js';
import { entryOf } from './library-fixtures.js';
import { ALICE, ALICE_ELSEWHERE, BOB } from './task-store-fixtures.js';
import { expectTurnWithin } from './turns.js';

const KEY = { kind: 'knowledge', key: 'deploy-key' } as const;

/** The contract of `KnowledgeStore`, on each database. Each case gets a new storage. */
export function knowledgeStoreSuite(name: string, open: () => Promise<AllStores>): void {
  describe(`knowledge store: ${name}`, () => {
    let storage: AllStores;
    let store: KnowledgeStore;
    beforeEach(async () => {
      storage = await open();
      store = storage.knowledge;
    });
    afterEach(() => storage.close());

    const contents = async (scope = ALICE) =>
      (await store.versions(scope, KEY, 10)).map(({ version, content }) => [version, content]);

    it('adds a version for each save, with its author, content and provenance', async () => {
      const provenance = { source: 'the runbook', fromOutside: true, taskId: 't', contextId: 'c' };
      const first = await store.save(ALICE, entryOf('deploy-key', 'Fridays', { provenance, tags: ['ops'] }));
      expect(first).toMatchObject({ version: 1, key: 'deploy-key', provenance, tags: ['ops'] });
      const second = await store.save(ALICE, entryOf(' Deploy-Key ', 'Mondays', { category: 'ops' }));
      expect(second).toMatchObject({ version: 2, key: 'Deploy-Key', category: 'ops' });
      expect(await contents()).toEqual([
        [2, 'Mondays'],
        [1, 'Fridays'],
      ]);
      expect(await store.get(ALICE, KEY)).toEqual(second);
      expect(await store.versions(ALICE, KEY, 3)).toEqual([second, first]);
    });

    it('adds one version for a repeated call', async () => {
      const entry = entryOf('deploy-key', 'Fridays');
      const first = await store.save(ALICE, entry);
      await store.save(ALICE, entryOf('deploy-key', 'Mondays'));
      expect(await store.save(ALICE, entry)).toEqual(first);
      expect(await contents()).toEqual([
        [2, 'Mondays'],
        [1, 'Fridays'],
      ]);
    });

    it('lists the newest version of each entry, by key', async () => {
      for (const key of ['b', 'a', 'c', 'a']) await store.save(ALICE, entryOf(key, key));
      await store.save(ALICE, entryOf('d', 'd', { kind: 'learning', diagnosis: 'why' }));
      const list = await store.list(ALICE, { kind: 'knowledge', limit: 2 });
      expect(list.map(({ key, version }) => [key, version])).toEqual([
        ['a', 2],
        ['b', 1],
      ]);
      const rest = await store.list(ALICE, { kind: 'knowledge', limit: 2, after: 'b' });
      expect(rest.map(({ key }) => key)).toEqual(['c']);
      expect(await store.list(ALICE, { kind: 'learning', limit: 2 })).toMatchObject([{ diagnosis: 'why' }]);
    });

    it('deletes all versions, and removes them from search', async () => {
      await store.save(ALICE, entryOf('deploy-key', 'Fridays'));
      await store.save(ALICE, entryOf('deploy-key', 'Fridays again'));
      expect(await store.forget(ALICE, KEY)).toBe(2);
      expect(await store.forget(ALICE, KEY)).toBe(0);
      expect(await contents()).toEqual([]);
      expect(await storage.library.findText(ALICE, { text: 'fridays', limit: 5 })).toEqual([]);
      expect((await storage.library.list(ALICE, { limit: 5 })).items).toEqual([]);
    });

    it('deletes a context: the entries whose newest version is from it, and its versions of others', async () => {
      const from = (contextId: string) => ({ provenance: { fromOutside: false, contextId } });
      await store.save(ALICE, entryOf('mine', 'first', from('kept')));
      await store.save(ALICE, entryOf('mine', 'last', from('gone')));
      await store.save(ALICE, entryOf('other', 'first', from('gone')));
      await store.save(ALICE, entryOf('other', 'last', from('kept')));
      await store.save(BOB, entryOf('mine', 'bob', from('gone')));
      expect(await store.forgetContext(ALICE, 'gone')).toBe(3);
      expect(await store.forgetContext(ALICE, 'gone')).toBe(0);
      const list = await store.list(ALICE, { kind: 'knowledge', limit: 5 });
      expect(list.map(({ key, content }) => [key, content])).toEqual([['other', 'last']]);
      expect(await store.versions(ALICE, { kind: 'knowledge', key: 'other' }, 5)).toHaveLength(1);
      expect(await storage.library.findText(ALICE, { text: 'first', limit: 5 })).toEqual([]);
      expect(await store.list(BOB, { kind: 'knowledge', limit: 5 })).toHaveLength(1);
    });

    it('deletes a context of any size, and lets others write meanwhile', async () => {
      const provenance = { fromOutside: false, contextId: 'gone' };
      const saves = Array.from({ length: 130 }, (_, n) => entryOf(`k${n}`, `fridays ${n}`, { provenance }));
      await Promise.all(saves.map((entry) => store.save(ALICE, entry)));
      const forget = () => store.forgetContext(ALICE, 'gone');
      expect(await expectTurnWithin(forget, () => store.save(BOB, entryOf('deploy-key', 'x')))).toBe(130);
      expect(await store.list(ALICE, { kind: 'knowledge', limit: 5 })).toEqual([]);
      expect(await storage.library.findText(ALICE, { text: 'fridays', limit: 5 })).toEqual([]);
    });

    it('keeps owners and tenants apart', async () => {
      const entry = entryOf('deploy-key', 'Fridays');
      await store.save(ALICE, entry);
      for (const other of [BOB, ALICE_ELSEWHERE]) {
        expect(await store.get(other, KEY)).toBeUndefined();
        expect(await store.list(other, { kind: 'knowledge', limit: 5 })).toEqual([]);
        expect(await store.forget(other, KEY)).toBe(0);
        expect((await store.save(other, entry)).version).toBe(1);
      }
      expect(await contents()).toHaveLength(1);
    });

    it('refuses values that no database can hold, and stores nothing', async () => {
      await expect(store.save(ALICE, entryOf('a\0b', 'text'))).rejects.toMatchObject({
        code: 'invalid-input',
      });
      expect(await store.list(ALICE, { kind: 'knowledge', limit: 5 })).toEqual([]);
    });
  });
}
