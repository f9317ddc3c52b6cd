import { randomBytes } from 'node:crypto';
import { LangoError } from '../../../core/errors.js';
import { canonicalJson } from '../../../core/canonical-json.js';
import { scopeKey, type Scope } from '../../../core/task.js';
import { VAULT_NAME } from '../../../core/secrets.js';
import type { OpenedEntry, Vault, VaultEntry, VaultItem, VaultKind } from '../../../core/vault.js';
import { PrivateFile } from '../../../disk/private-file.js';
import { createMaster, nextMaster, unlock, type KeySources, type MasterKey } from './master-key.js';
import { KEY_BYTES, seal, unseal } from '../../../core/sealing.js';
import type { MasterSource, NewSealedEntry, SealedEntry, VaultStore } from './vault-store.js';

const MAX_VALUE_BYTES = 64 * 1024;
const MAX_ENTRIES = 1_000;

interface VaultOptions extends KeySources {
  readonly store: VaultStore;
}

/**
 * Opens the vault of a data folder. The folder of the key file must exist: a missing one may be a disk that is not mounted.
 * An empty vault has no key yet; the first `put` creates it. Rejects and changes nothing if the passphrase is wrong, or the
 * key file is missing, damaged or readable by other users.
 */
export async function openVault({
  keyFile: path,
  ...place
}: Omit<VaultOptions, 'keyFile'> & { readonly keyFile: string }): Promise<SealedVault> {
  const hint = 'Let this user read and write it, or name another file in vault.keyFile.';
  const keyFile = new PrivateFile(path, { title: 'key file of the vault', hint, createsFolder: false });
  const options = { ...place, keyFile };
  const record = await options.store.master();
  return new SealedVault(options, record && (await unlock(record, options)));
}

/** Encrypts the values of each owner with the owner's data key, and the data keys with the master key. */
export class SealedVault implements Vault {
  readonly #options: VaultOptions;
  readonly #dataKeys = new Map<string, Promise<Buffer>>();
  #master: Promise<MasterKey> | undefined;

  constructor(options: VaultOptions, master: MasterKey | undefined) {
    this.#options = options;
    this.#master = master && Promise.resolve(master);
  }

  /** The source of the master key; undefined if there is no key yet. */
  async source(): Promise<MasterSource['kind'] | undefined> {
    return (await this.#master)?.record.source.kind;
  }

  async put(scope: Scope, entry: VaultEntry, expected?: number): Promise<VaultItem> {
    assertEntry(entry);
    const { store } = this.#options;
    const { kind, name, value, metadata } = entry;
    const before = expected ?? (await store.entry(scope, kind, name))?.version ?? 0;
    const key = await this.#dataKey(scope);
    const next = { kind, name, version: before + 1, metadata };
    const sealed = seal(key, value, associatedWithEntry(scope, next));
    return toItem(await store.putEntry(scope, { ...next, sealed }, MAX_ENTRIES));
  }

  async get(scope: Scope, kind: VaultKind, name: string): Promise<OpenedEntry | undefined> {
    const entry = await this.#options.store.entry(scope, kind, name);
    if (!entry) return undefined;
    const value = unseal(await this.#dataKey(scope), entry.sealed, associatedWithEntry(scope, entry));
    if (value) return { ...toItem(entry), value };
    throw damaged(`The ${kind} "${name}" in the vault is damaged or was tampered with.`);
  }

  async list(scope: Scope, kind: VaultKind): Promise<readonly VaultItem[]> {
    return (await this.#options.store.entries(scope, kind)).map(toItem);
  }

  async delete(scope: Scope, kind: VaultKind, name: string): Promise<boolean> {
    return this.#options.store.deleteEntry(scope, kind, name);
  }

  /** The scopes with entries of a kind. */
  async scopes(kind: VaultKind): Promise<readonly Scope[]> {
    return this.#options.store.scopes(kind);
  }

  /**
   * Changes the master key: to one from `passphrase`, or to a random one in the key file. All data keys are encrypted again
   * in one transaction. If the process is killed at any moment, the vault opens with the old key or with the new one.
   */
  async rotate(passphrase?: string): Promise<void> {
    const { store, keyFile } = this.#options;
    const old = await this.#requireMaster();
    const next = await nextMaster(keyFile, passphrase);
    const wrapped = (await store.dataKeys()).map((scoped) => ({
      ...scoped,
      wrapped: seal(next.key, unwrap(old, scoped, scoped.wrapped), associatedWithKey(next, scoped)),
    }));
    await store.rotate(old.record.id, next.record, wrapped);
    this.#master = Promise.resolve(next);
    await next.finish();
  }

  async #dataKey(scope: Scope): Promise<Buffer> {
    const name = scopeKey(scope);
    const known = this.#dataKeys.get(name) ?? this.#loadDataKey(scope);
    this.#dataKeys.set(name, known);
    known.catch(() => this.#dataKeys.delete(name));
    return known;
  }

  async #loadDataKey({ tenant, owner }: Scope): Promise<Buffer> {
    const { store } = this.#options;
    const scope = { tenant, owner };
    const master = await this.#requireMaster();
    const known = await store.dataKey(scope);
    if (known) return unwrap(master, scope, known);
    const wrapped = seal(master.key, randomBytes(KEY_BYTES), associatedWithKey(master, scope));
    return unwrap(master, scope, await store.addDataKey({ ...scope, wrapped }));
  }

  #requireMaster(): Promise<MasterKey> {
    this.#master ??= this.#createMaster();
    this.#master.catch(() => (this.#master = undefined));
    return this.#master;
  }

  async #createMaster(): Promise<MasterKey> {
    const master = await createMaster(this.#options);
    await this.#options.store.createMaster(master.record);
    return master;
  }
}

function unwrap(master: MasterKey, scope: Scope, wrapped: Uint8Array): Buffer {
  const key = unseal(master.key, wrapped, associatedWithKey(master, scope));
  if (key?.length === KEY_BYTES) return key;
  throw damaged('The key of this owner in the vault is damaged or was tampered with.');
}

function associatedWithKey({ record }: MasterKey, { tenant, owner }: Scope): string {
  return canonicalJson(['lango-vault-key-1', record.id, tenant, owner]);
}

function associatedWithEntry({ tenant, owner }: Scope, entry: Omit<NewSealedEntry, 'sealed'>): string {
  const { kind, name, version, metadata } = entry;
  return canonicalJson(['lango-vault-entry-1', tenant, owner, kind, name, version, metadata]);
}

function toItem({ sealed: _sealed, ...item }: SealedEntry): VaultItem {
  return item;
}

function assertEntry({ kind, name, value }: VaultEntry): void {
  if (!VAULT_NAME.test(name)) {
    const hint = 'A name is a letter, then up to 63 letters, digits, "_", "." or "-".';
    const problem = `"${name.slice(0, 80)}" cannot be the name of a ${kind}.`;
    throw new LangoError('invalid-input', problem, { hint });
  }
  if (value.length < 1 || value.length > MAX_VALUE_BYTES) {
    throw new LangoError('invalid-input', `A ${kind} has 1 to ${MAX_VALUE_BYTES} bytes.`);
  }
}

function damaged(message: string): LangoError {
  const advice = 'Restore the database from a backup, or delete this entry and store it again.';
  return new LangoError('storage', message, { hint: `${advice} Other entries are not affected.` });
}
