import type { z } from 'zod';
import { LangoError } from '../core/errors.js';
import { keyOf, type Finding, type Path } from '../core/findings.js';
import { nearestOf } from '../core/text.js';
import type { KeySchema } from './schema.js';

/** One error in the configuration. `text` never quotes a value, because it might be a secret. */
export interface Problem {
  /** "FILE:LINE:COLUMN", or the variable or flag that the value came from. */
  readonly at: string;
  /** "server.limits.bodyBytes", "a2a.remoteAgents[0].url"; empty if the problem concerns the whole file. */
  readonly key: string;
  readonly text: string;
}

/** Maximum number of problems that are reported for one file. */
export const PROBLEMS_MAX = 50;
const KEY_MAX_LENGTH = 100;

export const lineOfProblem = ({ at, key, text }: Problem): string =>
  `${at}: ${key === '' ? '' : `${key} `}${text}`;

/** One `invalid-config` error that lists all problems. */
export function problemsError(problems: readonly Problem[], hint: string): LangoError {
  const lines = problems.map((problem) => `  ${lineOfProblem(problem)}`);
  const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`;
  return new LangoError('invalid-config', [`The configuration has ${count}:`, ...lines].join('\n'), {
    hint,
    violations: problems.map(({ key, text }) => ({ field: key, description: text })),
  });
}

/** `sources`: the variables and flags that values came from, by key. */
export function toProblem(
  { path, about, text }: Finding,
  source: { locate(path: Path, about?: Finding['about']): string },
  sources?: ReadonlyMap<string, string>,
): Problem {
  const key = keyOf(path);
  return { at: sources?.get(key) ?? source.locate(path, about), key, text };
}

type Issue = z.core.$ZodIssue;
type UnionIssue = Extract<Issue, { code: 'invalid_union' }>;

type SchemasAt = (path: Path) => readonly KeySchema[];

/** Translates zod's issues for the person who edits the file, one for each key or value. `schemasAt` gives known keys. */
export function findingsOf(
  issues: readonly Issue[],
  schemasAt: SchemasAt,
  base: Path = [],
): readonly Finding[] {
  return issues.slice(0, PROBLEMS_MAX).flatMap((issue): readonly Finding[] => {
    const path = [...base, ...issue.path];
    if (issue.code === 'unrecognized_keys') {
      const known = schemasAt(path).flatMap((schema) => Object.keys(schema.properties ?? {}));
      return issue.keys
        .slice(0, PROBLEMS_MAX)
        .map((key) => ({ path: [...path, key], about: 'key', text: unknownKey(key, known) }));
    }
    if (issue.code === 'invalid_union') return unionFindings(issue, schemasAt, path);
    return [{ path, about: 'value', text: issueText(issue) }];
  });
}

/** The findings of the branch that matches the kind of the value, or one finding that lists what every branch expects. */
function unionFindings({ errors }: UnionIssue, schemasAt: SchemasAt, path: Path): readonly Finding[] {
  const matching = errors.find((branch) => branch.every((inner) => inner.path.length > 0));
  if (matching !== undefined) return findingsOf(matching, schemasAt, path);
  const expected = errors.flatMap((branch) => branch.slice(0, 1).flatMap(expectations));
  return [{ path, about: 'value', text: `must be ${oneOf(expected)}` }];
}

function issueText(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
    case 'invalid_value':
      if (issue.message.endsWith('received undefined')) return 'is missing';
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

/** Singular and plural. */
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
  const nearest = key.length > KEY_MAX_LENGTH ? undefined : nearestOf(key, known);
  if (nearest !== undefined) return `is not a known key; did you mean "${nearest}"?`;
  return `is not a known key; known here: ${[...known].sort().join(', ')}`;
}
