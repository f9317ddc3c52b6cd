import { isJsonObject, type JsonObject } from '../core/json.js';

/** Members of what a vendor sent. One of another type counts as missing, which for most servers some member is. */
export function textIn(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function objectIn(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

export function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A number of tokens, or the place of a block. */
export function countIn(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : 0;
}
