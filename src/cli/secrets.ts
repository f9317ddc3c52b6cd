import { MIN_PASSPHRASE } from '../config/host-keys.js';
import { loadConfig } from '../config/load.js';
import { LangoError } from '../core/errors.js';
import { silentLogger } from '../core/logger.js';
import type { SecretItem, SecretPermission, SecretPlace } from '../core/secrets.js';
import { SECRET_PLACES } from '../core/secrets.js';
import { overridesOf } from './connection.js';
import { EXIT, usageError, nothingChanged } from './exit.js';
import { askHidden, readPiped } from './input.js';
import type { OwnerFlags } from './owner-client.js';
import { withOwner } from './owner-client.js';
import { createPaint } from './render.js';
import { jsonLine, safeLine } from './safe-text.js';
import type { CommandContext, Terminal } from './terminal.js';

export interface SecretFlags extends OwnerFlags {
  readonly json?: boolean;
}

export interface PermissionFlags extends SecretFlags {
  readonly for?: readonly string[];
  readonly host?: readonly string[];
}

export interface SetFlags extends PermissionFlags {
  readonly replace?: boolean;
}

export interface RotateFlags extends Pick<SecretFlags, 'json' | 'home' | 'config'> {
  readonly passphrase?: boolean;
  readonly keyFile?: boolean;
}

/** `lango secrets set`: reads the value from the terminal, without echo, or from standard input. */
export async function setSecret(name: string, flags: SetFlags, context: CommandContext): Promise<number> {
  const { terminal } = context;
  const isGiven = flags.for !== undefined || flags.host !== undefined;
  const given = permissionOf(flags);
  const isAsked = process.stdin.isTTY;
  const value = isAsked ? await askHidden(`The secret ${name}`) : await readPiped();
  const permission = isAsked && !isGiven ? await askPermission(name) : given;
  const replace = flags.replace ?? false;
  const { secret } = await withOwner(flags, context, (owner) =>
    owner.storeSecret({ name, value, ...permission, replace }),
  );
  return printSecret(secret, `Stored the secret ${secret.name}, version ${secret.version}.`, {
    flags,
    terminal,
  });
}

/** `lango secrets list` */
export async function listSecrets(flags: SecretFlags, context: CommandContext): Promise<number> {
  const { terminal } = context;
  const { secrets } = await withOwner(flags, context, (owner) => owner.listSecrets({}));
  if (flags.json) terminal.print(jsonLine({ secrets }));
  else if (secrets.length === 0) terminal.print('There are no secrets. To store one: lango secrets set NAME');
  else for (const item of secrets) terminal.print(lineOf(item, terminal));
  return EXIT.ok;
}

/** `lango secrets allow`: sets where a secret may be used. */
export async function allowSecret(
  name: string,
  flags: PermissionFlags,
  context: CommandContext,
): Promise<number> {
  const permission = permissionOf(flags);
  const { secret } = await withOwner(flags, context, (owner) => owner.allowSecret({ name, ...permission }));
  return printSecret(secret, `Changed where the secret ${secret.name} may be used.`, {
    flags,
    terminal: context.terminal,
  });
}

/** `lango secrets delete` */
export async function deleteSecret(
  name: string,
  flags: SecretFlags,
  context: CommandContext,
): Promise<number> {
  await withOwner(flags, context, (owner) => owner.deleteSecret({ name }));
  context.terminal.print(flags.json ? jsonLine({ deleted: name }) : `Deleted the secret ${safeLine(name)}.`);
  return EXIT.ok;
}

/** `lango secrets rotate`: makes a new master key. The server must be stopped: it would use the old key. */
export async function rotateKey(flags: RotateFlags, { env, terminal }: CommandContext): Promise<number> {
  if (flags.passphrase && flags.keyFile) throw usageError('Give --passphrase or --key-file, not both.');
  const loaded = await loadConfig({ env, overrides: overridesOf(flags) });
  const { openHome } = await import('../app.js');
  const home = await openHome(loaded, { logger: silentLogger });
  if (!home) {
    throw new LangoError('conflict', 'A server has the vault open.', {
      hint: 'Stop it, rotate, and start it again.',
    });
  }
  try {
    const vault = await home.vault();
    if (vault.source === undefined)
      throw new LangoError('not-found', 'The vault is empty: it has no key yet.');
    const takesPassphrase = flags.passphrase ?? (!flags.keyFile && vault.source === 'passphrase');
    await vault.rotate(takesPassphrase ? await newPassphrase() : undefined);
    const source = takesPassphrase ? 'passphrase' : 'file';
    if (flags.json) terminal.print(jsonLine({ rotated: true, source }));
    else for (const line of rotated(source, loaded.config.vault.keyFile)) terminal.print(line);
    return EXIT.ok;
  } finally {
    await home.close();
  }
}

function rotated(source: 'file' | 'passphrase', keyFile: string): readonly string[] {
  const next =
    source === 'file'
      ? `It is in ${keyFile}: keep a copy of it elsewhere. No passphrase is needed any more.`
      : 'Set LANGO_VAULT_PASSPHRASE to the new passphrase before the next start.';
  return ['The vault is under a new master key.', next];
}

