import type { SqliteDatabase } from './database.js';

/** What one of many small transactions did. */
export interface Step {
  /** Of what is counted in the end. */
  readonly count: number;
  readonly isLast: boolean;
}

/**
 * Does in many small transactions what would hold up everybody else in one. Resolves with the sum. What was done stays
 * done when it ends early; asked again it goes on.
 */
export async function inSteps(database: SqliteDatabase, step: () => Step): Promise<number> {
  for (let sum = 0; ;) {
    const { count, isLast } = await database.write(step);
    sum += count;
    if (isLast) return sum;
  }
}
