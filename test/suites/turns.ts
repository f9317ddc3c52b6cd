import { expect } from '@jest/globals';

/** Whether all share one connection, as on SQLite. Several connections to one server need no turns with each other. */
export const turns = { areNeeded: true };

const TURNS = 4;

/**
 * Expects that `long` goes in steps: `other`, begun after it, is done several times before, where one connection is
 * shared. Elsewhere both must come to their end. Resolves with what `long` gives.
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
