import { isJsonObject, type JsonObject } from '../core/json.js';

/*
 * Readers of members that a vendor sent. A member of the wrong type counts as missing: most servers leave some members out.
 */

export const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');

export const objectIn = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});

export const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Reads a number of tokens, or the index of a block; 0 when it is missing. */
export function countIn(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : 0;
}

/** Returns the meaning of each word, from the words that vendors use for each meaning, parted by blanks. */
export function meaningsOf<Meaning extends string>(words: Readonly<Partial<Record<Meaning, string>>>) {
  const entries = Object.entries(words) as [Meaning, string][];
  return new Map(
    entries.flatMap(([meaning, all]) => all.split(/\s+/).map((word) => [word, meaning] as const)),
  );
}
