import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';

/** Every form in which `value` might appear in some bytes, by name. */
function formsIn(text: string, value: string): readonly string[] {
  const bytes = Buffer.from(value, 'utf8');
  const forms: Record<string, string> = {
    plain: value,
    latin1: bytes.toString('latin1'),
    json: JSON.stringify(value).slice(1, -1),
    url: encodeURIComponent(value),
    hex: bytes.toString('hex'),
    HEX: bytes.toString('hex').toUpperCase(),
  };
  for (const shift of [0, 1, 2]) {
    const whole = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
    const sure = whole.slice(Math.ceil((8 * shift) / 6), Math.floor((8 * (shift + bytes.length)) / 6));
    forms[`base64 at ${shift}`] = sure;
    forms[`base64url at ${shift}`] = sure.replaceAll('+', '-').replaceAll('/', '_');
  }
  return Object.entries(forms).flatMap(([name, form]) => (text.includes(form) ? [name] : []));
}

/** The forms in which `text` contains `value`; empty when it does not. */
export function findIn(what: string, text: string, value: string): readonly string[] {
  return formsIn(text, value).map((form) => `${what}: ${form}`);
}

/** The files below `folder` whose bytes contain `value`, with its form. */
export function findInFolder(folder: string, value: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .flatMap((entry) => {
      const file = path.join(entry.parentPath, entry.name);
      return findIn(file, readFileSync(file).toString('latin1'), value);
    });
}
