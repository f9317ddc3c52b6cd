import { expect } from '@jest/globals';

/**
 * Whether all clients share one connection, as on SQLite. Several connections to one server need no turns with each
 * other.
 */
export const turns = { areNeeded: true };

const TURNS = 4;

/**
 * Expects that `long` runs in steps: on a shared connection, `other` begins after it and completes several times before
 * it. Otherwise both must complete. Resolves with the result of `long`.
 */
export async function expectTurnWithin<Result>(
  long: () => Promise<Result>,
  other: () => Promise<unknown>,
): Promise<Result> {
  let isDone = false;
  const working = long().finally(() => {
    isDone = true;
  });
  if (!turns.areNeeded) return (await Promise.all([working, other()]))[0];
  for (let turn = 0; turn < TURNS; turn += 1) await other();
  expect(isDone).toBe(false);
  return working;
}
