import { expect } from '@jest/globals';

/** How often at least. Several connections to one server take no turns with each other: for them it is once. */
export const turns = { least: 4 };

/** Expects that `long` goes in steps: `other`, begun after it, is done before, and more than once where one connection is shared. Resolves with what `long` gives. */
export async function expectTurnWithin<Result>(
  long: () => Promise<Result>,
  other: () => Promise<unknown>,
): Promise<Result> {
  let isDone = false;
  const working = long().finally(() => {
    isDone = true;
  });
  for (let turn = 0; turn < turns.least; turn += 1) await other();
  expect(isDone).toBe(false);
  return working;
}
