import { LangoError } from '../core/errors.js';

/** The way to a value: keys and list positions, outermost first. */
export type Path = readonly PropertyKey[];

/** One thing that is wrong. `text` never holds a value that was read, as it might be a secret. */
export interface Problem {
  /** "FILE:LINE:COLUMN", or the variable or flag that the value came from. */
  readonly at: string;
  /** "server.limits.bodyBytes", "a2a.remoteAgents[0].url"; empty when it is about the file as a whole. */
  readonly key: string;
  readonly text: string;
}

export function keyOf(path: Path): string {
  return path.reduce<string>((key, step) => {
    if (typeof step === 'number') return `${key}[${step}]`;
    return key === '' ? String(step) : `${key}.${String(step)}`;
  }, '');
}

/** All problems as one `invalid-config` error with a readable list. */
export function problemsError(problems: readonly Problem[], hint: string): LangoError {
  const lines = problems.map(({ at, key, text }) => `  ${at}: ${key === '' ? '' : `${key} `}${text}`);
  const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`;
  return new LangoError('invalid-config', [`The configuration has ${count}:`, ...lines].join('\n'), {
    hint,
    violations: problems.map(({ key, text }) => ({ field: key, description: text })),
  });
}
