import { isJsonObject, type JsonObject } from '../core/json.js';

/*
 * Readers of members that a vendor sent. A member of the wrong type counts as missing: most servers leave some members out.
 */

export function textIn(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function objectIn(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

export function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Reads a number of tokens, or the index of a block; 0 when it is missing. */
export function countIn(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : 0;
}
