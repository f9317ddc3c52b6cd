import { constants } from 'node:fs';
import { lstat, open, readdir, readlink, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { LangoError } from '../../core/errors.js';

/** A file of a skill, with its path inside the skill (separated by slashes) and its content. */
export interface SkillFile {
  readonly path: string;
  readonly content: Buffer;
  readonly isExecutable: boolean;
}

const FILES_MAX = 500;
const FILE_MAX_BYTES = 5 * 1024 * 1024;
export const SKILL_MAX_BYTES = 20 * 1024 * 1024;
const DEPTH_MAX = 10;
export const EXECUTABLE = 0o111;

/** Returns the path. Throws `invalid-input` for one that is absolute, leads outside, or is not valid in a file system. */
export function checkedPath(path: string): string {
  const parts = path.split('/');
  const isWrong =
    path === '' ||
    path.includes('\\') ||
    path.includes('\0') ||
    parts.length > DEPTH_MAX ||
    parts.some((part) => part === '' || part === '.' || part === '..' || part.length > 255);
  if (!isWrong) return path;
  const quoted = JSON.stringify(path.slice(0, 200));
  throw new LangoError(
    'invalid-input',
    `The path ${quoted} is invalid or leads outside the folder of the skill.`,
  );
}

/** Adds up the files of a skill. Throws `too-large` at the first file over a limit. */
export class SkillSize {
  #files = 0;
  #bytes = 0;

  add(path: string, bytes: number): void {
    this.#files += 1;
    this.#bytes += bytes;
    if (this.#files > FILES_MAX) throw tooLarge(`it has more than ${FILES_MAX} files and folders`);
    if (bytes > FILE_MAX_BYTES) throw tooLarge(`${path} has more than ${FILE_MAX_BYTES} bytes`);
    if (this.#bytes > SKILL_MAX_BYTES) throw tooLarge(`it has more than ${SKILL_MAX_BYTES} bytes`);
  }
}

/** Lists the files below a folder in sorted order, without symbolic links. `folder` must be a path without symbolic links. */
export async function listFiles(folder: string): Promise<readonly string[]> {
  if ((await realpath(folder)) !== folder) return [];
  const found: string[] = [];
  const walk = async (inside: string, depth: number): Promise<void> => {
    if (depth > DEPTH_MAX || found.length > FILES_MAX) return;
    for (const entry of await readdir(join(folder, inside), { withFileTypes: true })) {
      const path = inside === '' ? entry.name : `${inside}/${entry.name}`;
      if (entry.isDirectory()) await walk(path, depth + 1);
      else if (entry.isFile()) found.push(path);
    }
  };
  await walk('', 0);
  return found.sort();
}

/**
 * Reads a file below `folder`, which is a path without symbolic links. Checks the opened file, so neither a link that
 * leads outside nor a folder that a link replaces meanwhile reveals anything. Rejects with `not-found`, `too-large`, or
 * `invalid-input` for a path that leads outside.
 */
export async function readInside(
  folder: string,
  path: string,
  maxBytes = FILE_MAX_BYTES,
): Promise<SkillFile> {
  const file = join(folder, checkedPath(path));
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  await using handle = await open(file, flags).catch((cause: unknown) => {
    throw new LangoError('not-found', `The skill has no file ${path}.`, { cause });
  });
  const stats = await handle.stat();
  // Systems without /proc give the real path of `file`.
  const real = await readlink(`/proc/self/fd/${handle.fd}`).catch(() => realpath(file));
  if (!stats.isFile() || !real.startsWith(folder + sep))
    throw new LangoError('invalid-input', `${path} is not a file inside the folder of the skill.`);
  if (stats.size > maxBytes) throw tooLarge(`${path} has more than ${maxBytes} bytes`);
  return { path, content: await handle.readFile(), isExecutable: (stats.mode & EXECUTABLE) !== 0 };
}

/** Reads all files of a folder, within the size limits of a skill. */
export async function readFolder(folder: string): Promise<readonly SkillFile[]> {
  const size = new SkillSize();
  const files: SkillFile[] = [];
  for (const path of await listFiles(folder)) {
    size.add(path, (await lstat(join(folder, path))).size);
    files.push(await readInside(folder, path));
  }
  return files;
}

function tooLarge(what: string): LangoError {
  return new LangoError('too-large', `The skill is too large: ${what}.`);
}
