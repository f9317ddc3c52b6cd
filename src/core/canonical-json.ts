import { hash } from 'node:crypto';

/**
 * Writes equal values as equal texts: keys sorted by UTF-16 code units, no white space, no absent members (RFC 8785, for
 * values from `JSON.parse`). Throws a `TypeError` for a value that JSON cannot hold.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'number' && isFinite(value)) return `${value}`;
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return JSON.stringify(value);
  if (Array.isArray(value))
    return `[${value.map((item) => (item === undefined ? 'null' : canonicalJson(item))).join(',')}]`;
  if (typeof value === 'object') {
    const object = value as Readonly<Record<string, unknown>>;
    const keys = Object.keys(object).filter((key) => object[key] !== undefined);
    const members = keys.sort().map((key) => `${JSON.stringify(key)}:${canonicalJson(object[key])}`);
    return `{${members.join(',')}}`;
  }
  throw new TypeError(`JSON cannot hold this ${typeof value}`);
}

/** Returns the SHA-256 of the canonical JSON, as 64 lower-case hex digits. */
export function hashJson(value: unknown): string {
  return hash('sha256', canonicalJson(value), 'hex');
}
