import { expect } from '@jest/globals';

/** Expects that `other`, asked for after `long`, is done first: long work goes in steps. Resolves with what `long` gives. */
export async function expectTurnWithin<Result>(
  long: () => Promise<Result>,
  other: () => Promise<unknown>,
): Promise<Result> {
  let isDone = false;
  const working = long().finally(() => {
    isDone = true;
  });
  await other();
  expect(isDone).toBe(false);
  return working;
}
