import { randomBytes, scrypt } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { LangoError } from '../core/errors.js';
import type { MasterRecord, MasterSource } from '../stores/vault.js';
import { moveKeyFile, readKeyFile, readOrCreateKeyFile, writeKeyFile } from './key-file.js';
import { KEY_BYTES, keyId } from './sealing.js';

/** The possible sources of the master key. */
export interface KeySources {
  /** An absolute path. The file is used, and created, if there is no passphrase. */
  readonly keyFile: string;
  readonly passphrase: string | undefined;
}

export interface MasterKey {
  readonly record: MasterRecord;
  readonly key: Buffer;
}

/** A master key that will replace the current one. */
export interface NextMasterKey extends MasterKey {
  /** To be called once the vault is encrypted under this key. */
  settle(): Promise<void>;
}

/** The cost N of scrypt. It takes 128 MiB and about half a second. */
const SCRYPT_COST = 2 ** 17;
const SCRYPT_BLOCK = 8;
const SALT_BYTES = 16;

/** The key that `record` describes. Throws with advice if it is missing or wrong. Changes nothing. */
export async function unlock(record: MasterRecord, sources: KeySources): Promise<MasterKey> {
  const { source } = record;
  return { record, key: source.kind === 'file' ? await fromFile(record, sources) : await fromPassphrase() };

  async function fromPassphrase(): Promise<Buffer> {
    if (sources.passphrase === undefined) {
      throw new LangoError('invalid-config', 'The vault is locked with a passphrase, and none is given.', {
        hint: 'Set LANGO_VAULT_PASSPHRASE, or vault.passphrase in the configuration.',
      });
    }
    const key = await derive(sources.passphrase, source);
    if (keyId(key) === record.id) return key;
    throw new LangoError('invalid-config', 'The passphrase of the vault is wrong.', {
      hint: 'Use the passphrase that the vault was locked with. Nothing was changed.',
    });
  }
}

/** Creates the key of a new vault. */
export async function createMaster({ keyFile, passphrase }: KeySources): Promise<MasterKey> {
  return passphrase === undefined
    ? masterKeyOf({ kind: 'file' }, await readOrCreateKeyFile(keyFile))
    : newFromPassphrase(passphrase);
}

/** Creates a key to rotate to: from `passphrase`, or a random key in the key file if there is none. */
export async function nextMaster(keyFile: string, passphrase?: string): Promise<NextMasterKey> {
  if (passphrase !== undefined) {
    return { ...(await newFromPassphrase(passphrase)), settle: () => rm(keyFile, { force: true }) };
  }
  const key = randomBytes(KEY_BYTES);
  await writeKeyFile(nextFile(keyFile), key);
  return { ...masterKeyOf({ kind: 'file' }, key), settle: () => moveKeyFile(nextFile(keyFile), keyFile) };
}

async function fromFile({ id }: MasterRecord, { keyFile }: KeySources): Promise<Buffer> {
  const key = await readKeyFile(keyFile);
  if (key && keyId(key) === id) return key;
  // A rotation was interrupted after the vault was encrypted under its new key.
  const next = await readKeyFile(nextFile(keyFile));
  if (next && keyId(next) === id) {
    await moveKeyFile(nextFile(keyFile), keyFile);
    return next;
  }
  const problem = key ? 'holds the key of another vault' : 'is missing';
  throw new LangoError('unavailable', `The vault's key file ${keyFile} ${problem}.`, {
    hint: 'Restore it from a backup. Without it, nothing in the vault can be read. Nothing was changed.',
  });
}

async function newFromPassphrase(passphrase: string): Promise<MasterKey> {
  const salt = randomBytes(SALT_BYTES).toString('base64url');
  const source: MasterSource = { kind: 'passphrase', salt, cost: SCRYPT_COST };
  return masterKeyOf(source, await derive(passphrase, source));
}

function derive(passphrase: string, source: MasterSource): Promise<Buffer> {
  if (source.kind !== 'passphrase') throw new TypeError('a key file needs no passphrase');
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

function nextFile(keyFile: string): string {
  return `${keyFile}.next`;
}
