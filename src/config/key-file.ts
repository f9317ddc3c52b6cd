import type { KeyObject } from 'node:crypto';
import { createPrivateKey, createPublicKey, generateKeyPairSync, hash, randomBytes, sign } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { LangoError } from '../core/errors.js';
import { canonicalJson } from '../core/json.js';
import type { KeySet, ReadKeys, SigningKey } from '../core/card.js';
import { OwnFile } from './own-file.js';

const FILE = 'keys.json';
const SEAL_BYTES = 32;
const ALGORITHM = 'EdDSA';
/** What was signed with an old key can be checked for so long after its rotation, in milliseconds. */
const KEPT_MS = 30 * 24 * 60 * 60 * 1_000;

const keyEntry = z.strictObject({
  createdAt: z.int(),
  retiredAt: z.int().optional(),
  jwk: z.strictObject({
    kty: z.literal('OKP'),
    crv: z.literal('Ed25519'),
    x: z.string(),
    d: z.string(),
  }),
});

const keyFile = z.strictObject({
  version: z.literal(1),
  /** For secrets in the database: AES-256. */
  seal: z.base64url(),
  keys: z.array(keyEntry).min(1),
});

type KeyFile = z.output<typeof keyFile>;
type KeyEntry = z.output<typeof keyEntry>;

/** The node's own keys. */
export interface NodeKeys {
  readonly read: ReadKeys;
  /** The key that secrets in the database are sealed with. */
  readonly seal: Buffer;
}

export interface KeyInfo {
  readonly kid: string;
  readonly createdAt: number;
  /** Undefined for the one that signs now. */
  readonly retiredAt: number | undefined;
}

/**
 * The keys of this data folder; made at the first call, in a file that only its owner can read. Two processes that
 * start at once get the same ones. Throws `invalid-config` for a file that others can read or that holds no keys,
 * and `storage` when the folder cannot be used.
 */
export async function openKeys(home: string): Promise<NodeKeys> {
  const first = (await loadFile(home)) ?? (await createFile(home));
  let held = { stamp: await stampOf(home), set: keySet(first) };
  return {
    seal: Buffer.from(first.seal, 'base64url'),
    async read() {
      const stamp = await stampOf(home);
      if (stamp !== held.stamp) {
        const file = await loadFile(home);
        if (file) held = { stamp, set: keySet(file) };
      }
      return held.set;
    },
  };
}

/** What `lango keys` shows: the newest first. Empty when there are none yet. */
export async function listKeys(home: string): Promise<readonly KeyInfo[]> {
  return ((await loadFile(home))?.keys ?? []).map((entry) => ({
    kid: thumbprint(entry.jwk),
    createdAt: entry.createdAt,
    retiredAt: entry.retiredAt,
  }));
}

/**
 * Makes a new key that signs from now on. The one before stays published for 30 days, older ones go. A running
 * server takes it up by itself.
 */
export async function rotateKeys(home: string, now = Date.now()): Promise<readonly KeyInfo[]> {
  const file = await loadFile(home);
  if (!file) await createFile(home);
  else {
    const kept = file.keys
      .map((entry) => ({ ...entry, retiredAt: entry.retiredAt ?? now }))
      .filter(({ retiredAt }) => retiredAt + KEPT_MS > now);
    await ownFile(home).replace(textOf({ ...file, keys: [newEntry(now), ...kept] }));
  }
  return listKeys(home);
}

function keySet({ keys }: KeyFile): KeySet {
  const published = keys.map(toSigningKey);
  return { current: published[0]!, published };
}

function toSigningKey({ jwk }: KeyEntry): SigningKey {
  const kid = thumbprint(jwk);
  const { kty, crv, x } = jwk;
  const privateKey: KeyObject = createPrivateKey({ key: jwk, format: 'jwk' });
  return {
    kid,
    publicJwk: { kty, crv, x, kid, alg: ALGORITHM, use: 'sig' },
    sign: (bytes) => sign(null, Buffer.from(bytes), privateKey).toString('base64url'),
  };
}

function thumbprint({ crv, kty, x }: KeyEntry['jwk']): string {
  return hash('sha256', canonicalJson({ crv, kty, x }), 'base64url');
}

function newEntry(now: number): KeyEntry {
  const { privateKey } = generateKeyPairSync('ed25519');
  const { x } = createPublicKey(privateKey).export({ format: 'jwk' });
  const { d } = privateKey.export({ format: 'jwk' });
  return { createdAt: now, jwk: { kty: 'OKP', crv: 'Ed25519', x: x ?? '', d: d ?? '' } };
}

async function loadFile(home: string): Promise<KeyFile | undefined> {
  const file = ownFile(home);
  const text = await file.load();
  return text === undefined ? undefined : parseFile(text, file);
}

function ownFile(home: string): OwnFile {
  return new OwnFile(home, FILE, 'key file');
}

/** What is wrong with it is not told: that could show a key. */
function parseFile(text: string, { path }: OwnFile): KeyFile {
  try {
    return keyFile.parse(JSON.parse(text));
  } catch {
    throw new LangoError('invalid-config', `The key file ${path} does not hold the keys of a node.`, {
      hint: 'Restore it from a backup, or move it away: new keys are made at the next start.',
    });
  }
}

async function createFile(home: string): Promise<KeyFile> {
  const seal = randomBytes(SEAL_BYTES).toString('base64url');
  const file = ownFile(home);
  return parseFile(await file.create(textOf({ version: 1, seal, keys: [newEntry(Date.now())] })), file);
}

function textOf(file: KeyFile): string {
  return `${JSON.stringify(file, undefined, 2)}\n`;
}

async function stampOf(home: string): Promise<string> {
  try {
    const { mtimeMs, ino } = await stat(join(home, FILE));
    return `${ino}.${mtimeMs}`;
  } catch {
    // A file that is gone for a moment changes nothing.
    return '';
  }
}
