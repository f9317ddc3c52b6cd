import { readFileSync } from 'node:fs';
import { errorText } from '../core/errors.js';
import { isReadableByAll } from './risks.js';

/** The variables of the environment, by name. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** The value of a variable NAME that is in the file that NAME_FILE names, as containers pass secrets. */
type SecretFile =
  | { readonly value: string; readonly isExposed: boolean; readonly problem?: undefined }
  /** As a part of a sentence about the key. */
  | { readonly value?: undefined; readonly isExposed?: undefined; readonly problem: string };

/** The name of the variable that names the file with the value of `name`. */
export function fileVariable(name: string): string {
  return `${name}_FILE`;
}

/**
 * Reads the file of a variable; undefined when no file is named. A line break at the end does not count. A variable that is
 * set in addition to its file is a problem, because it is unclear which of them applies.
 */
export function readSecretFile(variables: Variables, name: string): SecretFile | undefined {
  const file = Object.hasOwn(variables, fileVariable(name)) && variables[fileVariable(name)];
  if (!file) return undefined;
  if (variables[name]) return { problem: `has both ${name} and ${fileVariable(name)}; set one of them` };
  try {
    const value = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
    if (value === '') return { problem: `comes from ${file}, which is empty (${fileVariable(name)})` };
    return { value, isExposed: isReadableByAll(file) };
  } catch (error) {
    return { problem: `cannot be read from the file of ${fileVariable(name)}: ${errorText(error)}` };
  }
}
