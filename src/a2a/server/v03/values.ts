import type { Json, JsonObject } from '../../../core/json.js';
import { isJsonObject } from '../../../core/json.js';

/* What stands in JSON of which not everything is known: something of the kind asked for, if need be an empty one. */

export function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

export function objects(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? (value as readonly Json[]).filter(isJsonObject) : [];
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
