import type { Finding } from './issues.js';
import { findingsOf } from './issues.js';
import type { Places } from './paths.js';
import { withPaths } from './paths.js';
import type { Path } from './problem.js';
import { keyOf } from './problem.js';
import { RULES } from './rules.js';
import type { Settings } from './schema.js';
import { settingsSchema } from './schema.js';
import { schemasAt } from './schema-walk.js';

export type Checked =
  | { readonly settings: Settings; readonly findings?: undefined }
  | { readonly settings?: undefined; readonly findings: readonly Finding[] };

/** Compiling a check takes longer than running it once. */
const ONCE = { jitless: true } as const;

/** Checks each key by itself, then what must hold between keys; finds everything that is wrong at once. */
export function checkSettings(values: unknown, places: Places): Checked {
  const result = settingsSchema.safeParse(values, ONCE);
  if (result.success) {
    const settings = withPaths(result.data, places);
    const findings = RULES.flatMap((rule) => rule.check(settings, places));
    return findings.length === 0 ? { settings } : { findings };
  }
  const findings = findingsOf(result.error.issues, schemasAt);
  return { findings: [...findings, ...rulesOnTheRest(values, findings, places)] };
}

/** The rules about keys that are not wrong by themselves. */
function rulesOnTheRest(values: unknown, findings: readonly Finding[], places: Places): readonly Finding[] {
  const rest = settingsSchema.safeParse(findings.reduce((all, { path }) => without(all, path), values));
  if (!rest.success) return [];
  const settings = withPaths(rest.data, places);
  const wrong = findings.map(({ path }) => keyOf(path));
  const concerns = (key: string): boolean =>
    wrong.some((one) => one === '' || one.startsWith(key) || key.startsWith(`${one}.`));
  return RULES.filter(({ keys }) => !keys.some(concerns)).flatMap((rule) => rule.check(settings, places));
}

/** A copy that lacks what stands at `path`; the whole list when the path goes into one. */
function without(value: unknown, path: Path): unknown {
  const [step, ...rest] = path;
  if (typeof step !== 'string' || typeof value !== 'object' || value === null) return undefined;
  const { [step]: child, ...others } = value as Record<string, unknown>;
  const kept = rest.length === 0 ? undefined : without(child, rest);
  return kept === undefined ? others : { ...others, [step]: kept };
}
