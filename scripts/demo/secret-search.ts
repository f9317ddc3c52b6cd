import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';

/** The forms of a value that are searched for: plain, and in every encoding that tools commonly write. */
export function formsOf(value: string): readonly string[] {
  const bytes = Buffer.from(value, 'utf8');
  const inBase64 = [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
    return text.slice(Math.ceil((8 * shift) / 6), Math.floor((8 * (shift + bytes.length)) / 6));
  });
  return [
    ...[value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value)],
    ...[bytes.toString('hex'), bytes.toString('hex').toUpperCase()],
    ...inBase64.flatMap((text) => [text, text.replaceAll('+', '-').replaceAll('/', '_')]),
  ];
}

export interface Search {
  readonly files: number;
  readonly bytes: number;
  /** The paths of files that contain the value in some form. */
  readonly found: readonly string[];
}

/** Searches all bytes of all files below `folder`. */
export async function searchFolder(folder: string, value: string): Promise<Search> {
  const forms = formsOf(value);
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const found: string[] = [];
  let files = 0;
  let bytes = 0;
  for (const entry of entries.filter((one) => one.isFile())) {
    const file = path.join(entry.parentPath, entry.name);
    const text = (await readFile(file)).toString('latin1');
    files += 1;
    bytes += text.length;
    if (forms.some((form) => text.includes(form))) found.push(path.relative(folder, file));
  }
  return { files, bytes, found };
}
