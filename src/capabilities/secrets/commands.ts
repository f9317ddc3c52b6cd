import type { CommandCall, Report, Terminal } from '../../core/command.js';
import { LangoError } from '../../core/errors.js';
import { SECRET_PLACES, type SecretPlace } from '../../core/secrets.js';
import { unrevokedLines, type SecretItem, type SecretPermission } from '../../core/vault.js';
import { VAULT_OPERATIONS } from '../../core/vault-operations.js';
import { nothingChanged, usageError } from '../../terminal/exit.js';
import { askHidden, readHidden } from '../../terminal/input.js';
import { safeLine } from '../../terminal/safe-text.js';
import { MIN_PASSPHRASE } from './settings.js';
import { SEALED_VAULT } from './vault/sealed-vault.js';

interface PermissionFlags {
  readonly for?: readonly string[];
  readonly host?: readonly string[];
}

type Call = CommandCall<
  unknown,
  PermissionFlags & Readonly<Partial<Record<'replace' | 'passphrase' | 'keyFile', boolean>>>
>;

/** `lango secrets set`: reads the value from the terminal, without echo, or from standard input. */
export async function setSecret(call: Call, name: string): Promise<Report> {
  const { flags, terminal } = call;
  const isGiven = flags.for !== undefined || flags.host !== undefined;
  const given = permissionIn(flags);
  const value = await readHidden(`The secret ${name}`);
  const permission = process.stdin.isTTY && !isGiven ? await askPermission(name) : given;
  const input = { name, value, ...permission, replace: flags.replace };
  const { secret } = await call.withOwner(VAULT_OPERATIONS, (owner) => owner.storeSecret(input));
  return reportOn(secret, `Stored the secret ${secret.name}, version ${secret.version}.`, terminal);
}

/** `lango secrets list` */
export async function listSecrets(call: Call): Promise<Report> {
  const { secrets } = await call.withOwner(VAULT_OPERATIONS, (owner) => owner.listSecrets({}));
  const none = 'There are no secrets. To store one: lango secrets set NAME';
  const lines = secrets.length === 0 ? [none] : secrets.map((item) => lineOf(item, call.terminal));
  return { json: { secrets }, lines };
}

/** `lango secrets allow`: sets where a secret may be used. */
export async function allowSecret(call: Call, name: string): Promise<Report> {
  const input = { name, ...permissionIn(call.flags) };
  const { secret } = await call.withOwner(VAULT_OPERATIONS, (owner) => owner.allowSecret(input));
  return reportOn(secret, `Changed where the secret ${secret.name} may be used.`, call.terminal);
}

/** `lango secrets delete` */
export async function deleteSecret(call: Call, name: string): Promise<Report> {
  const json = await call.withOwner(VAULT_OPERATIONS, (owner) => owner.deleteSecret({ name }));
  const unrevoked = unrevokedLines(json).map((line) => safeLine(line));
  return { json, lines: [`Deleted the secret ${safeLine(name)}.`, ...unrevoked] };
}

/** `lango secrets rotate`: makes a new master key. The server must be stopped: it would use the old key. */
export async function rotateKey(call: Call): Promise<Report> {
  const { flags } = call;
  if (flags.passphrase && flags.keyFile) throw usageError('Give --passphrase or --key-file, not both.');
  return call.inFolder(async (services) => {
    const { vault, keyFile } = await services.require(SEALED_VAULT)();
    const source = await vault.source();
    if (source === undefined) throw new LangoError('not-found', 'The vault is empty: it has no key yet.');
    const takesPassphrase = flags.passphrase ?? (!flags.keyFile && source === 'passphrase');
    await vault.rotate(takesPassphrase ? await newPassphrase() : undefined);
    const next = takesPassphrase
      ? 'Set LANGO_VAULT_PASSPHRASE to the new passphrase before the next start.'
      : `It is in ${keyFile}: keep a copy of it elsewhere. No passphrase is needed any more.`;
    return {
      json: { rotated: true, source: takesPassphrase ? 'passphrase' : 'file' },
      lines: ['The vault has a new master key.', next],
    };
  });
}

async function newPassphrase(): Promise<string> {
  const passphrase = await readHidden('The new passphrase');
  if (passphrase.length < MIN_PASSPHRASE) {
    throw new LangoError('invalid-input', `A passphrase has at least ${MIN_PASSPHRASE} characters.`);
  }
  if (process.stdin.isTTY && (await askHidden('The same again')) !== passphrase) {
    throw new LangoError('invalid-input', 'The two passphrases differ. Nothing was changed.');
  }
  return passphrase;
}

