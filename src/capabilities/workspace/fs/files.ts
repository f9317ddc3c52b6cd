import { constants } from 'node:fs';
import { access, open, rename, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { LangoError } from '../../../core/errors.js';
import type { ToolContext } from '../../../core/tool.js';
import { ownerOfNewEntry, type OpenPath } from '../../../disk/open-path.js';
import { bytesOnDisk, ENTRY_BYTES } from '../../../disk/disk-use.js';
import { TEMPORARY_SUFFIX, type PathTarget, type Workspace } from './workspace.js';

/** Names the type of an object, with its article: "a folder", "a FIFO". */
export function describeType({ stats }: OpenPath): string {
  if (stats.isFile()) return 'a file';
  if (stats.isDirectory()) return 'a folder';
  if (stats.isSymbolicLink()) return 'a symbolic link';
  if (stats.isFIFO()) return 'a FIFO';
  if (stats.isSocket()) return 'a socket';
  return 'a device';
}

/** The type without its article. */
export function typeOf(opened: OpenPath): string {
  return describeType(opened).replace(/^an? /, '');
}

/** Throws `invalid-input` for everything but regular files; `shown` is the path for the message. */
export function assertFile(opened: OpenPath, shown: string): void {
  const { stats } = opened;
  if (stats.isFile()) return;
  const advice = stats.isDirectory() ? 'use fs_list for it' : 'only regular files are read and written';
  throw new LangoError('invalid-input', `path: "${shown}" is ${describeType(opened)}; ${advice}.`);
}

/** Opens a regular file for reading. The caller closes it. */
export async function openFile(opened: OpenPath, shown: string): Promise<FileHandle> {
  assertFile(opened, shown);
  // On systems without path handles the file may have been replaced by a FIFO meanwhile: O_NONBLOCK never waits for it.
  const handle = await open(opened.at, constants.O_RDONLY | constants.O_NONBLOCK);
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  throw new LangoError('invalid-input', `path: "${shown}" is not a regular file.`);
}

/** Throws `too-large` when the new content of a file is longer than `maxBytes`; `argument` is named in the message. */
export function assertSize(argument: string, content: string | Buffer, maxBytes: number): void {
  const bytes = Buffer.byteLength(content);
  if (bytes <= maxBytes) return;
  const text = `${argument}: the file would have ${bytes} bytes; at most ${maxBytes} are allowed.`;
  throw new LangoError('too-large', text);
}

/** Reads a whole file. Rejects with `too-large` beyond `maxBytes`. */
export async function readWhole(opened: OpenPath, shown: string, maxBytes: number): Promise<Buffer> {
  await using handle = await openFile(opened, shown);
  const { size } = await handle.stat();
  if (size <= maxBytes) return await handle.readFile();
  const text = `path: "${shown}" has ${size} bytes; at most ${maxBytes} can be changed.`;
  throw new LangoError('too-large', text);
}

export const MODE_BITS = 0o777;
const NEW_FILE_MODE = 0o666;

/**
 * Replaces a file in one step: readers see the old content or the new content, and after a failure the old one remains.
 * Keeps the mode and, as root, the owner. The call's key names the temporary file, so a call that is repeated after a crash
 * removes the file that the first attempt left behind.
 */
export async function replaceFile(
  target: PathTarget,
  content: string | Buffer,
  { context, workspace }: { readonly context: ToolContext; readonly workspace: Workspace },
): Promise<void> {
  const { folder, name, existing } = target;
  if (existing !== undefined) await access(existing.at, constants.W_OK);
  const before = existing ? bytesOnDisk(existing.stats) : 0;
  const more = Math.max(Buffer.byteLength(content), ENTRY_BYTES) - before;
  const temporary = `.${context.key.slice(0, 16)}${TEMPORARY_SUFFIX}`;
  const at = `${folder.at}/${temporary}`;
  await workspace.budget.spend(context, more, async () => {
    await rm(at, { force: true });
    const forgetRecord = await workspace.unfinished?.record(join(folder.path, temporary));
    try {
      await writeNew(at, content, target);
      await rename(at, `${folder.at}/${name}`);
    } catch (error) {
      await rm(at, { force: true });
      throw error;
    } finally {
      await forgetRecord?.();
    }
    await syncFolder(folder);
  });
}

async function writeNew(path: string, content: string | Buffer, target: PathTarget): Promise<void> {
  const { folder, existing } = target;
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
  await using handle = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, NEW_FILE_MODE);
  const owner = ownerOfNewEntry(existing ?? folder);
  if (owner !== undefined) await handle.chown(owner.uid, owner.gid);
  if (existing !== undefined) await handle.chmod(existing.stats.mode & MODE_BITS);
  await handle.writeFile(content);
  await handle.sync();
}

/** Makes created, moved and removed names in the folder durable. */
export async function syncFolder(folder: OpenPath): Promise<void> {
  await using handle = await open(folder.at, constants.O_RDONLY | constants.O_DIRECTORY);
  await handle.sync();
}
