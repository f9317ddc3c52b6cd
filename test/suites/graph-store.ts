import { type AllStores } from '../../lab/all-stores.js';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { GraphStore, KnownTriple, NewTriple } from '../../src/capabilities/knowledge/stores/graph.js';
import { ALICE, ALICE_ELSEWHERE, BOB } from './task-store-fixtures.js';
import { expectTurnWithin } from './turns.js';

function triple(text: string, source = 'note', fromOutside = false): NewTriple {
  const [subject, predicate, object] = text.split(' | ');
  return { subject: subject!, predicate: predicate!, object: object!, source, fromOutside };
}

const BILLING = triple('checkout | depends on | billing');
const LEDGER = triple('billing | depends on | ledger');
const OWNER = triple('Ada | owns | billing');

/** The contract of `GraphStore`, on each database. Each case gets a new storage. */
export function graphStoreSuite(name: string, open: () => Promise<AllStores>): void {
  describe(`graph store: ${name}`, () => {
    let storage: AllStores;
    let graph: GraphStore;
    beforeEach(async () => {
      storage = await open();
      ({ graph } = storage);
    });
    afterEach(() => storage.close());

    const lines = async (pattern: Parameters<GraphStore['find']>[1], scope = ALICE) =>
      (await graph.find(scope, pattern, 100)).map(
        (one) => `${one.subject} | ${one.predicate} | ${one.object}`,
      );

    it('finds triples by each part, and by any two parts', async () => {
      expect(await graph.add(ALICE, [BILLING, LEDGER, OWNER])).toBe(3);
      expect(await lines({ subject: 'billing' })).toEqual(['billing | depends on | ledger']);
      expect(await lines({ object: 'billing' })).toHaveLength(2);
      expect(await lines({ predicate: 'depends on' })).toHaveLength(2);
      expect(await lines({ predicate: 'depends on', object: 'billing' })).toEqual([
        'checkout | depends on | billing',
      ]);
      expect(await lines({ subject: 'Ada', object: 'billing' })).toEqual(['Ada | owns | billing']);
      expect(await lines({})).toHaveLength(3);
      expect(await lines({ subject: 'nobody' })).toEqual([]);
      expect(await graph.find(ALICE, {}, 2)).toHaveLength(2);
    });

    it('treats spellings of a name as one, and shows the first', async () => {
      await graph.add(ALICE, [triple('Café  Süd | sells | Ｃoffee')]);
      expect(await graph.add(ALICE, [triple('café süd | SELLS | coffee')])).toBe(0);
      expect(await lines({ subject: ' CAFÉ SÜD ' })).toEqual(['Café  Süd | sells | Ｃoffee']);
    });

    it('keeps every source, and the triple until its last source is gone', async () => {
      await graph.add(ALICE, [triple('a | b | c', 'page', true)]);
      expect(await graph.find(ALICE, {}, 1)).toMatchObject([{ sources: ['page'], fromOutside: true }]);
      expect(await graph.add(ALICE, [triple('a | b | c', 'user')])).toBe(1);
      expect(await graph.find(ALICE, {}, 1)).toMatchObject([
        { sources: ['page', 'user'], fromOutside: false },
      ]);
      expect(await graph.removeSource(ALICE, 'page')).toBe(0);
      expect(await graph.removeSource(ALICE, 'user')).toBe(1);
      expect(await lines({})).toEqual([]);
    });

    it('removes matching triples and keeps the rest', async () => {
      await graph.add(ALICE, [BILLING, LEDGER, OWNER]);
      expect(await graph.remove(ALICE, { predicate: 'depends on' })).toBe(2);
      expect(await graph.remove(ALICE, { predicate: 'depends on' })).toBe(0);
      expect(await lines({})).toEqual(['Ada | owns | billing']);
      await graph.add(ALICE, [BILLING]);
      expect(await lines({ object: 'billing' })).toHaveLength(2);
    });

    it('removes the triples that were said in a context, and no others', async () => {
      await graph.add(ALICE, [{ ...BILLING, contextId: 'c1' }, LEDGER, { ...OWNER, contextId: 'c2' }]);
      await graph.add(BOB, [{ ...BILLING, contextId: 'c1' }]);
      expect(await graph.forgetContext(ALICE, 'c1')).toBe(1);
      expect(await graph.forgetContext(ALICE, 'c1')).toBe(0);
      expect(await lines({})).toHaveLength(2);
      expect(await lines({}, BOB)).toHaveLength(1);
    });

    it.each([
      ['everything', () => graph.remove(ALICE, {})],
      ['matching triples', () => graph.remove(ALICE, { object: 'o' })],
      ['a context', () => graph.forgetContext(ALICE, 'c1')],
      ['a source', () => graph.removeSource(ALICE, 'note')],
    ])('removes %s of any size, counts each once, and lets others write meanwhile', async (_, remove) => {
      const many = Array.from({ length: 1_300 }, (_each, n) => ({
        ...triple(`s${n} | p${n % 9} | o`),
        contextId: 'c1',
      }));
      await graph.add(ALICE, many);
      await graph.add(BOB, [BILLING]);
      expect(await expectTurnWithin(remove, () => graph.add(BOB, [LEDGER]))).toBe(1_300);
      expect(await lines({})).toEqual([]);
      expect(await lines({}, BOB)).toHaveLength(2);
    });

    it('lists all triples page by page, each once', async () => {
      const many = Array.from({ length: 25 }, (_, n) => triple(`s${n % 3} x | has | o${n}`));
      await graph.add(ALICE, [...many, triple('s1 x | has | o1', 'another')]);
      await graph.add(BOB, [BILLING]);
      const listed: string[] = [];
      for (let after: string | undefined = ''; after !== undefined;) {
        const page: Awaited<ReturnType<GraphStore['list']>> = await graph.list(ALICE, after, 10);
        listed.push(...page.items.map(({ subject, object }) => `${subject} ${object}`));
        after = page.next;
      }
      expect(listed).toHaveLength(25);
      expect(new Set(listed).size).toBe(25);
      await expect(graph.list(ALICE, 'nowhere', 10)).rejects.toMatchObject({ code: 'invalid-input' });
    });

    it('lists a triple with more sources than a page holds in several items, each source once', async () => {
      const sources = Array.from({ length: 25 }, (_, n) => `source ${n}`);
      for (const source of sources) await graph.add(ALICE, [triple('api | uses | redis', source)]);
      await graph.add(ALICE, [triple('web | uses | api', 'source 3')]);
      const items: KnownTriple[] = [];
      for (let after: string | undefined = ''; after !== undefined;) {
        const page: Awaited<ReturnType<GraphStore['list']>> = await graph.list(ALICE, after, 10);
        expect(page.items.flatMap((item) => item.sources).length).toBeLessThanOrEqual(10);
        items.push(...page.items);
        after = page.next;
      }
      const told = items.filter(({ subject }) => subject === 'api').flatMap((item) => item.sources);
      expect(told.toSorted()).toEqual(sources.toSorted());
      expect(items.at(-1)).toMatchObject({ subject: 'web', object: 'api', sources: ['source 3'] });
    });

    it('returns the edges of a node by direction and predicate, within the limit', async () => {
      await graph.add(ALICE, [BILLING, LEDGER, OWNER, triple('billing | depends on | billing')]);
      const edges = async (direction: 'in' | 'out' | 'both', predicates?: readonly string[], limit = 10) =>
        (await graph.edges(ALICE, 'billing', { direction, predicates, limit })).length;
      expect(await edges('out')).toBe(2);
      expect(await edges('in')).toBe(3);
      expect(await edges('both')).toBe(5);
      expect(await edges('in', ['owns'])).toBe(1);
      expect(await edges('in', ['hates'])).toBe(0);
      expect(await edges('in', undefined, 1)).toBe(1);
      expect(
        await graph.edges(ALICE, 'nobody', { direction: 'both', predicates: undefined, limit: 9 }),
      ).toEqual([]);
    });

    it('keeps the triples of each owner apart', async () => {
      await graph.add(ALICE, [BILLING]);
      for (const other of [BOB, ALICE_ELSEWHERE]) {
        expect(await lines({}, other)).toEqual([]);
        expect(await lines({ object: 'billing' }, other)).toEqual([]);
        expect(await graph.remove(other, {})).toBe(0);
        expect(await graph.removeSource(other, 'note')).toBe(0);
      }
      await graph.add(BOB, [BILLING]);
      expect(await graph.remove(ALICE, {})).toBe(1);
      expect(await lines({}, BOB)).toHaveLength(1);
    });

    it('throws a typed error after it was closed', async () => {
      await storage.close();
      await expect(graph.add(ALICE, [BILLING])).rejects.toMatchObject({ code: 'storage' });
      await expect(graph.find(ALICE, {}, 1)).rejects.toMatchObject({ code: 'storage' });
    });
  });
}
