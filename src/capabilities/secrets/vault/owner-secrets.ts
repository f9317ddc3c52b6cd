import { LangoError, errorText } from '../../../core/errors.js';
import type { JsonObject } from '../../../core/json.js';
import type { Logger } from '../../../core/logger.js';
import type { Scrubber, SecretGuard, SecretPlace, SecretUse } from '../../../core/secrets.js';
import { referencedSecrets, replaceReferences } from '../../../core/secrets.js';
import { SECRET_PLACES, secretReference } from '../../../core/secrets.js';
import type { Scope } from '../../../core/task.js';
import type { NewSecret, SecretItem, SecretPermission, SecretStore } from '../../../core/vault.js';
import type { OpenedEntry, VaultItem } from '../../../core/vault.js';
import { MIN_SECRET, ScrubbedValues } from './value-scrubber.js';
import type { SealedVault } from './vault.js';

const MAX_CHARACTERS = 16 * 1024;
const MAX_HOSTS = 50;
const HOST = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;

/**
 * The secrets of all owners. The vault stores them, tools get them only where their owner allowed it, and scrubbers remove
 * them from texts. Their values stay in memory while the server runs, because the scrubbers search for them.
 */
export class OwnerSecrets implements SecretStore, SecretGuard {
  readonly #vault: SealedVault;
  readonly #logger: Logger;
  /** By the names of the secrets. */
  readonly #values = new ScrubbedValues<string>();

  private constructor(vault: SealedVault, logger: Logger) {
    this.#vault = vault;
    this.#logger = logger;
  }

  /** Loads all secrets. A damaged secret is skipped with a warning. */
  static async open(vault: SealedVault, logger: Logger): Promise<OwnerSecrets> {
    const secrets = new OwnerSecrets(vault, logger);
    for (const scope of await vault.scopes('secret'))
      for (const { name } of await vault.list(scope, 'secret')) {
        await secrets.open(scope, name).catch((error: unknown) => {
          logger.warn('a secret cannot be read', { secret: name, error: errorText(error) });
        });
      }
    return secrets;
  }

  /** The scrubber for the log, which removes the secrets of all owners. */
  readonly everywhere: Scrubber = this.#values.everywhere;

  scrubber(scope: Scope): Scrubber {
    return this.#values.scrubber(scope);
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
    const metadata = { ...permission, ...(key === undefined ? {} : { key }) };
    const entry = { kind: 'secret' as const, name, value: Buffer.from(value, 'utf8'), metadata };
    const item = await this.#vault.put(scope, entry, replace ? expected : 0);
    this.#values.set(scope, name, [name, value]);
    return toItem(item);
  }

  /** Returns a secret for this server's own use. Scrubbers find its value from now on, also when another process stored it. */
  async open(scope: Scope, name: string): Promise<OpenedEntry | undefined> {
    const entry = await this.#vault.get(scope, 'secret', name);
    if (entry) this.#values.set(scope, name, [name, Buffer.from(entry.value).toString('utf8')]);
    return entry;
  }

  async list(scope: Scope): Promise<readonly SecretItem[]> {
    const items = await this.#vault.list(scope, 'secret');
    return items.map((item) =>
      this.#values.has(scope, item.name) ? toItem(item) : { ...toItem(item), isDamaged: true },
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
    this.#values.delete(scope, name);
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

  async check(scope: Scope, text: string, { place, host }: SecretUse): Promise<void> {
    for (const name of referencedSecrets(text))
      assertAllowed(toItem(await this.#require(scope, name)), { place, host });
  }

  async #require(scope: Scope, name: string) {
    const entry = await this.#vault.get(scope, 'secret', name);
    if (entry) return entry;
    const hint = `Its owner stores it with: lango secrets set ${name}`;
    throw new LangoError('not-found', `There is no secret "${name}".`, { hint });
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
    const hint = 'Write it without a scheme, port or path, such as api.example.com.';
    throw new LangoError('invalid-input', `"${wrong.slice(0, 80)}" is not a host name.`, { hint });
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
  const wantedHosts = host === undefined || isKnownHost ? hosts : [...hosts, host];
  const flags = [
    ...[...new Set([...places, place])].map((each) => ` --for ${each}`),
    ...wantedHosts.map((each) => ` --host ${each}`),
  ];
  const hint = `Its owner allows that with: lango secrets allow ${name}${flags.join('')}`;
  throw new LangoError('forbidden', `The secret "${name}" may not be used ${where}.`, { hint });
}

function assertValue(name: string, value: string): void {
  const [known] = referencedSecrets(value);
  const refuse = (problem: string, hint?: string): never => {
    throw new LangoError('invalid-input', problem, { hint });
  };
  if (value.trim().length < MIN_SECRET) {
    const reason =
      'A shorter one could not be distinguished from ordinary text, and so not be removed from texts.';
    refuse(`A secret has at least ${MIN_SECRET} characters.`, reason);
  }
  if (known !== undefined) {
    const reason = 'The server replaces stored values in a request by their reference.';
    const advice = `To store the value under a second name: lango secrets set ${name}`;
    refuse(`The value holds a reference to the secret "${known}".`, `${reason} ${advice}`);
  }
  if (secretReference(name).includes(value.trim()))
    refuse(`The name "${name}" would reveal the value.`, 'Choose another name.');
  if (value.length > MAX_CHARACTERS) refuse(`A secret has at most ${MAX_CHARACTERS} characters.`);
  if (!value.isWellFormed() || value.includes('\0'))
    refuse('A secret must not hold U+0000 or lone surrogates.');
}