function reportOn(item: SecretItem, sentence: string, terminal: Terminal): Report {
  const lines = [safeLine(sentence), lineOf(item, terminal)];
  const allow = `lango secrets allow ${item.name} --for`;
  const isUnused = item.places.length === 0;
  const advice = isUnused
    ? `It may be used nowhere yet. For requests to a service: ${allow} http:HOST`
    : `Name the host it may go to: ${allow} ${item.places.join()} --host HOST`;
  return { json: { secret: item }, lines, notes: isUnused || needsHost(item) ? [advice] : [] };
}

function needsHost({ places, hosts }: SecretItem): boolean {
  return hosts.length === 0 && places.some((place) => SENDING_PLACES.includes(place));
}

function lineOf(item: SecretItem, { paint }: Terminal): string {
  const { name, reference, places, hosts, isDamaged } = item;
  const where = places.length === 0 ? 'nowhere' : places.join(', ');
  const to = needsHost(item) ? ' to no host yet' : hosts.length === 0 ? '' : ` to ${hosts.join(', ')}`;
  const state = isDamaged ? ` ${paint.red('damaged: store it again')}` : '';
  return `${paint.bold(safeLine(name))}  ${safeLine(reference)}  ${paint.dim(safeLine(`may be used: ${where}${to}`))}${state}`;
}

/** The uses that also need the name of a host. */
const SENDING_PLACES: readonly SecretPlace[] = SECRET_PLACES.filter((place) => place !== 'exec');

const LABELS: Readonly<Record<SecretPlace, string>> = {
  exec: 'in commands',
  http: 'in headers of requests',
  browser: 'in password fields of web pages',
};

/**
 * Reads `--for` ("exec,http:HOST") and `--host` together. A host is allowed for requests and pages alike, so a host that
 * is named for only one of them is refused, and not allowed for both. A host without a use means requests.
 */
function permissionIn({ for: given = [], host = [] }: PermissionFlags): SecretPermission {
  const wanted = given.flatMap((text) => text.split(',')).map((text) => wantedUse(text.trim()));
  const named = (place: SecretPlace) =>
    wanted.flatMap((use) => (use.place === place && use.host !== undefined ? [use.host] : [])).sort();
  const places = [...new Set(wanted.map(({ place }) => place))];
  const sending = places.filter((place) => SENDING_PLACES.includes(place));
  const lists = new Set(sending.map((place) => named(place).join()));
  if (lists.size > 1) {
    const hint = 'Name the same hosts for http and browser, or store the value twice.';
    throw usageError('A host is allowed for requests and pages alike.', hint);
  }
  const hosts = [...new Set([...host, ...sending.flatMap(named)])];
  return { places: hosts.length > 0 && sending.length === 0 ? [...places, 'http'] : places, hosts };
}

/** Asks on the terminal where a secret may be used. */
async function askPermission(name: string): Promise<SecretPermission> {
  const { isCancel, multiselect, text } = await import('@clack/prompts');
  const output = process.stderr;
  const places = await multiselect({
    message: `Where may ${name} be used? (space selects, enter continues; select nothing for nowhere)`,
    options: SECRET_PLACES.map((value) => ({ value, label: LABELS[value] })),
    required: false,
    output,
  });
  if (isCancel(places)) throw nothingChanged();
  if (!places.some((place) => SENDING_PLACES.includes(place))) return { places, hosts: [] };
  const message = 'For which hosts? (such as api.example.com; spaces between several)';
  const hosts = await text({ message, output });
  if (isCancel(hosts)) throw nothingChanged();
  return { places, hosts: hosts.split(/[\s,]+/).filter((host) => host !== '') };
}

function wantedUse(text: string): { readonly place: SecretPlace; readonly host?: string } {
  const [name = '', ...rest] = text.split(':');
  const place = SECRET_PLACES.find((known) => known === name);
  if (!place)
    throw usageError(`--for: "${name}" is not a place; it must be one of ${SECRET_PLACES.join(', ')}.`);
  if (rest.length === 0) return { place };
  if (place === 'exec') throw usageError('--for: exec takes no host: a command runs here.');
  return { place, host: rest.join(':') };
}
