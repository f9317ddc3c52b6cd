import { type AllStores } from '../../lab/all-stores.js';
import { describe, expect, it } from '@jest/globals';
import type { MasterRecord, NewSealedEntry } from '../../src/capabilities/secrets/vault/vault-store.js';

const ALICE = { tenant: '', owner: 'alice' };
const BOB = { tenant: '', owner: 'bob' };
const MASTER: MasterRecord = { id: 'a'.repeat(32), source: { kind: 'file' } };
const NEXT: MasterRecord = {
  id: 'b'.repeat(32),
  source: { kind: 'passphrase', salt: 'c2FsdA', cost: 1024 },
};

function entry(name: string, version = 1, changes: Partial<NewSealedEntry> = {}): NewSealedEntry {
  return { kind: 'secret', name, version, metadata: { a: 1 }, sealed: Buffer.from(name), ...changes };
}

/** The contract of every implementation of `VaultStore`. */
export function vaultStoreSuite(name: string, open: () => AllStores | Promise<AllStores>): void {
  describe(`${name} as a vault store`, () => {
    const withStore = async (use: (store: AllStores['vault']) => Promise<void>): Promise<void> => {
      const storage = await open();
      try {
        await use(storage.vault);
      } finally {
        await storage.close();
      }
    };

    it('keeps one master record', () =>
      withStore(async (store) => {
        expect(await store.master()).toBeUndefined();
        await store.createMaster(MASTER);
        expect(await store.master()).toEqual(MASTER);
        await expect(store.createMaster(NEXT)).rejects.toMatchObject({ code: 'conflict' });
        expect(await store.master()).toEqual(MASTER);
      }));

    it('keeps the first data key of an owner', () =>
      withStore(async (store) => {
        const first = Buffer.from('first');
        expect(await store.dataKey(ALICE)).toBeUndefined();
        expect(Buffer.from(await store.addDataKey({ ...ALICE, wrapped: first }))).toEqual(first);
        const second = await store.addDataKey({ ...ALICE, wrapped: Buffer.from('second') });
        expect(Buffer.from(second)).toEqual(first);
        expect(await store.dataKey(BOB)).toBeUndefined();
      }));

    it('writes the next version only', () =>
      withStore(async (store) => {
        const made = await store.putEntry(ALICE, entry('x'), 10);
        expect(made).toMatchObject({ name: 'x', version: 1, metadata: { a: 1 } });
        await expect(store.putEntry(ALICE, entry('x'), 10)).rejects.toMatchObject({ code: 'conflict' });
        await expect(store.putEntry(ALICE, entry('y', 2), 10)).rejects.toMatchObject({ code: 'conflict' });
        const next = await store.putEntry(ALICE, entry('x', 2, { metadata: {} }), 10);
        expect(next.createdAt).toBe(made.createdAt);
        const kept = await store.entry(ALICE, 'secret', 'x');
        expect({ ...kept, sealed: Buffer.from(kept!.sealed) }).toEqual(next);
      }));

    it('lists by name, apart by owner and kind, and limits their number', () =>
      withStore(async (store) => {
        for (const one of ['c', 'a', 'b']) await store.putEntry(ALICE, entry(one), 3);
        await store.putEntry(BOB, entry('z'), 3);
        await store.putEntry(ALICE, entry('k', 1, { kind: 'key' }), 3);
        await expect(store.putEntry(ALICE, entry('d'), 3)).rejects.toMatchObject({ code: 'too-many' });
        await store.putEntry(ALICE, entry('a', 2), 3);
        expect((await store.entries(ALICE, 'secret')).map((one) => one.name)).toEqual(['a', 'b', 'c']);
        expect(await store.entry(BOB, 'secret', 'a')).toBeUndefined();
        expect(await store.scopes('secret')).toEqual(expect.arrayContaining([ALICE, BOB]));
        expect(await store.scopes('key')).toEqual([ALICE]);
        expect(await store.deleteEntry(BOB, 'secret', 'a')).toBe(false);
        expect(await store.deleteEntry(ALICE, 'secret', 'a')).toBe(true);
        expect(await store.deleteEntry(ALICE, 'secret', 'a')).toBe(false);
      }));

    it('rotates all keys or none', () =>
      withStore(async (store) => {
        await store.createMaster(MASTER);
        for (const scope of [ALICE, BOB]) await store.addDataKey({ ...scope, wrapped: Buffer.from('old') });
        const wrapped = Buffer.from('new');
        const both = [ALICE, BOB].map((scope) => ({ ...scope, wrapped }));
        const attempts = [
          store.rotate('x', NEXT, both),
          store.rotate(MASTER.id, NEXT, both.slice(1)),
          store.rotate(MASTER.id, NEXT, [...both, { ...BOB, owner: 'carol', wrapped }]),
        ];
        for (const attempt of attempts) await expect(attempt).rejects.toMatchObject({ code: 'conflict' });
        expect(await store.master()).toEqual(MASTER);
        expect(Buffer.from((await store.dataKey(BOB))!).toString()).toBe('old');
        await store.rotate(MASTER.id, NEXT, both);
        expect(await store.master()).toEqual(NEXT);
        for (const scope of [ALICE, BOB]) {
          expect(Buffer.from((await store.dataKey(scope))!).toString()).toBe('new');
        }
      }));
  });
}
