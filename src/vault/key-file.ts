import { randomBytes } from 'node:crypto';
import { link, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf, LangoError, errorText } from '../core/errors.js';
import { KEY_BYTES } from './sealing.js';

const PREFIX = 'lango-vault-key-1:';
const LINE = new RegExp(`^${PREFIX}([A-Za-z0-9_-]{43})\\s*$`);
const ANYONE_ELSE = 0o077;

/**
 * The key in `file`; undefined if there is no such file. Throws `invalid-config` if other users can read the file or it
 * holds no key, and `storage` if it cannot be read.
 */
export async function readKeyFile(file: string): Promise<Buffer | undefined> {
  const handle = await open(file, 'r').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw unusable(file, error);
  });
  if (!handle) return undefined;
  try {
    const { mode } = await handle.stat();
    if ((mode & ANYONE_ELSE) !== 0 && process.platform !== 'win32') {
      throw new LangoError('invalid-config', `The vault's key file ${file} can be read by other users.`, {
        hint: `Run: chmod 600 ${file}`,
      });
    }
    const [, text] = LINE.exec(await handle.readFile('utf8')) ?? [];
    const key = Buffer.from(text ?? '', 'base64url');
    if (key.length === KEY_BYTES) return key;
    throw new LangoError('invalid-config', `The vault's key file ${file} is damaged: it holds no key.`, {
      hint: 'Restore it from a backup. Nothing was changed.',
    });
  } finally {
    await handle.close();
  }
}

/** The key in `file`, created in one step if there is none. Two processes that create it get the same key. */
export async function readOrCreateKeyFile(file: string): Promise<Buffer> {
  const known = await readKeyFile(file);
  if (known) return known;
  const draft = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`;
  try {
    await writeKeyFile(draft, randomBytes(KEY_BYTES));
    await link(draft, file).catch((error: unknown) => {
      if (codeOf(error) !== 'EEXIST') throw unusable(file, error);
    });
    await syncFolder(file);
  } finally {
    await rm(draft, { force: true });
  }
  return (await readKeyFile(file))!;
}

/** Replaces the file. Resolves once it is durable. */
export async function writeKeyFile(file: string, key: Buffer): Promise<void> {
  try {
    await rm(file, { force: true });
    const handle = await open(file, 'wx', 0o600);
    try {
      await handle.writeFile(`${PREFIX}${key.toString('base64url')}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await syncFolder(file);
  } catch (error) {
    throw unusable(file, error);
  }
}

export async function moveKeyFile(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
    await syncFolder(to);
  } catch (error) {
    throw unusable(to, error);
  }
}

async function syncFolder(file: string): Promise<void> {
  const folder = await open(dirname(file), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function unusable(file: string, cause: unknown): LangoError {
  return new LangoError('storage', `The vault's key file ${file} cannot be used: ${errorText(cause)}.`, {
    hint: 'Let this user read and write it, or name another file in vault.keyFile.',
    cause,
  });
}
