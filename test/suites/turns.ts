import { expect } from '@jest/globals';

const TURNS = 2;

/** Expects that `long` goes in steps: `other`, begun after it, is done twice before. Resolves with what `long` gives. */
export async function expectTurnWithin<Result>(
  long: () => Promise<Result>,
  other: () => Promise<unknown>,
): Promise<Result> {
  let isDone = false;
  const working = long().finally(() => {
    isDone = true;
  });
  for (let turn = 0; turn < TURNS; turn += 1) await other();
  expect(isDone).toBe(false);
  return working;
}
