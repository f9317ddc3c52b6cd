import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { hashJson } from '../../src/core/canonical-json.js';
import {
  LIMIT_WINDOW_MS,
  PaymentStore,
  RESERVATION_MS,
  type NewPayment,
  type Payment,
  type PaymentState,
} from '../../src/capabilities/payments/payment-store.js';
import type { OpenStore, StoreUnderTest } from './task-store-fixtures.js';
import { ALICE, ALICE_ELSEWHERE, BOB } from './task-store-fixtures.js';

const CHAIN = 84_532;
const WALLET = '0x1111111111111111111111111111111111111111';
const PLACE = { chainId: CHAIN, from: WALLET };
const DAILY = 1_000n;
const OPEN: readonly PaymentState[] = ['signed', 'sent', 'refused'];

let numbers = 0;

function newPayment(changes: Partial<NewPayment> = {}): NewPayment {
  return {
    ...ALICE,
    key: hashJson((numbers += 1)),
    kind: 'transfer',
    chainId: CHAIN,
    token: '0x2222222222222222222222222222222222222222',
    from: WALLET,
    to: '0x3333333333333333333333333333333333333333',
    amount: 100n,
    purpose: 'tea',
    ...changes,
  };
}

/** The contract of `PaymentStore`, on each database. */
export function paymentStoreSuite(name: string, open: OpenStore): void {
  describe(`payment store: ${name}`, () => {
    let current: StoreUnderTest;
    let store: PaymentStore;
    beforeEach(async () => {
      current = await open();
      store = new PaymentStore(current.storage.database);
    });
    afterEach(async () => {
      await current.storage.close();
      await current.dispose();
    });

    async function reserve(changes: Partial<NewPayment> = {}): Promise<Payment> {
      const outcome = await store.reserve(newPayment(changes), DAILY);
      if (outcome.kind !== 'reserved') throw new Error(`expected a reservation, got ${outcome.kind}`);
      return outcome.payment;
    }

    async function signed(nonce: number, changes: Partial<NewPayment> = {}, hash = '0xaa'): Promise<Payment> {
      const payment = await reserve(changes);
      expect(await store.sign(payment, payment.key, { signed: '0x02', nonce, hash })).toBe(true);
      return payment;
    }

    it('keeps all of a payment, also an amount beyond the range of a number', async () => {
      const asked = newPayment({ amount: 9_007_199_254_740_993n, purpose: 'a "gift" für Jörg' });
      await store.reserve(asked, 10n ** 18n);
      expect(await store.get(ALICE, asked.key)).toMatchObject({ ...asked, state: 'reserved' });
      expect((await store.spending(ALICE, CHAIN)).spent).toBe(9_007_199_254_740_993n);
    });

    it('never reserves more than the limit for any number of concurrent calls', async () => {
      const outcomes = await Promise.all(
        Array.from({ length: 100 }, () => store.reserve(newPayment({ amount: 37n }), DAILY)),
      );
      const reserved = outcomes.filter(({ kind }) => kind === 'reserved');
      expect(reserved).toHaveLength(27);
      expect((await store.spending(ALICE, CHAIN)).spent).toBe(27n * 37n);
      expect(outcomes.find(({ kind }) => kind === 'over-limit')).toEqual({ kind: 'over-limit', spent: 999n });
    });

    it('recognizes a repeat by its key, also among 50 concurrent ones', async () => {
      const asked = newPayment();
      const outcomes = await Promise.all(Array.from({ length: 50 }, () => store.reserve(asked, DAILY)));
      expect(outcomes.filter(({ kind }) => kind === 'reserved')).toHaveLength(1);
      expect(outcomes.filter(({ kind }) => kind === 'repeated')).toHaveLength(49);
      expect((await store.spending(ALICE, CHAIN)).spent).toBe(100n);
    });

    it('counts for each owner, tenant and chain apart, and shows nobody the payments of others', async () => {
      const payment = await reserve({ amount: 1_000n });
      expect((await store.reserve(newPayment(), DAILY)).kind).toBe('over-limit');
      for (const other of [{ ...BOB }, { ...ALICE_ELSEWHERE }, { chainId: 8_453 }]) {
        expect((await store.reserve(newPayment({ amount: 1_000n, ...other }), DAILY)).kind).toBe('reserved');
      }
      expect(await store.get(BOB, payment.key)).toBeUndefined();
      expect((await store.list(BOB, 10)).map(({ owner }) => owner)).toEqual(['bob']);
      expect(await store.sign(BOB, payment.key, { signed: '0x', nonce: 0 })).toBe(false);
    });

    it('counts over a rolling day', async () => {
      await signed(0, { amount: 1_000n });
      await current.advance(LIMIT_WINDOW_MS - 1);
      expect((await store.reserve(newPayment(), DAILY)).kind).toBe('over-limit');
      await current.advance(1);
      expect((await store.reserve(newPayment(), DAILY)).kind).toBe('reserved');
    });

    it('releases the amount of a failed payment, and of a reservation that was never signed', async () => {
      const failed = await reserve({ amount: 600n });
      await store.advance(failed, ['reserved'], { state: 'failed', note: 'no gas' });
      const forgotten = await reserve({ amount: 1_000n });
      expect((await store.reserve(newPayment(), DAILY)).kind).toBe('over-limit');
      await current.advance(RESERVATION_MS);
      expect((await store.spending(ALICE, CHAIN)).spent).toBe(0n);
      expect(await store.sign(forgotten, forgotten.key, { signed: '0x02', nonce: 0 })).toBe(false);
      await reserve({ amount: 1_000n });
    });

    it('renews an expired reservation only within the limit', async () => {
      const asked = newPayment({ amount: 600n });
      await store.reserve(asked, DAILY);
      await current.advance(RESERVATION_MS);
      await reserve({ amount: 600n });
      expect(await store.reserve(asked, DAILY)).toEqual({ kind: 'over-limit', spent: 600n });
      expect((await store.reserve(asked, 1_200n)).kind).toBe('repeated');
      expect(await store.sign(asked, asked.key, { signed: '0x02', nonce: 3 })).toBe(true);
    });

    it('signs a reservation once, and assigns a nonce of a wallet to one transfer', async () => {
      const first = await signed(7);
      expect(await store.sign(first, first.key, { signed: '0x03', nonce: 8 })).toBe(false);
      const second = await reserve();
      expect(await store.sign(second, second.key, { signed: '0x04', nonce: 7 })).toBe(false);
      expect(await store.sign(second, second.key, { signed: '0x04', nonce: 8 })).toBe(true);
      expect(await store.get(ALICE, first.key)).toMatchObject({ signed: '0x02', nonce: 7, hash: '0xaa' });
      await signed(7, { from: '0x4444444444444444444444444444444444444444' });
    });

    it('frees the nonce of a refused transfer, and counts its amount until it is settled', async () => {
      const payment = await signed(7);
      await store.advance(payment, ['signed'], { state: 'refused', note: 'no gas' });
      expect(await store.openTransfers(PLACE)).toEqual({ amount: 0n, count: 0, nextNonce: 0 });
      expect((await store.spending(ALICE, CHAIN)).spent).toBe(100n);
      await signed(7, {}, '0xbb');
      expect(await store.openTransfers(PLACE)).toEqual({ amount: 100n, count: 1, nextNonce: 8 });
      expect((await store.get(ALICE, payment.key))?.state).toBe('refused');
    });

    it('assigns an identical transaction to the one that is signed later', async () => {
      const first = await signed(7);
      await store.advance(first, ['signed'], { state: 'refused' });
      await signed(7);
      expect((await store.get(ALICE, first.key))?.state).toBe('failed');
    });

    it('moves a payment to later states only', async () => {
      const payment = await signed(0);
      expect(await store.advance(payment, ['signed'], { state: 'sent' })).toMatchObject({ state: 'sent' });
      expect(await store.advance(payment, OPEN, { state: 'confirmed', note: 'block 9' })).toMatchObject({
        state: 'confirmed',
        note: 'block 9',
        hash: '0xaa',
      });
      expect(await store.advance(payment, OPEN, { state: 'failed' })).toBeUndefined();
      expect((await store.get(ALICE, payment.key))?.state).toBe('confirmed');
    });

    it('lists open payments of every owner in the order of their nonces', async () => {
      const second = await signed(2);
      const first = await signed(1, { ...BOB });
      const done = await signed(3);
      await store.advance(done, OPEN, { state: 'confirmed' });
      await reserve();
      await signed(0, { chainId: 8_453 });
      expect((await store.listOpen(CHAIN, 10)).map(({ key }) => key)).toEqual([first.key, second.key]);
      expect(await store.listOpen(CHAIN, 1)).toHaveLength(1);
      expect((await store.openTransfers(PLACE)).nextNonce).toBe(4);
    });

    it('lists an owner’s payments, newest first', async () => {
      const keys = [];
      for (let index = 0; index < 3; index += 1) keys.unshift((await reserve({ amount: 1n })).key);
      expect((await store.list(ALICE, 2)).map(({ key }) => key)).toEqual(keys.slice(0, 2));
    });
  });
}
