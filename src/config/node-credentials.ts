import { createPrivateKey, createPublicKey, generateKeyPairSync, hash, randomBytes, sign } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { LangoError } from '../core/errors.js';
import { canonicalJson } from '../core/canonical-json.js';
import type { KeySet, ReadKeys, SigningKey } from '../core/card.js';
import { SECRET_PATTERN } from '../core/fields.js';
import { findingOfError, type Finding } from '../core/findings.js';
import { PrivateFile } from '../disk/private-file.js';
import type { Config } from './config.js';
import { isWeakToken } from './risks.js';
import type { Secrets } from './secrets.js';

const FILE = 'keys.json';
const SEAL_BYTES = 32;
const ALGORITHM = 'EdDSA';
/** A key stays published this long after its rotation, so that its signatures can be verified. */
const RETIRED_MS = 30 * 24 * 60 * 60 * 1_000;

const keyEntry = z.strictObject({
  createdAt: z.int(),
  retiredAt: z.int().optional(),
  jwk: z.strictObject({ kty: z.literal('OKP'), crv: z.literal('Ed25519'), x: z.string(), d: z.string() }),
});

const keyFile = z.strictObject({
  version: z.literal(1),
  /** An AES-256 key for secrets in the database. */
  seal: z.base64url(),
  keys: z.array(keyEntry).min(1),
});

type KeyFile = z.output<typeof keyFile>;
type KeyEntry = z.output<typeof keyEntry>;

/** The keys of this node. */
interface NodeKeys {
  readonly read: ReadKeys;
  /** The key that encrypts secrets in the database. */
  readonly seal: Buffer;
}

export interface KeyInfo {
  readonly kid: string;
  readonly createdAt: number;
  /** Undefined for the key that signs now. */
  readonly retiredAt: number | undefined;
}

/**
 * The keys of this data folder, created at the first call in a file that only its owner can read. Two processes that
 * start at once get the same keys. Throws `unavailable` if other users can read the file, `invalid-config` if it holds no
 * keys, and `storage` if the folder cannot be used.
 */
export async function openKeys(home: string): Promise<NodeKeys> {
  const first = (await loadFile(home)) ?? (await createFile(home));
  let cached = { stamp: await stampOf(home), set: keySet(first) };
  return {
    seal: Buffer.from(first.seal, 'base64url'),
    async read() {
      const stamp = await stampOf(home);
      if (stamp !== cached.stamp) {
        const file = await loadFile(home);
        if (file) cached = { stamp, set: keySet(file) };
      }
      return cached.set;
    },
  };
}

/** The keys for `lango keys`, newest first. Empty if none were created yet. */
export async function listKeys(home: string): Promise<readonly KeyInfo[]> {
  const { keys = [] } = (await loadFile(home)) ?? {};
  return keys.map(({ jwk, createdAt, retiredAt }) => ({ kid: thumbprint(jwk), createdAt, retiredAt }));
}

/** Creates a new signing key, which a running server uses at once. The previous key stays published for 30 days. */
export async function rotateKeys(home: string, now = Date.now()): Promise<readonly KeyInfo[]> {
  const file = await loadFile(home);
  if (!file) await createFile(home);
  else {
    const kept = file.keys
      .map((entry) => ({ ...entry, retiredAt: entry.retiredAt ?? now }))
      .filter(({ retiredAt }) => retiredAt + RETIRED_MS > now);
    await privateFile(home).replace(textOf({ ...file, keys: [newEntry(now), ...kept] }));
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
  const privateKey = createPrivateKey({ key: jwk, format: 'jwk' });
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
  const file = privateFile(home);
  const text = await file.load();
  return text === undefined ? undefined : parseFile(text, file);
}

function privateFile(home: string, name = FILE, title = 'key file'): PrivateFile {
  const hint = 'Set LANGO_HOME to a folder that you can write to.';
  return new PrivateFile(join(home, name), { title, hint, createsFolder: true });
}

/** Throws an error without details, because they could reveal a key. */
function parseFile(text: string, { path }: PrivateFile): KeyFile {
  try {
    return keyFile.parse(JSON.parse(text));
  } catch {
    const hint = 'Restore it from a backup, or move it away: the next start creates new keys.';
    const text = `The key file ${path} does not hold the keys of a node.`;
    throw new LangoError('invalid-config', text, { hint });
  }
}

async function createFile(home: string): Promise<KeyFile> {
  const seal = randomBytes(SEAL_BYTES).toString('base64url');
  const file = privateFile(home);
  return parseFile(await file.create(textOf({ version: 1, seal, keys: [newEntry(Date.now())] })), file);
}

const textOf = (file: KeyFile): string => `${JSON.stringify(file, undefined, 2)}\n`;

async function stampOf(home: string): Promise<string> {
  try {
    const { mtimeMs, ino } = await stat(join(home, FILE));
    return `${ino}.${mtimeMs}`;
  } catch {
    // `read` keeps the loaded keys while the file is missing.
    return '';
  }
}

const TOKEN_BYTES = 32;

/**
 * The bearer token that callers present: the configured one, else that of the data folder; undefined in modes without
 * one. Rejects like `loadOrCreateToken`, and with `invalid-config` for a token of the data folder that can be guessed.
 */
export async function openToken({ config, secrets }: TokenSources): Promise<string | undefined> {
  if (config.auth.mode !== 'token') return undefined;
  const token = secrets.token ?? (await loadOrCreateToken(config.home));
  assertStrong(token, config);
  return token;
}

/** Finds faults of the token of the data folder. Makes none. */
export async function tokenFindings({ config, secrets }: TokenSources): Promise<readonly Finding[]> {
  if (config.auth.mode !== 'token' || secrets.token !== undefined) return [];
  const loaded = loadToken(config.home).then((token) => assertStrong(token, config));
  return findingOfError(loaded, () => ['auth', 'token']);
}

type TokenSources = Readonly<{ config: Config; secrets: Pick<Secrets, 'token'> }>;

/** The token of the configuration was checked with it. The one in the data folder may have been written by hand. */
function assertStrong(token: string | undefined, { server }: Config): void {
  if (token === undefined || !isWeakToken(token) || server.allowRisks.includes('weakToken')) return;
  throw new LangoError('invalid-config', 'The token of the data folder can be guessed.', {
    hint: 'Delete its file, so that the next start makes a new one; or add weakToken to server.allowRisks.',
  });
}

/**
 * The bearer token of this data folder, created at the first call in a file that only its owner can read. Two processes
 * that start at once get the same token. Throws `unavailable` if other users can read the file, and `storage` if the
 * folder cannot be used.
 */
export async function loadOrCreateToken(home: string): Promise<string> {
  const token = await loadToken(home);
  if (token !== undefined) return token;
  const file = tokenFile(home);
  return checkedToken(await file.create(`${randomBytes(TOKEN_BYTES).toString('base64url')}\n`), file);
}

/** The token of this data folder; undefined if none was created yet. Throws like `loadOrCreateToken`. */
export async function loadToken(home: string): Promise<string | undefined> {
  const file = tokenFile(home);
  const text = await file.load();
  return text === undefined ? undefined : checkedToken(text, file);
}

/** The file of `loadOrCreateToken`. */
export function tokenPath(home: string): string {
  return tokenFile(home).path;
}

const tokenFile = (home: string): PrivateFile => privateFile(home, 'token', 'token file');

function checkedToken(text: string, { path }: PrivateFile): string {
  const token = text.trim();
  if (SECRET_PATTERN.test(token)) return token;
  const hint = 'Delete it. The next start creates a new one.';
  throw new LangoError('invalid-config', `The token file ${path} does not hold a token.`, { hint });
}
