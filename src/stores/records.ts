import { LangoError } from '../core/errors.js';

/**
 * Converts between records and rows, for the stores off the hot path and in every database: a member `contextId` is the
 * column `context_id`, an undefined member is NULL, a flag is 0 or 1, and a list or an object is JSON.
 */

/** A row as selected: values by column. */
export type Row = Readonly<Record<string, unknown>>;

/** The members that need a conversion to fit into a column. */
interface Format {
  /** Stored as JSON. */
  readonly json?: readonly string[];
  /** Stored as 0 or 1. */
  readonly flags?: readonly string[];
}

/** Turns a row into a record. Columns with NULL give no member. */
export function toRecord<Item>(row: Row, { json = [], flags = [] }: Format = {}): Item {
  const record: Record<string, unknown> = {};
  for (const [column, value] of Object.entries(row)) {
    if (value === null) continue;
    const member = memberOf(column);
    if (json.includes(member)) record[member] = JSON.parse(value as string);
    else record[member] = flags.includes(member) ? value === 1 : value;
  }
  return record as Item;
}

/** Turns a record into named parameters of a statement. */
export function toParameters(record: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).map(([member, value]) => [member, parameterOf(value)]));
}

/** The statement that inserts the named parameters `members` into a table. */
export function insertInto(table: string, members: readonly string[]): string {
  return `INSERT INTO ${table} (${columnsOf(members)}) VALUES (${members.map((member) => `@${member}`).join(', ')})`;
}

/** The statement that inserts several rows of the members, with its values. */
export function insertRows(table: string, members: readonly string[], records: readonly object[]) {
  const row = `(${members.map(() => '?').join(', ')})`;
  const sql = `INSERT INTO ${table} (${columnsOf(members)}) VALUES ${records.map(() => row).join(', ')}`;
  const values = records.flatMap((record) => {
    const parameters = toParameters(record);
    return members.map((member) => parameters[member]);
  });
  return { sql, values };
}

function columnsOf(members: readonly string[]): string {
  return members.map((member) => `"${columnOf(member)}"`).join(', ');
}

function parameterOf(value: unknown): unknown {
  if (value === undefined) return null;
  if (typeof value === 'boolean') return Number(value);
  const isPlain = typeof value !== 'object' || value === null || value instanceof Uint8Array;
  return isPlain ? value : JSON.stringify(value);
}

const members = new Map<string, string>();

function memberOf(column: string): string {
  const known = members.get(column);
  if (known !== undefined) return known;
  const member = column.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  members.set(column, member);
  return member;
}

function columnOf(member: string): string {
  return member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Throws `invalid-input`, which names the field, for a key with U+0000 or a lone surrogate: databases would change it. */
export function assertKeys(keys: Readonly<Record<string, string>>): void {
  for (const field in keys) {
    const value = keys[field]!;
    if (value.isWellFormed() && !value.includes('\0')) continue;
    const description = 'It holds U+0000 or half of a surrogate pair.';
    throw new LangoError('invalid-input', `The value of ${field} cannot be stored.`, {
      violations: [{ field, description }],
    });
  }
}
