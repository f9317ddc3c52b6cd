import { randomBytes } from 'node:crypto';
import { LangoError } from '../core/errors.js';
import { SECRET_PATTERN } from './fields.js';
import { OwnFile } from './own-file.js';

const TOKEN_BYTES = 32;

/**
 * The token of this data folder; made at the first call, in a file that only its owner can read. Two
 * processes that start at once get the same one. Throws `invalid-config` for a file that others can
 * read, and `storage` when the folder cannot be used.
 */
export async function loadOrCreateToken(home: string): Promise<string> {
  const token = await loadToken(home);
  if (token !== undefined) return token;
  const file = tokenFile(home);
  return checkedToken(await file.create(`${randomBytes(TOKEN_BYTES).toString('base64url')}\n`), file);
}

/** The token of this data folder, or undefined when none was made yet. Throws like `loadOrCreateToken`. */
export async function loadToken(home: string): Promise<string | undefined> {
  const file = tokenFile(home);
  const text = await file.load();
  return text === undefined ? undefined : checkedToken(text, file);
}

function tokenFile(home: string): OwnFile {
  return new OwnFile(home, 'token', 'token file');
}

function checkedToken(text: string, { path }: OwnFile): string {
  const token = text.trim();
  if (SECRET_PATTERN.test(token)) return token;
  throw new LangoError('invalid-config', `The token file ${path} does not hold a token.`, {
    hint: 'Delete it, and a new one is made at the next start.',
  });
}
