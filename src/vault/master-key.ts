import { randomBytes, scrypt } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { LangoError } from '../core/errors.js';
import type { MasterRecord, MasterSource } from '../core/vault.js';
import { moveKeyFile, readKeyFile, readOrMakeKeyFile, writeKeyFile } from './key-file.js';
import { KEY_BYTES, keyId } from './sealing.js';

/** Where the master key may come from. */
export interface KeyPlaces {
  /** Absolute. Used, and made, when there is no passphrase. */
  readonly keyFile: string;
  readonly passphrase: string | undefined;
}

export interface MasterKey {
  readonly record: MasterRecord;
  readonly key: Buffer;
}

/** A master key that is about to take the place of another one. */
export interface NextMasterKey extends MasterKey {
  /** To be called once the vault is under it. */
  settle(): Promise<void>;
}

/** N of scrypt: 128 MiB and about half a second. */
const SCRYPT_COST = 2 ** 17;
const SCRYPT_BLOCK = 8;
const SALT_BYTES = 16;

/** The key that `record` describes. Throws with advice when it is not the right one; changes nothing. */
export async function unlock(record: MasterRecord, places: KeyPlaces): Promise<MasterKey> {
  const { source } = record;
  return { record, key: source.kind === 'file' ? await fromFile(record, places) : await fromPassphrase() };

  async function fromPassphrase(): Promise<Buffer> {
    if (places.passphrase === undefined) {
      throw new LangoError('invalid-config', 'The vault is locked with a passphrase, and none is given.', {
        hint: 'Set LANGO_VAULT_PASSPHRASE, or vault.passphrase in the configuration.',
      });
    }
    const key = await derive(places.passphrase, source);
    if (keyId(key) === record.id) return key;
    throw new LangoError('invalid-config', 'The passphrase of the vault is wrong.', {
      hint: 'Give the one it was locked with. Nothing was changed.',
    });
  }
}

/** The key of a vault that has none yet. */
export async function createMaster({ keyFile, passphrase }: KeyPlaces): Promise<MasterKey> {
  return passphrase === undefined
    ? described({ kind: 'file' }, await readOrMakeKeyFile(keyFile))
    : newFromPassphrase(passphrase);
}

/** A new key to rotate to: from `passphrase`, or random in the key file when there is none. */
export async function nextMaster(keyFile: string, passphrase?: string): Promise<NextMasterKey> {
  if (passphrase !== undefined) {
    return { ...(await newFromPassphrase(passphrase)), settle: () => rm(keyFile, { force: true }) };
  }
  const key = randomBytes(KEY_BYTES);
  await writeKeyFile(nextFile(keyFile), key);
  return { ...described({ kind: 'file' }, key), settle: () => moveKeyFile(nextFile(keyFile), keyFile) };
}

async function fromFile({ id }: MasterRecord, { keyFile }: KeyPlaces): Promise<Buffer> {
  const key = await readKeyFile(keyFile);
  if (key && keyId(key) === id) return key;
  // A rotation was cut off after the vault went under its new key.
  const next = await readKeyFile(nextFile(keyFile));
  if (next && keyId(next) === id) {
    await moveKeyFile(nextFile(keyFile), keyFile);
    return next;
  }
  const problem = key ? 'holds the key of another vault' : 'is missing';
  throw new LangoError('unavailable', `The vault's key file ${keyFile} ${problem}.`, {
    hint: 'Restore it from a backup: without it nothing in the vault can be read. Nothing was changed.',
  });
}

async function newFromPassphrase(passphrase: string): Promise<MasterKey> {
  const salt = randomBytes(SALT_BYTES).toString('base64url');
  const source: MasterSource = { kind: 'passphrase', salt, cost: SCRYPT_COST };
  return described(source, await derive(passphrase, source));
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

function described(source: MasterSource, key: Buffer): MasterKey {
  return { key, record: { id: keyId(key), source } };
}

function nextFile(keyFile: string): string {
  return `${keyFile}.next`;
}
