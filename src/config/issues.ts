import type { z } from 'zod';
import { nearestOf } from './nearest.js';
import type { Path } from './problem.js';
import type { KeySchema } from './schema-walk.js';

type Issue = z.core.$ZodIssue;

/** A problem that still knows its path, and whether it is about a key's name or its value. */
export interface Finding {
  readonly path: Path;
  readonly about: 'key' | 'value';
  readonly text: string;
}

/** The one finding of a rule: what is wrong with the value at `path`. */
export function finding(path: Path, text: string): readonly Finding[] {
  return [{ path, about: 'value', text }];
}

/** Finds the keys that may stand at a path, to suggest the nearest. */
export type SchemasAt = (path: Path) => readonly KeySchema[];

/** What zod says, in the words of a person who edits the file: one finding for each wrong key or value. */
export function findingsOf(
  issues: readonly Issue[],
  schemasAt: SchemasAt,
  base: Path = [],
): readonly Finding[] {
  return issues.flatMap((issue): readonly Finding[] => {
    const path = [...base, ...issue.path];
    if (issue.code === 'unrecognized_keys') {
      const known = schemasAt(path).flatMap((schema) => Object.keys(schema.properties ?? {}));
      return issue.keys.map((key) => ({ path: [...path, key], about: 'key', text: unknownKey(key, known) }));
    }
    if (issue.code === 'invalid_union') return unionFindings(issue, schemasAt, path);
    return [{ path, about: 'value', text: issueText(issue) }];
  });
}

/** The branch that fits the kind of value that was written, or all that would have been right. */
function unionFindings(
  issue: Extract<Issue, { code: 'invalid_union' }>,
  schemasAt: SchemasAt,
  path: Path,
): readonly Finding[] {
  const fitting = issue.errors.find((branch) => branch.every((inner) => inner.path.length > 0));
  if (fitting !== undefined) return findingsOf(fitting, schemasAt, path);
  const right = issue.errors.flatMap((branch) => branch.slice(0, 1).flatMap(expectations));
  return [{ path, about: 'value', text: `must be ${oneOf(right)}` }];
}

function issueText(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.message.endsWith('received undefined')) return 'is missing';
      return `must be ${oneOf(expectations(issue))}`;
    case 'invalid_value':
      return `must be ${oneOf(expectations(issue))}`;
    case 'too_small':
      return `must be ${issue.inclusive === false ? 'more than' : 'at least'} ${amount(issue.minimum, issue)}`;
    case 'too_big':
      return `must be ${issue.inclusive === false ? 'less than' : 'at most'} ${amount(issue.maximum, issue)}`;
    default:
      return issue.message;
  }
}

function amount(limit: number | bigint, { origin }: { readonly origin: string }): string {
  const units = LENGTH_UNITS.get(origin);
  return units === undefined ? String(limit) : `${limit} ${limit === 1 ? units[0] : units[1]} long`;
}

/** One of them, and more. */
const LENGTH_UNITS: ReadonlyMap<string, readonly [string, string]> = new Map([
  ['array', ['entry', 'entries']],
  ['string', ['character', 'characters']],
]);

const TYPE_WORDS: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a number',
  object: 'a group of keys',
  string: 'a text (put it in quotes)',
};

function expectations(issue: Issue): readonly string[] {
  if (issue.code === 'invalid_type') return [TYPE_WORDS[issue.expected] ?? issue.expected];
  if (issue.code === 'invalid_value') return issue.values.map((value) => `"${String(value)}"`);
  return [issue.message];
}

function oneOf(words: readonly string[]): string {
  const last = words.at(-1) ?? '';
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} or ${last}`;
}

function unknownKey(key: string, known: readonly string[]): string {
  const nearest = nearestOf(key, known);
  if (nearest !== undefined) return `is not a known key; did you mean "${nearest}"?`;
  return `is not a known key; known here: ${[...known].sort().join(', ')}`;
}
