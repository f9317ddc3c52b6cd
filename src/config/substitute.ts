import { readSecretFile, type Variables } from './secret-files.js';

const REFERENCE = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$\{/g;
/** For the text after the last closing brace, in which `REFERENCE` would search from each variable to the end. */
const UNCLOSED = /\$\$\{|\$\{/g;

type Substituted =
  /** `isExposed`: a part comes from a file that other users can read. */
  | { readonly text: string; readonly changed: boolean; readonly isExposed?: boolean }
  /** `isUnset`: a variable has no value. */
  | { readonly problem: string; readonly isUnset?: true };

/**
 * Substitutes variables in a text: `${VAR}`, or `${VAR:-default}` if the variable may be unset or empty. `$${` is an
 * escaped `${`. The value of a variable is not substituted again. In a secret, a variable may be in the file that
 * `VAR_FILE` names.
 */
export function substitute(text: string, variables: Variables, isSecret = false): Substituted {
  if (!text.includes('${')) return { text, changed: false };
  let problem: Extract<Substituted, { problem: string }> | undefined;
  let isExposed = false;
  const resolve = (match: string, name?: string, fallback?: string): string => {
    if (match === '$${') return '${';
    if (name === undefined) {
      problem ??= { problem: BROKEN };
      return '';
    }
    const file = isSecret ? readSecretFile(variables, name) : undefined;
    isExposed ||= file?.isExposed ?? false;
    if (file?.problem !== undefined) {
      problem ??= { problem: file.problem, isUnset: true };
      return '';
    }
    const value = file?.value ?? (Object.hasOwn(variables, name) ? variables[name] : undefined);
    if (fallback !== undefined) return value || fallback;
    if (value === undefined) {
      problem ??= {
        problem: `needs the environment variable ${name}, which is not set; set it, or write \${${name}:-default}`,
        isUnset: true,
      };
    }
    return value ?? '';
  };
  const closed = text.lastIndexOf('}') + 1;
  const result =
    text.slice(0, closed).replace(REFERENCE, resolve) +
    text.slice(closed).replace(UNCLOSED, (match) => resolve(match));
  return problem ?? { text: result, changed: true, isExposed };
}

const BROKEN = 'has a "${" that starts no variable; write ${NAME}, ${NAME:-default}, or $${ for a literal ${';

const NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/;

/** Converts a substituted text to a number or boolean if one of `types` expects that. */
export function retype(text: string, types: ReadonlySet<string>): string | number | boolean {
  if (types.has('string')) return text;
  if ((types.has('number') || types.has('integer')) && NUMBER.test(text)) return Number(text);
  if (types.has('boolean') && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}
