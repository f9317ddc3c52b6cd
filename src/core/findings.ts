import { errorText, isLangoError } from './errors.js';
import { shorten } from './text.js';

/** The path to a value of the configuration: keys and list positions, outermost first. */
export type Path = readonly PropertyKey[];

/** A problem of the configuration with its path, before its position in the file is known. */
export interface Finding {
  readonly path: Path;
  /** Whether the key's name or its value is wrong. */
  readonly about: 'key' | 'value';
  /** Never quotes a value, because it might be a secret. */
  readonly text: string;
}

/** The single finding of a rule about the value at `path`. */
export function finding(path: Path, text: string): readonly Finding[] {
  return [{ path, about: 'value', text }];
}

/** Turns the rejection of a check into a finding; returns none when the check resolves. */
export async function findingOfError(
  check: Promise<unknown>,
  pathOf: (error: unknown) => Path,
): Promise<readonly Finding[]> {
  try {
    await check;
    return [];
  } catch (error) {
    const hint = isLangoError(error) ? error.hint : undefined;
    return finding(pathOf(error), ['is wrong:', errorText(error), hint].filter(Boolean).join(' '));
  }
}

const KEY_MAX_LENGTH = 100;

/** The key at a path: "a2a.remoteAgents[0].url". */
export function keyOf(path: Path): string {
  return path.reduce<string>(keyAt, '');
}

/** The key of a member of the value at `key`. */
export function keyAt(key: string, step: PropertyKey): string {
  if (typeof step === 'number') return `${key}[${step}]`;
  const name = shorten(String(step), KEY_MAX_LENGTH);
  return key === '' ? name : `${key}.${name}`;
}
