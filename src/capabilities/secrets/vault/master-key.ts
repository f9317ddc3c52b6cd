import { randomBytes, scrypt } from 'node:crypto';
import { LangoError } from '../../../core/errors.js';
import { KEY_BYTES, keyId } from '../../../core/sealing.js';
import type { PrivateFile } from '../../../disk/private-file.js';
import type { MasterRecord, MasterSource } from './vault-store.js';

/** The possible sources of the master key. */
export interface KeySources {
  /** Used, and created, if there is no passphrase. */
  readonly keyFile: PrivateFile;
  readonly passphrase: string | undefined;
}

export interface MasterKey {
  readonly record: MasterRecord;
  readonly key: Buffer;
}

type PassphraseSource = Extract<MasterSource, { readonly kind: 'passphrase' }>;

/** The cost N of scrypt. It takes 128 MiB and about half a second. */
const SCRYPT_COST = 2 ** 17;
const SCRYPT_BLOCK = 8;
const SALT_BYTES = 16;

/** Loads the key that `record` describes. Rejects with advice if it is missing or wrong. */
export async function unlock(record: MasterRecord, { keyFile, passphrase }: KeySources): Promise<MasterKey> {
  const { source, id } = record;
  if (source.kind === 'file') return { record, key: await keyFromFile(id, keyFile) };
  if (passphrase === undefined) {
    const hint = 'Set LANGO_VAULT_PASSPHRASE, or vault.passphrase in the configuration.';
    const problem = 'The vault is locked with a passphrase, and none is given.';
    throw new LangoError('unavailable', problem, { hint });
  }
  const key = await derive(passphrase, source);
  if (keyId(key) === id) return { record, key };
  const hint = 'Use the passphrase that the vault was locked with. Nothing was changed.';
  throw new LangoError('unavailable', 'The passphrase of the vault is wrong.', { hint });
}

/** Creates the key of a new vault. */
export async function createMaster({ keyFile, passphrase }: KeySources): Promise<MasterKey> {
  if (passphrase !== undefined) return newFromPassphrase(passphrase);
  // Two processes that create the key file at the same time get the same key.
  const text = (await keyFile.load()) ?? (await keyFile.create(textOf(randomBytes(KEY_BYTES))));
  return masterKeyOf({ kind: 'file' }, parseKey(text, keyFile));
}

/**
 * Creates a key to rotate to: from `passphrase`, or a random key in the key file if there is none. `finish` makes it the only
 * one. Call it once the vault is encrypted under this key.
 */
export async function nextMaster(keyFile: PrivateFile, passphrase?: string) {
  if (passphrase !== undefined) {
    return { ...(await newFromPassphrase(passphrase)), finish: () => keyFile.remove() };
  }
  const key = randomBytes(KEY_BYTES);
  await nextFile(keyFile).replace(textOf(key));
  return { ...masterKeyOf({ kind: 'file' }, key), finish: () => finishRotation(keyFile, key) };
}

async function keyFromFile(id: string, keyFile: PrivateFile): Promise<Buffer> {
  const key = await readKey(keyFile);
  if (key && keyId(key) === id) return key;
  // A rotation was interrupted after the vault was encrypted under its new key.
  const next = await readKey(nextFile(keyFile));
  if (next && keyId(next) === id) {
    await finishRotation(keyFile, next);
    return next;
  }
  const problem = key ? 'holds the key of another vault' : 'is missing';
  const hint = 'Restore it from a backup. Without it, nothing in the vault can be read. Nothing was changed.';
  throw new LangoError('unavailable', `The key file of the vault ${keyFile.path} ${problem}.`, { hint });
}

async function newFromPassphrase(passphrase: string): Promise<MasterKey> {
  const salt = randomBytes(SALT_BYTES).toString('base64url');
  const source: PassphraseSource = { kind: 'passphrase', salt, cost: SCRYPT_COST };
  return masterKeyOf(source, await derive(passphrase, source));
}

function derive(passphrase: string, source: PassphraseSource): Promise<Buffer> {
  const { cost } = source;
  const options = { N: cost, r: SCRYPT_BLOCK, p: 1, maxmem: 256 * SCRYPT_BLOCK * cost };
  const salt = Buffer.from(source.salt, 'base64url');
  return new Promise((resolve, reject) => {
    scrypt(passphrase.normalize('NFC'), salt, KEY_BYTES, options, (error, key) =>
      error ? reject(error) : resolve(key),
    );
  });
}

function masterKeyOf(source: MasterSource, key: Buffer): MasterKey {
  return { key, record: { id: keyId(key), source } };
}

function nextFile(keyFile: PrivateFile): PrivateFile {
  return keyFile.withSuffix('.next');
}

/** Makes the key of a finished rotation the key of the vault. */
async function finishRotation(keyFile: PrivateFile, key: Buffer): Promise<void> {
  await keyFile.replace(textOf(key));
  await nextFile(keyFile).remove();
}

const PREFIX = 'lango-vault-key-1:';
const LINE = new RegExp(`^${PREFIX}([A-Za-z0-9_-]{43})\\s*$`);

function textOf(key: Buffer): string {
  return `${PREFIX}${key.toString('base64url')}\n`;
}

async function readKey(file: PrivateFile): Promise<Buffer | undefined> {
  const text = await file.load();
  return text === undefined ? undefined : parseKey(text, file);
}

function parseKey(text: string, { path }: PrivateFile): Buffer {
  const key = Buffer.from(LINE.exec(text)?.[1] ?? '', 'base64url');
  if (key.length === KEY_BYTES) return key;
  const problem = `The key file of the vault ${path} is damaged: it holds no key.`;
  throw new LangoError('unavailable', problem, { hint: 'Restore it from a backup. Nothing was changed.' });
}
