import { LangoError, errorText } from '../../../core/errors.js';
import type { JsonObject } from '../../../core/json.js';
import type { Logger } from '../../../core/logger.js';
import type { Scrubber, SecretGuard, SecretPlace, SecretUse } from '../../../core/secrets.js';
import {
  SECRET_PLACES,
  referencedSecrets,
  replaceReferences,
  secretReference,
  noScrubber,
} from '../../../core/secrets.js';
import type { Scope } from '../../../core/task.js';
import { scopeKey } from '../../../core/task.js';
import type {
  NewSecret,
  OpenedEntry,
  SecretItem,
  SecretPermission,
  SecretStore,
  VaultItem,
} from '../../../core/vault.js';
import { compileValues, LiveScrubber, MIN_SECRET } from './value-scrubber.js';
import type { SealedVault } from './vault.js';

const MAX_CHARACTERS = 16 * 1024;
const MAX_HOSTS = 50;
const HOST = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;

interface SecretsOfOwner {
  readonly values: Map<string, string>;
  /** Compiled at first use after a change. */
  scrubber: Scrubber | undefined;
}

/**
 * The secrets of all owners. The vault stores them, tools get them only where their owner allowed it, and scrubbers remove
 * them from texts. Their values stay in memory while the server runs, because the scrubbers search for them.
 */
export class OwnerSecrets implements SecretStore, SecretGuard {
  readonly #vault: SealedVault;
  readonly #logger: Logger;
  readonly #owned = new Map<string, SecretsOfOwner>();
  #all: Scrubber | undefined;

  private constructor(vault: SealedVault, logger: Logger) {
    this.#vault = vault;
    this.#logger = logger;
  }

  /** Loads all secrets. A damaged secret is skipped with a warning. */
  static async open(vault: SealedVault, logger: Logger): Promise<OwnerSecrets> {
    const secrets = new OwnerSecrets(vault, logger);
    for (const scope of await vault.scopes('secret')) {
      for (const { name } of await vault.list(scope, 'secret')) await secrets.#load(scope, name);
      secrets.#changed(scope);
    }
    return secrets;
  }

  /** The scrubber for the log, which removes the secrets of all owners. */
  readonly everywhere: Scrubber = new LiveScrubber(
    () => (this.#all ??= compileValues([...this.#owned.values()].flatMap(({ values }) => [...values]))),
  );

  scrubber(scope: Scope): Scrubber {
    const name = scopeKey(scope);
    return new LiveScrubber(() => {
      const owned = this.#owned.get(name);
      return owned ? (owned.scrubber ??= compileValues([...owned.values])) : noScrubber;
    });
  }

  async store(scope: Scope, secret: NewSecret): Promise<SecretItem> {
    const { name, value, key, replace, expected } = secret;
    assertValue(name, value);
    const permission = checkedPermission(secret);
    const before = await this.#vault.get(scope, 'secret', name).catch((error: unknown) => {
      if (replace) return undefined;
      throw error;
    });
    if (before && key !== undefined && before.metadata['key'] === key) return toItem(before);
    const entry = {
      kind: 'secret' as const,
      name,
      value: Buffer.from(value, 'utf8'),
      metadata: { ...permission, ...(key === undefined ? {} : { key }) },
    };
    const item = await this.#vault.put(scope, entry, replace ? expected : 0);
    this.#setValue(scope, name, value);
    return toItem(item);
  }

  /** Returns a secret for this server's own use. Scrubbers find its value from now on, also when another process stored it. */
  async open(scope: Scope, name: string): Promise<OpenedEntry | undefined> {
    const entry = await this.#vault.get(scope, 'secret', name);
    if (entry) this.#setValue(scope, name, Buffer.from(entry.value).toString('utf8'));
    return entry;
  }

  async list(scope: Scope): Promise<readonly SecretItem[]> {
    const items = await this.#vault.list(scope, 'secret');
    const values = this.#owned.get(scopeKey(scope))?.values;
    return items.map((item) =>
      values?.has(item.name) ? toItem(item) : { ...toItem(item), isDamaged: true },
    );
  }

  async get(scope: Scope, name: string): Promise<SecretItem | undefined> {
    return (await this.list(scope)).find((item) => item.name === name);
  }

  async allow(scope: Scope, name: string, permission: SecretPermission): Promise<SecretItem> {
    const metadata = checkedPermission(permission);
    const { value, version, kind } = await this.#require(scope, name);
    return toItem(await this.#vault.put(scope, { kind, name, value, metadata }, version));
  }

  async delete(scope: Scope, name: string): Promise<boolean> {
    const existed = await this.#vault.delete(scope, 'secret', name);
    this.#owned.get(scopeKey(scope))?.values.delete(name);
    this.#changed(scope);
    return existed;
  }

  async use(scope: Scope, name: string, { tool, place, host }: SecretUse): Promise<string> {
    const entry = await this.#require(scope, name);
    assertAllowed(toItem(entry), { place, host });
    this.#logger.info('a secret was used', { secret: name, owner: scope.owner, tool, place, host });
    return Buffer.from(entry.value).toString('utf8');
  }

  async resolve(scope: Scope, text: string, use: SecretUse): Promise<string> {
    const values = new Map<string, string>();
    for (const name of referencedSecrets(text)) values.set(name, await this.use(scope, name, use));
    return replaceReferences(text, (name) => values.get(name)!);
  }

  async #require(scope: Scope, name: string) {
    const entry = await this.#vault.get(scope, 'secret', name);
    if (entry) return entry;
    throw new LangoError('not-found', `There is no secret "${name}".`, {
      hint: `Its owner stores it with: lango secrets set ${name}`,
    });
  }

  async #load(scope: Scope, name: string): Promise<void> {
    try {
      const entry = await this.#vault.get(scope, 'secret', name);
      if (entry) this.#of(scope).values.set(name, Buffer.from(entry.value).toString('utf8'));
    } catch (error) {
      this.#logger.warn('a secret cannot be read', { secret: name, error: errorText(error) });
    }
  }

  #setValue(scope: Scope, name: string, value: string): void {
    const { values } = this.#of(scope);
    if (values.get(name) === value) return;
    values.set(name, value);
    this.#changed(scope);
  }

  #of({ tenant, owner }: Scope): SecretsOfOwner {
    const name = scopeKey({ tenant, owner });
    const known = this.#owned.get(name);
    if (known) return known;
    const made: SecretsOfOwner = { values: new Map(), scrubber: undefined };
    this.#owned.set(name, made);
    return made;
  }

  #changed(scope: Scope): void {
    const owned = this.#owned.get(scopeKey(scope));
    if (!owned) return;
    owned.scrubber = undefined;
    this.#all = undefined;
  }
}

