import { constants } from 'node:fs';
import { lstat, open, readdir, readlink, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { LangoError } from '../../core/errors.js';

/** A file of a skill: its path inside, with slashes, and its content. */
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

/** Says no to a path that is absolute, leaves its folder, or could not stand in a file system. */
export function checkedPath(path: string): string {
  const parts = path.split('/');
  const isWrong =
    path === '' ||
    path.includes('\\') ||
    path.includes('\0') ||
    parts.length > DEPTH_MAX ||
    parts.some((part) => part === '' || part === '.' || part === '..' || part.length > 255);
  if (isWrong) {
    throw new LangoError(
      'invalid-input',
      `the path ${JSON.stringify(path.slice(0, 200))} leaves the skill's folder or is no path`,
    );
  }
  return path;
}

/** Counts what a skill holds; throws `too-large` at the first file too many. */
export class SkillSize {
  #files = 0;
  #bytes = 0;

  add(path: string, bytes: number): void {
    this.#files += 1;
    this.#bytes += bytes;
    if (this.#files > FILES_MAX) throw tooLarge(`it has more than ${FILES_MAX} files`);
    if (bytes > FILE_MAX_BYTES) throw tooLarge(`${path} has more than ${FILE_MAX_BYTES} bytes`);
    if (this.#bytes > SKILL_MAX_BYTES) throw tooLarge(`it has more than ${SKILL_MAX_BYTES} bytes`);
  }
}

/** The files below a folder, a path without symbolic links; links in it are left out. Paths are sorted. */
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
 * A file below `folder`, which is a path without symbolic links. What counts is what was opened: a link that leads out, or a folder
 * that was made one meanwhile, gives nothing. Rejects with `not-found`, `too-large`, or `invalid-input` for a path that leads out.
 */
export async function readInside(
  folder: string,
  path: string,
  maxBytes = FILE_MAX_BYTES,
): Promise<SkillFile> {
  const file = join(folder, checkedPath(path));
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (cause: unknown) => {
      throw new LangoError('not-found', `there is no file ${path} in the skill`, { cause });
    },
  );
  try {
    const stats = await handle.stat();
    const real = await realPathOf(handle.fd, file);
    if (!stats.isFile() || !real.startsWith(folder + sep)) {
      throw new LangoError('invalid-input', `${path} is no file of the skill's own`);
    }
    if (stats.size > maxBytes) throw tooLarge(`${path} has more than ${maxBytes} bytes`);
    return { path, content: await handle.readFile(), isExecutable: (stats.mode & EXECUTABLE) !== 0 };
  } finally {
    await handle.close();
  }
}

/** All files of a folder, within what a skill may hold. */
export async function readFolder(folder: string): Promise<readonly SkillFile[]> {
  const size = new SkillSize();
  const files: SkillFile[] = [];
  for (const path of await listFiles(folder)) {
    size.add(path, (await lstat(join(folder, path))).size);
    files.push(await readInside(folder, path));
  }
  return files;
}

/** Where the opened file really lies; the system says it where it can. */
async function realPathOf(descriptor: number, path: string): Promise<string> {
  return readlink(`/proc/self/fd/${descriptor}`).catch(() => realpath(path));
}

function tooLarge(what: string): LangoError {
  return new LangoError('too-large', `the skill is too large: ${what}`);
}
