import { type AllStores } from '../../lab/all-stores.js';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ExtractionStore, UnreadDocument } from '../../src/capabilities/knowledge/stores/extraction.js';
import { MAX_EXTRACTION_ATTEMPTS } from '../../src/capabilities/knowledge/stores/extraction.js';
import { documentOf, entryOf } from './library-fixtures.js';
import { ALICE, BOB } from './task-store-fixtures.js';

const KNOWLEDGE = { only: ['knowledge'] };
const ROTATES = { subject: 'deploy key', predicate: 'rotates on', object: 'Fridays' };
const KEY = { kind: 'knowledge', key: 'deploy-key' } as const;

/** The contract of `ExtractionStore`, on each database. Each case gets a new storage. */
export function extractionStoreSuite(name: string, open: () => Promise<AllStores>): void {
  describe(`extraction store: ${name}`, () => {
    let storage: AllStores;
    let extraction: ExtractionStore;
    beforeEach(async () => {
      storage = await open();
      ({ extraction } = storage);
    });
    afterEach(() => storage.close());

    const save = (content: string, scope = ALICE) =>
      storage.knowledge.save(scope, entryOf('deploy-key', content));
    const next = async (): Promise<UnreadDocument> => {
      const unread = await extraction.next(KNOWLEDGE, 1_000);
      if (!unread) throw new Error('nothing is left to read');
      return unread;
    };
    const known = (scope = ALICE) => storage.graph.find(scope, {}, 10);

    it('offers saved entries of every owner, and passages of the selected collections, until they were read', async () => {
      await save('Fridays');
      await save('Mondays', BOB);
      await storage.library.put(ALICE, documentOf('guide', 'text'));
      const first = await next();
      expect(first).toMatchObject({ ...ALICE, name: 'deploy-key', text: 'Fridays' });
      expect(await extraction.done(first, [])).toBe(true);
      const second = await next();
      expect(second).toMatchObject({ ...BOB, text: 'Mondays' });
      await extraction.done(second, []);
      expect(await extraction.next(KNOWLEDGE, 1_000)).toBeUndefined();
      expect(await extraction.next({ except: ['knowledge'] }, 1_000)).toMatchObject({ name: 'guide' });
    });

    it('keeps triples with the version of their entry, for its owner alone', async () => {
      await save('Fridays');
      await extraction.done(await next(), [ROTATES]);
      expect(await known()).toMatchObject([{ ...ROTATES, sources: ['knowledge "deploy-key" version 1'] }]);
      expect(await known(BOB)).toEqual([]);
    });

    it('removes the triples of an older version when a new one is saved, and no others', async () => {
      await save('Fridays');
      await extraction.done(await next(), [ROTATES]);
      await storage.graph.add(ALICE, [{ ...ROTATES, object: 'demand', source: 'me', fromOutside: false }]);
      await save('Mondays');
      expect(await known()).toMatchObject([{ object: 'demand' }]);
      await extraction.done(await next(), [{ ...ROTATES, object: 'Mondays' }]);
      expect((await known()).map(({ object }) => object).sort()).toEqual(['Mondays', 'demand']);
    });

    it('keeps nothing of a version that was replaced or deleted during the extraction', async () => {
      await save('Fridays');
      const old = await next();
      await save('Mondays');
      expect(await extraction.done(old, [ROTATES])).toBe(false);
      const newer = await next();
      await storage.knowledge.forget(ALICE, KEY);
      expect(await extraction.done(newer, [ROTATES])).toBe(false);
      expect(await known()).toEqual([]);
      expect(await extraction.next(KNOWLEDGE, 1_000)).toBeUndefined();
    });

    it('removes the triples with a deleted entry and a removed document', async () => {
      await save('Fridays');
      await extraction.done(await next(), [ROTATES]);
      const byHand = { ...ROTATES, predicate: 'is', fromOutside: false };
      await storage.graph.add(ALICE, [{ ...byHand, source: 'knowledge deploy-key' }]);
      await storage.library.put(ALICE, documentOf('guide', 'text'));
      const document = await extraction.next({ except: ['knowledge'] }, 1_000);
      await extraction.done(document!, [{ ...ROTATES, predicate: 'stands in' }]);
      expect(await known()).toHaveLength(3);
      await storage.knowledge.forget(ALICE, KEY);
      expect(await known()).toMatchObject([{ predicate: 'stands in', fromOutside: true }]);
      await storage.library.remove(ALICE, 'documents');
      expect(await known()).toEqual([]);
    });

    it('offers a failed entry again, a limited number of times', async () => {
      await save('Fridays');
      for (let time = 0; time < MAX_EXTRACTION_ATTEMPTS; time += 1) await extraction.failed(await next());
      expect(await extraction.next(KNOWLEDGE, 1_000)).toBeUndefined();
    });

    it('returns as many passages as fit', async () => {
      const passage = (text: string, start: number) => ({
        text,
        start,
        end: start + text.length,
        lines: undefined,
        heading: [],
      });
      const passages = [passage('aaaa', 0), passage('bbbb', 6), passage('cccc', 12)];
      await storage.knowledge.save(ALICE, entryOf('long', 'x', { passages }));
      expect((await extraction.next(KNOWLEDGE, 9))?.text).toBe('aaaa\n\nbbbb');
    });
  });
}
