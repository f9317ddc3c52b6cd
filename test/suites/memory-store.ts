import { type AllStores } from '../../lab/all-stores.js';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { MemoryStore, NewObservation, Observation } from '../../src/capabilities/memory/memory-store.js';
import { ALICE, ALICE_ELSEWHERE, BOB } from './task-store-fixtures.js';
import { expectTurnWithin } from './turns.js';

const AGENT = 'lango-orchestrator';

function noted(text: string, at = 1): NewObservation {
  return { text, at, tasks: ['t1', 't2'], by: 'rules', fromOutside: false };
}

function batch(upTo: string, observations: readonly NewObservation[], after?: string) {
  return { agent: AGENT, contextId: 'c1', after, upTo, observations };
}

/** The contract of `MemoryStore`, on each database. Each case gets a new storage. */
export function memoryStoreSuite(name: string, open: () => Promise<AllStores>): void {
  describe(`memory store: ${name}`, () => {
    let storage: AllStores;
    let memory: MemoryStore;
    beforeEach(async () => {
      storage = await open();
      ({ memory } = storage);
    });
    afterEach(() => storage.close());

    const texts = async (query: Parameters<MemoryStore['observations']>[1], scope = ALICE) =>
      (await memory.observations(scope, query)).map(({ text }) => text);
    const ids = async () => (await memory.observations(ALICE, { limit: 99 })).map(({ id }) => id);

    it('keeps observations with the position that they cover, newest first', async () => {
      expect(await memory.observedUpTo(ALICE, AGENT, 'c1')).toBeUndefined();
      expect(await memory.observe(ALICE, batch('t2', [noted('one', 1), noted('two', 2)]))).toBe(true);
      expect(await memory.observedUpTo(ALICE, AGENT, 'c1')).toBe('t2');
      expect(await memory.observe(ALICE, batch('t4', [noted('three', 3)], 't2'))).toBe(true);
      expect(await texts({ limit: 2 })).toEqual(['three', 'two']);
      const [newest] = await memory.observations(ALICE, { limit: 1 });
      expect(newest).toMatchObject({
        agent: AGENT,
        contextId: 'c1',
        at: 3,
        tasks: ['t1', 't2'],
        by: 'rules',
        fromOutside: false,
      });
    });

    it('writes nothing when the same messages were observed meanwhile', async () => {
      await memory.observe(ALICE, batch('t2', [noted('one')]));
      expect(await memory.observe(ALICE, batch('t3', [noted('again')]))).toBe(false);
      expect(await memory.observe(ALICE, batch('t3', [noted('again')], 't1'))).toBe(false);
      expect(await texts({ limit: 9 })).toEqual(['one']);
      expect(await memory.observedUpTo(ALICE, AGENT, 'c1')).toBe('t2');
    });

    it('records one observation for a repeated call', async () => {
      const one: Observation = { ...noted('seen'), id: 'key', agent: 'chronicler', contextId: 'c1' };
      await memory.record(ALICE, one);
      await memory.record(ALICE, { ...one, text: 'changed' });
      expect(await texts({ limit: 9 })).toEqual(['seen']);
    });

    it('condenses observations once', async () => {
      await memory.observe(ALICE, batch('t2', [noted('one', 1), noted('two', 2), noted('three', 3)]));
      const [three, two, one] = await ids();
      const reflection = { text: 'both', from: 1, to: 2, by: 'rules', fromOutside: true };
      expect(await memory.reflect(ALICE, reflection, [one!, two!])).toBe(true);
      expect(await texts({ open: true, limit: 9 })).toEqual(['three']);
      expect(await texts({ limit: 9 })).toHaveLength(3);
      expect(await memory.reflect(ALICE, reflection, [two!, three!])).toBe(false);
      expect(await memory.reflections(ALICE, 9)).toMatchObject([reflection]);
      expect(await texts({ open: true, limit: 9 })).toEqual(['three']);
    });

    it('returns page by page the entries before a position', async () => {
      await memory.observe(
        ALICE,
        batch(
          't2',
          [1, 1, 2, 2, 3].map((at) => noted(`at ${at}`, at)),
        ),
      );
      const seen: string[] = [];
      for (let before: Observation | undefined; ;) {
        const page = await memory.observations(ALICE, { limit: 2, ...(before ? { before } : {}) });
        if (page.length === 0) break;
        seen.push(...page.map(({ id }) => id));
        before = page.at(-1);
      }
      expect(seen).toEqual(await ids());
      const [oldest] = seen.slice(-1);
      await memory.reflect(ALICE, { text: 'r', from: 1, to: 1, by: 'rules', fromOutside: false }, [oldest!]);
      const [reflection] = await memory.reflections(ALICE, 9);
      expect(await memory.reflections(ALICE, 9, { at: 1, id: reflection!.id })).toEqual([]);
      expect(await memory.reflections(ALICE, 9, { at: 2, id: '' })).toHaveLength(1);
    });

    it('deletes a context with everything derived from it, and reopens the notes of other contexts that were condensed with it', async () => {
      await memory.observe(ALICE, batch('t2', [noted('here')]));
      await memory.observe(ALICE, { ...batch('t2', [noted('there', 2)]), contextId: 'c2' });
      await memory.reflect(
        ALICE,
        { text: 'here and there', from: 1, to: 2, by: 'rules', fromOutside: false },
        await ids(),
      );
      expect(await texts({ open: true, limit: 9 })).toEqual([]);
      expect(await memory.forgetContext(ALICE, 'c1')).toBe(2);
      expect(await memory.reflections(ALICE, 9)).toEqual([]);
      expect(await texts({ open: true, limit: 9 })).toEqual(['there']);
      expect(await memory.observedUpTo(ALICE, AGENT, 'c1')).toBeUndefined();
      expect(await memory.observedUpTo(ALICE, AGENT, 'c2')).toBe('t2');
    });

    it.each([
      ['a context', () => memory.forgetContext(ALICE, 'c1')],
      ['everything', () => memory.forgetAll(ALICE)],
    ])('deletes %s of any size, and lets others write meanwhile', async (_, forget) => {
      const many = Array.from({ length: 650 }, (_each, n) => noted(`note ${n}`, n));
      await memory.observe(ALICE, batch('t2', many));
      const reflection = { text: 'all', from: 1, to: 1, by: 'rules', fromOutside: false };
      await memory.reflect(ALICE, reflection, await ids());
      await memory.observe(BOB, batch('t2', [noted('mine')]));
      const other = () => memory.observe(BOB, batch('t4', [noted('mine too')], 't2'));
      expect(await expectTurnWithin(forget, other)).toBe(651);
      expect(await ids()).toEqual([]);
      expect(await memory.reflections(ALICE, 9)).toEqual([]);
      expect(await memory.observedUpTo(ALICE, AGENT, 'c1')).toBeUndefined();
      expect(await texts({ limit: 9 }, BOB)).toHaveLength(2);
    });

    it('keeps the entries of each owner apart', async () => {
      await memory.observe(ALICE, batch('t2', [noted('mine')]));
      await memory.reflect(
        ALICE,
        { text: 'mine too', from: 1, to: 1, by: 'rules', fromOutside: false },
        await ids(),
      );
      for (const other of [BOB, ALICE_ELSEWHERE]) {
        expect(await texts({ limit: 9 }, other)).toEqual([]);
        expect(await texts({ contextId: 'c1', limit: 9 }, other)).toEqual([]);
        expect(await memory.reflections(other, 9)).toEqual([]);
        expect(await memory.observedUpTo(other, AGENT, 'c1')).toBeUndefined();
        expect(
          await memory.reflect(
            other,
            { text: 'x', from: 1, to: 1, by: 'rules', fromOutside: false },
            await ids(),
          ),
        ).toBe(false);
        expect(await memory.forgetContext(other, 'c1')).toBe(0);
        expect(await memory.forgetAll(other)).toBe(0);
      }
      expect(await memory.forgetAll(ALICE)).toBe(2);
      expect(await texts({ limit: 9 })).toEqual([]);
    });
  });
}