function toItem({ name, metadata, version, createdAt, updatedAt }: VaultItem): SecretItem {
  return { name, reference: secretReference(name), ...permissionOf(metadata), version, createdAt, updatedAt };
}

function permissionOf({ places, hosts }: JsonObject): SecretPermission {
  const given = Array.isArray(places) ? places : [];
  return {
    places: SECRET_PLACES.filter((place) => given.includes(place)),
    hosts: Array.isArray(hosts) ? hosts.filter((host): host is string => typeof host === 'string') : [],
  };
}

function checkedPermission({ places, hosts }: SecretPermission) {
  const names = [...new Set(hosts.map((host) => host.toLowerCase()))].sort();
  const wrong = names.find((host) => !HOST.test(host));
  if (wrong !== undefined) {
    throw new LangoError('invalid-input', `"${wrong.slice(0, 80)}" is not a host name.`, {
      hint: 'Write it without a scheme, port or path, such as api.example.com.',
    });
  }
  if (names.length > MAX_HOSTS)
    throw new LangoError('invalid-input', `At most ${MAX_HOSTS} hosts can be allowed.`);
  return { places: SECRET_PLACES.filter((place) => places.includes(place)), hosts: names };
}

function assertAllowed(
  { name, places, hosts }: SecretItem,
  { place, host }: { readonly place: SecretPlace; readonly host: string | undefined },
): void {
  const isKnownHost = host !== undefined && hosts.includes(host.toLowerCase());
  if (places.includes(place) && (place === 'exec' || isKnownHost)) return;
  const where = place === 'exec' ? 'in commands' : `for ${host ?? 'an unknown host'} (${place})`;
  const flags = [...new Set([...places, place])].map((each) => ` --for ${each}`).join('');
  const hostFlags = [...hosts, ...(host === undefined || isKnownHost ? [] : [host])].map(
    (each) => ` --host ${each}`,
  );
  throw new LangoError('forbidden', `The secret "${name}" may not be used ${where}.`, {
    hint: `Its owner allows that with: lango secrets allow ${name}${flags}${hostFlags.join('')}`,
  });
}

function assertValue(name: string, value: string): void {
  if (value.trim().length < MIN_SECRET) {
    throw new LangoError('invalid-input', `A secret has at least ${MIN_SECRET} characters.`, {
      hint: 'A shorter one could not be distinguished from ordinary text, and so not be removed from texts.',
    });
  }
  const [known] = referencedSecrets(value);
  if (known !== undefined) {
    throw new LangoError('invalid-input', `The value holds a reference to the secret "${known}".`, {
      hint: `The server replaces stored values in a request by their reference. To store the value under a second name: lango secrets set ${name}`,
    });
  }
  if (secretReference(name).includes(value.trim())) {
    throw new LangoError('invalid-input', `The name "${name}" would reveal the value.`, {
      hint: 'Choose another name.',
    });
  }
  if (value.length > MAX_CHARACTERS) {
    throw new LangoError('invalid-input', `A secret has at most ${MAX_CHARACTERS} characters.`);
  }
  if (!value.isWellFormed() || value.includes('\0')) {
    throw new LangoError('invalid-input', 'A secret must not hold U+0000 or lone surrogates.');
  }
}
