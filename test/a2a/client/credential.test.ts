import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { KeptCredential } from '../../../src/core/credential.js';

/** The renewal of a token by its credential, by a clock that the tests set. */

const LIFE_SECONDS = 300;
let asked: number;
let failure: Error | undefined;
let kept: KeptCredential;

beforeEach(() => {
  jest.useFakeTimers();
  asked = 0;
  failure = undefined;
  kept = new KeptCredential([{ type: 'oauth2', scopes: [] }], async () => {
    asked += 1;
    if (failure) throw failure;
    return { shown: { headers: { authorization: `Bearer ${asked}` } }, seconds: LIFE_SECONDS };
  });
});
afterEach(() => void jest.useRealTimers());

const shown = async (): Promise<string> => (await kept.present()).headers['authorization']!;
const pass = (seconds: number): void => void jest.advanceTimersByTime(1_000 * seconds);

it('a credential renews its token before expiry, once for many concurrent callers', async () => {
  expect(await shown()).toBe('Bearer 1');
  pass(LIFE_SECONDS - 61);
  expect([await shown(), asked]).toEqual(['Bearer 1', 1]);
  pass(2);
  const all = await Promise.all(Array.from({ length: 50 }, shown));
  expect([new Set(all), asked]).toEqual([new Set(['Bearer 2']), 2]);
});

it('a credential uses its token until expiry while the issuer fails, and retries only after a pause', async () => {
  await shown();
  failure = new Error('away');
  pass(LIFE_SECONDS - 59);
  expect(await Promise.all([shown(), shown(), shown()])).toEqual(Array(3).fill('Bearer 1'));
  expect([await shown(), asked]).toEqual(['Bearer 1', 2]);
  pass(6);
  expect([await shown(), asked]).toEqual(['Bearer 1', 3]);
  pass(LIFE_SECONDS);
  await expect(shown()).rejects.toThrow('away');
  await expect(shown()).rejects.toThrow('away');
  expect(asked).toBe(4);
  failure = undefined;
  pass(6);
  expect(await shown()).toBe('Bearer 5');
});

it('a credential never returns an expired token', async () => {
  await shown();
  pass(LIFE_SECONDS);
  failure = new Error('away');
  await expect(shown()).rejects.toThrow('away');
});
