import { constants } from 'node:fs';
import { access, open, rename, rm, type FileHandle } from 'node:fs/promises';
import { LangoError } from '../../core/errors.js';
import { ownerFor, type Place } from './paths.js';
import type { Spot } from './workspace.js';

/** "a folder", "a FIFO": what something is, for sentences. */
export function describeType({ stats }: Place): string {
  if (stats.isFile()) return 'a file';
  if (stats.isDirectory()) return 'a folder';
  if (stats.isSymbolicLink()) return 'a symbolic link';
  if (stats.isFIFO()) return 'a FIFO';
  if (stats.isSocket()) return 'a socket';
  return 'a device';
}

/** The same without its article. */
export function typeOf(place: Place): string {
  return describeType(place).replace(/^an? /, '');
}

/** Rejects with `invalid-input` for all but regular files; `shown` is the path for the message. */
export function assertFile(place: Place, shown: string): void {
  if (place.stats.isFile()) return;
  const advice = place.stats.isDirectory() ? 'use fs_list for it' : 'only regular files are read and written';
  throw new LangoError('invalid-input', `path: "${shown}" is ${describeType(place)}; ${advice}.`);
}

/** Opens a regular file for reading; the caller closes it. */
export async function openFile(place: Place, shown: string): Promise<FileHandle> {
  assertFile(place, shown);
  // On systems without path handles it may have become something else meanwhile: never wait for it.
  const handle = await open(place.at, constants.O_RDONLY | constants.O_NONBLOCK);
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  throw new LangoError('invalid-input', `path: "${shown}" is not a regular file.`);
}

/** The whole of a file. Rejects with `too-large` beyond `maxBytes`. */
export async function readWhole(place: Place, shown: string, maxBytes: number): Promise<Buffer> {
  const handle = await openFile(place, shown);
  try {
    const { size } = await handle.stat();
    if (size > maxBytes) {
      throw new LangoError(
        'too-large',
        `path: "${shown}" has ${size} bytes; at most ${maxBytes} can be changed.`,
      );
    }
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

export const MODE_BITS = 0o777;
const NEW_FILE_MODE = 0o666;

/**
 * Puts a file in the place of what stands there, in one step: readers see the old content or the new one,
 * and after a failure the old one. Keeps mode and, as root, the owner. The call's key names the file on
 * the way, so that a repeat clears what a crash left.
 */
export async function replaceFile(spot: Spot, content: string | Buffer, key: string): Promise<void> {
  const { folder, name, place } = spot;
  if (place !== undefined) await access(place.at, constants.W_OK);
  const temporary = `${folder.at}/.${key.slice(0, 16)}.lango-new`;
  await rm(temporary, { force: true });
  try {
    await writeNew(temporary, content, spot);
    await rename(temporary, `${folder.at}/${name}`);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncFolder(folder);
}

async function writeNew(path: string, content: string | Buffer, { folder, place }: Spot): Promise<void> {
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
  const handle = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, NEW_FILE_MODE);
  try {
    const owner = ownerFor(place ?? folder);
    if (owner !== undefined) await handle.chown(owner.uid, owner.gid);
    if (place !== undefined) await handle.chmod(place.stats.mode & MODE_BITS);
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Makes names made, moved or removed in it durable. */
export async function syncFolder(folder: Place): Promise<void> {
  const handle = await open(folder.at, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
