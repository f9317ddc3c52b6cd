import type { JsonObject } from './json.js';
import type { Scope } from './task.js';

/**
 * What is kept for an owner and never shown to a model: secrets, private keys, wallets. Encrypted at rest. Nothing is
 * found across owners: what belongs to somebody else is absent.
 */
export interface Vault {
  /**
   * Keeps `entry` and resolves once it is durable. `expected` is the version that is replaced, 0 for none: when another
   * stands there, it rejects with `conflict` and nothing is changed. Without it, the entry is made or replaced.
   * Rejects with `invalid-input` (name, size), `too-many`, `unavailable` (the vault cannot be opened).
   */
  put(scope: Scope, entry: VaultEntry, expected?: number): Promise<VaultItem>;
  /** Undefined when there is none. Rejects with `storage` when what is stored was damaged or tampered with. */
  get(scope: Scope, kind: VaultKind, name: string): Promise<KeptEntry | undefined>;
  /** Without the values, by name. */
  list(scope: Scope, kind: VaultKind): Promise<readonly VaultItem[]>;
  /** False when there was none. */
  delete(scope: Scope, kind: VaultKind, name: string): Promise<boolean>;
}

/**
 * `secret`: what a person stored, for tools to use by reference. `key`: a named cryptographic key. `wallet`: a key
 * that signs payments. Names of different kinds have nothing to do with each other.
 */
export type VaultKind = 'secret' | 'key' | 'wallet';

/** `[A-Za-z][A-Za-z0-9_.-]{0,63}` */
export const VAULT_NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;

export interface VaultEntry {
  readonly kind: VaultKind;
  /** See `VAULT_NAME`. */
  readonly name: string;
  /** 1 byte to 64 KiB. */
  readonly value: Uint8Array;
  /** Not secret, but bound to the value: a change of it outside the vault is found out. */
  readonly metadata: JsonObject;
}

export interface VaultItem {
  readonly kind: VaultKind;
  readonly name: string;
  readonly metadata: JsonObject;
  /** 1 for the first value under this name; each replacement adds one. */
  readonly version: number;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface KeptEntry extends VaultItem {
  readonly value: Uint8Array;
}

/** What the vault keeps in a database: nothing here is readable without the master key. */
export interface VaultStore {
  master(): Promise<MasterRecord | undefined>;
  /** Rejects with `conflict` when there is one already. */
  createMaster(record: MasterRecord): Promise<void>;
  dataKey(scope: Scope): Promise<Uint8Array | undefined>;
  dataKeys(): Promise<readonly ScopedKey[]>;
  /** Keeps the first one for a scope and resolves with the one that is kept. */
  addDataKey(key: ScopedKey): Promise<Uint8Array>;
  /**
   * Replaces the master record and every data key in one transaction. Rejects with `conflict`, with nothing changed,
   * unless `from` is the master now and `keys` holds each scope there is.
   */
  rotate(from: string, to: MasterRecord, keys: readonly ScopedKey[]): Promise<void>;
  /** Undefined when there is none. */
  entry(scope: Scope, kind: VaultKind, name: string): Promise<SealedEntry | undefined>;
  /** By name. */
  entries(scope: Scope, kind: VaultKind): Promise<readonly SealedEntry[]>;
  /** The scopes that have entries of a kind. */
  scopes(kind: VaultKind): Promise<readonly Scope[]>;
  /**
   * Writes the next version. Rejects with `conflict` when the newest there is (0 for none) is not the one before it, and
   * with `too-many` when it would be more than `most` of its kind and owner.
   */
  putEntry(scope: Scope, entry: NewSealedEntry, most: number): Promise<SealedEntry>;
  deleteEntry(scope: Scope, kind: VaultKind, name: string): Promise<boolean>;
}

/** How the master key is made, and a fingerprint to know it by. */
export interface MasterRecord {
  /** Of the key: 32 hex digits that tell nothing about it. */
  readonly id: string;
  readonly source: MasterSource;
}

export type MasterSource =
  | { readonly kind: 'file' }
  /** scrypt (RFC 7914) over the passphrase; `salt` in base64url, `cost` is N. */
  | { readonly kind: 'passphrase'; readonly salt: string; readonly cost: number };

export interface ScopedKey extends Scope {
  readonly wrapped: Uint8Array;
}

export interface NewSealedEntry {
  readonly kind: VaultKind;
  readonly name: string;
  readonly version: number;
  readonly metadata: JsonObject;
  readonly sealed: Uint8Array;
}

export interface SealedEntry extends NewSealedEntry {
  readonly createdAt: number;
  readonly updatedAt: number;
}
