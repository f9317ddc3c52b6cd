import type { z } from 'zod';
import type { JsonObject } from './json.js';
import type { SecretUse } from './secrets.js';
import { Contract } from './service.js';
import type { Scope } from './task.js';
import type { secret } from './vault-operations.js';

/** Secrets, private keys and wallets, encrypted at rest, never shown to a model. Entries of other owners are absent. */
export interface Vault {
  /**
   * Creates or replaces an entry and resolves once it is durable. With `expected`, the version to replace (0 for none),
   * rejects with `conflict`, with nothing changed, when there is another version. Also rejects with `invalid-input` (name,
   * size), `too-many` and `unavailable` (the vault cannot be opened).
   */
  put(scope: Scope, entry: VaultEntry, expected?: number): Promise<VaultItem>;
  /** Undefined without such an entry. Rejects with `storage` when the entry was damaged or tampered with. */
  get(scope: Scope, kind: VaultKind, name: string): Promise<OpenedEntry | undefined>;
  /** Lists entries without their values, by name. */
  list(scope: Scope, kind: VaultKind): Promise<readonly VaultItem[]>;
  /** False without such an entry. */
  delete(scope: Scope, kind: VaultKind, name: string): Promise<boolean>;
}

/** `secret`: a value that tools use by reference; `key`: a cryptographic key; `wallet`: signs transfers. Each has own names. */
export type VaultKind = 'secret' | 'key' | 'wallet';

export interface VaultEntry {
  readonly kind: VaultKind;
  /** Matches `VAULT_NAME`. */
  readonly name: string;
  /** 1 byte to 64 KiB. */
  readonly value: Uint8Array;
  /** Not secret, but bound to the value: reading detects a change made outside the vault. */
  readonly metadata: JsonObject;
}

export interface VaultItem extends Omit<VaultEntry, 'value'> {
  /** Counts from 1; each replacement adds one. */
  readonly version: number;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface OpenedEntry extends VaultItem {
  readonly value: Uint8Array;
}

/** A secret without its value. */
export type SecretItem = Readonly<z.output<typeof secret>>;

/** The places in which an owner allows a secret, and the hosts to which it may be sent. */
export type SecretPermission = Pick<SecretItem, 'places' | 'hosts'>;

export interface NewSecret extends SecretPermission {
  readonly name: string;
  readonly value: string;
  /** The idempotency key of the call: a repeat changes nothing. */
  readonly key?: string;
  /** Whether to replace a secret of that name; otherwise it is a `conflict`. */
  readonly replace: boolean;
  /** The version to replace: any other one is a `conflict`. Default: any. */
  readonly expected?: number;
}

/** Manages the secrets of an owner. Secrets of other owners are absent. */
export interface SecretStore {
  /** Rejects with `invalid-input` for a value that is too short or too long to be found in texts. */
  store(scope: Scope, secret: NewSecret): Promise<SecretItem>;
  list(scope: Scope): Promise<readonly SecretItem[]>;
  get(scope: Scope, name: string): Promise<SecretItem | undefined>;
  /** Returns the value, for a use that the owner allowed. Rejects with `not-found` or `forbidden`. */
  use(scope: Scope, name: string, use: SecretUse): Promise<string>;
  /** Replaces the permission. Rejects with `not-found`. */
  allow(scope: Scope, name: string, permission: SecretPermission): Promise<SecretItem>;
  /** False when there was none. */
  delete(scope: Scope, name: string): Promise<boolean>;
}

export interface OpenVault {
  readonly vault: Vault;
  readonly secrets: SecretStore & {
    /** Reads a secret with its value, for the server itself. Undefined without one; rejects with `storage` when it is damaged. */
    open(scope: Scope, name: string): Promise<OpenedEntry | undefined>;
  };
}

/** Opens the vault at its first call. Rejects with a `LangoError` that says why it cannot be opened. */
export const VAULT = new Contract<() => Promise<OpenVault>>('vault');

/** The names of secrets that hold sign-ins of people begin so. No agent may set them. */
export const SIGN_INS = 'mcp.';

/** Whether the issuer of a deleted sign-in has ended its tokens, and why not. */
export interface Revocation {
  readonly isRevoked?: boolean | undefined;
  readonly why?: string | undefined;
}

/** Lets the issuer of a sign-in end its tokens. `name` is that of the secret; `value` is undefined when it cannot be read. Never rejects. */
export const SIGN_OUT = new Contract<(name: string, value: Uint8Array | undefined) => Promise<Revocation>>(
  'way to sign out',
);

/** Says why the tokens of a deleted sign-in did not end. */
export function unrevokedLines({ isRevoked, why = '' }: Revocation): readonly string[] {
  return isRevoked === false ? [`Not all of the tokens have ended. ${why}`] : [];
}
