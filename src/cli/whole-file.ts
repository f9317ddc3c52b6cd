import { randomBytes } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { link, open, rm } from 'node:fs/promises';
import { codeOf, LangoError, errorText } from '../core/errors.js';

/**
 * Writes a new file that only this user may read: whole, or not at all. Rejects with `conflict` when there is one of
 * this name, and leaves it as it is.
 */
export async function writeWhole(path: string, pieces: AsyncIterable<string>): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}.part`;
  try {
    const file = await openNew(draft, path);
    try {
      for await (const piece of pieces) await file.appendFile(piece);
      await file.sync();
    } finally {
      await file.close();
    }
    // Unlike a rename, a link never takes the place of another file.
    await link(draft, path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    throw new LangoError('conflict', `${path} is there already.`, { hint: 'Name another file.' });
  } finally {
    await rm(draft, { force: true });
  }
}

async function openNew(draft: string, path: string): Promise<FileHandle> {
  try {
    return await open(draft, 'wx', 0o600);
  } catch (error) {
    const why = codeOf(error) ?? errorText(error);
    throw new LangoError('invalid-input', `${path} cannot be written (${why}).`, {
      hint: 'Name a file in a folder that is there and that you can write to.',
      cause: error,
    });
  }
}