async function newPassphrase(): Promise<string> {
  const isAsked = process.stdin.isTTY;
  const passphrase = isAsked ? await askHidden('The new passphrase') : await readPiped();
  if (passphrase.length < MIN_PASSPHRASE) {
    throw new LangoError('invalid-input', `A passphrase has at least ${MIN_PASSPHRASE} characters.`);
  }
  if (isAsked && (await askHidden('The same again')) !== passphrase) {
    throw new LangoError('invalid-input', 'The two were not the same. Nothing was changed.');
  }
  return passphrase;
}

function permissionOf({ for: given = [], host: hosts = [] }: PermissionFlags): SecretPermission {
  return permissionIn(given, hosts);
}

interface Printing {
  readonly flags: SecretFlags;
  readonly terminal: Terminal;
}

function printSecret(item: SecretItem, sentence: string, { flags, terminal }: Printing): number {
  if (flags.json) {
    terminal.print(jsonLine({ secret: item }));
    return EXIT.ok;
  }
  terminal.print(safeLine(sentence));
  terminal.print(lineOf(item, terminal));
  if (item.places.length === 0) {
    terminal.note(`It may be used nowhere yet. For commands: lango secrets allow ${item.name} --for exec`);
  } else if (needsHost(item)) {
    terminal.note(
      `Name the host it may go to: lango secrets allow ${item.name} --for ${item.places.join()} --host HOST`,
    );
  }
  return EXIT.ok;
}

function needsHost({ places, hosts }: SecretItem): boolean {
  return hosts.length === 0 && places.some((place) => SENDING_PLACES.includes(place));
}

function lineOf(item: SecretItem, { color }: Terminal): string {
  const paint = createPaint(color);
  const { name, reference, places, hosts, isDamaged } = item;
  const where = places.length === 0 ? 'nowhere' : places.join(', ');
  const to = needsHost(item) ? ' to no host yet' : hosts.length === 0 ? '' : ` to ${hosts.join(', ')}`;
  const state = isDamaged ? ` ${paint.red('damaged: store it again')}` : '';
  return `${paint.bold(safeLine(name))}  ${safeLine(reference)}  ${paint.dim(safeLine(`may be used: ${where}${to}`))}${state}`;
}

/** The uses that also need the name of a host. */
export const SENDING_PLACES: readonly SecretPlace[] = SECRET_PLACES.filter((place) => place !== 'exec');

const LABELS: Readonly<Record<SecretPlace, string>> = {
  exec: 'in commands',
  http: 'in headers of requests',
  browser: 'in password fields of web pages',
};

/**
 * Reads `--for` ("exec,http:HOST") and `--host` together. A host is allowed for requests and pages alike, so a host that
 * is named for only one of them is refused, and not allowed for both. A host without a use means requests.
 */
export function permissionIn(given: readonly string[], hosts: readonly string[]): SecretPermission {
  const wanted = given.flatMap((text) => text.split(',')).map((text) => wantedUse(text.trim()));
  const named = (place: SecretPlace) =>
    wanted.flatMap((use) => (use.place === place && use.host !== undefined ? [use.host] : [])).sort();
  const places = [...new Set(wanted.map(({ place }) => place))];
  const sending = places.filter((place) => SENDING_PLACES.includes(place));
  const lists = new Set(sending.map((place) => named(place).join()));
  if (lists.size > 1) {
    throw usageError(
      'A host is allowed for requests and pages alike.',
      'Name the same hosts for http and browser, or store the value twice.',
    );
  }
  const all = [...hosts, ...sending.flatMap(named)];
  const needsPlace = all.length > 0 && sending.length === 0;
  return { places: needsPlace ? [...places, 'http'] : places, hosts: [...new Set(all)] };
}

/** Asks on the terminal where a secret may be used. */
export async function askPermission(name: string): Promise<SecretPermission> {
  const { isCancel, multiselect, text } = await import('@clack/prompts');
  const output = process.stderr;
  const places = await multiselect({
    message: `Where may ${name} be used? (space chooses, enter goes on; nothing: nowhere yet)`,
    options: SECRET_PLACES.map((value) => ({ value, label: LABELS[value] })),
    required: false,
    output,
  });
  if (isCancel(places)) throw nothingChanged();
  if (!places.some((place) => SENDING_PLACES.includes(place))) return { places, hosts: [] };
  const hosts = await text({
    message: 'For which hosts? (such as api.example.com; several with spaces)',
    output,
  });
  if (isCancel(hosts)) throw nothingChanged();
  return { places, hosts: hosts.split(/[\s,]+/).filter((host) => host !== '') };
}

function wantedUse(text: string): { readonly place: SecretPlace; readonly host?: string } {
  const [name = '', ...rest] = text.split(':');
  const place = SECRET_PLACES.find((known) => known === name);
  if (!place)
    throw usageError(`--for: "${name}" is no place; it must be one of ${SECRET_PLACES.join(', ')}.`);
  if (rest.length === 0) return { place };
  if (place === 'exec') throw usageError('--for: exec takes no host: a command runs here.');
  return { place, host: rest.join(':') };
}
