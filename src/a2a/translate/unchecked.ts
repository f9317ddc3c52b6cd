import { isJsonObject, type Json, type JsonObject } from '../../core/json.js';

/* Readers of unchecked JSON: a value of another kind counts as an empty one. */

export function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

export function objects(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? (value as readonly Json[]).filter(isJsonObject) : [];
}

export function mapMembers<Value, Result>(
  members: Readonly<Record<string, Value>>,
  convert: (value: Value, name: string) => Result,
): Record<string, Result> {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, convert(value, name)]));
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
