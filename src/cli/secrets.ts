import { MIN_PASSPHRASE } from '../config/host-keys.js';
import { LangoError } from '../core/errors.js';
import { silentLogger } from '../core/logger.js';
import { SECRET_PLACES, type SecretPlace } from '../core/secrets.js';
import type { SecretItem, SecretPermission } from '../core/vault.js';
import { loadConfigOf, type FolderFlags } from './connection.js';
import { nothingChanged, usageError } from './exit.js';
import { askHidden, readPiped } from './input.js';
import { revocationLines } from './mcp-login.js';
import { withOwner, type OwnerFlags } from './owner-client.js';
import { safeLine } from './safe-text.js';
import type { Call, Report, Terminal } from './terminal.js';

interface PermissionFlags extends OwnerFlags {
  readonly for?: readonly string[];
  readonly host?: readonly string[];
}

interface ReplaceFlags {
  readonly replace?: boolean;
}

interface RotateFlags extends FolderFlags {
  readonly passphrase?: boolean;
  readonly keyFile?: boolean;
}

/** `lango secrets set`: reads the value from the terminal, without echo, or from standard input. */
export async function setSecret(name: string, call: Call<PermissionFlags & ReplaceFlags>): Promise<Report> {
  const { flags, terminal } = call;
  const isGiven = flags.for !== undefined || flags.host !== undefined;
  const given = permissionIn(flags);
  const value = await readHidden(`The secret ${name}`);
  const permission = process.stdin.isTTY && !isGiven ? await askPermission(name) : given;
  const input = { name, value, ...permission, replace: flags.replace };
  const { secret } = await withOwner(call, (owner) => owner.storeSecret(input));
  return reportOn(secret, `Stored the secret ${secret.name}, version ${secret.version}.`, terminal);
}

/** `lango secrets list` */
export async function listSecrets(call: Call<OwnerFlags>): Promise<Report> {
  const { secrets } = await withOwner(call, (owner) => owner.listSecrets({}));
  const none = 'There are no secrets. To store one: lango secrets set NAME';
  const lines = secrets.length === 0 ? [none] : secrets.map((item) => lineOf(item, call.terminal));
  return { json: { secrets }, lines };
}

/** `lango secrets allow`: sets where a secret may be used. */
export async function allowSecret(name: string, call: Call<PermissionFlags>): Promise<Report> {
  const input = { name, ...permissionIn(call.flags) };
  const { secret } = await withOwner(call, (owner) => owner.allowSecret(input));
  return reportOn(secret, `Changed where the secret ${secret.name} may be used.`, call.terminal);
}

/** `lango secrets delete` */
export async function deleteSecret(name: string, call: Call<OwnerFlags>): Promise<Report> {
  const json = await withOwner(call, (owner) => owner.deleteSecret({ name }));
  return { json, lines: [`Deleted the secret ${safeLine(name)}.`, ...revocationLines(json)] };
}

/** `lango secrets rotate`: makes a new master key. The server must be stopped: it would use the old key. */
export async function rotateKey(call: Call<RotateFlags>): Promise<Report> {
  const { flags } = call;
  if (flags.passphrase && flags.keyFile) throw usageError('Give --passphrase or --key-file, not both.');
  const loaded = await loadConfigOf(call);
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
    const next = takesPassphrase
      ? 'Set LANGO_VAULT_PASSPHRASE to the new passphrase before the next start.'
      : `It is in ${loaded.config.vault.keyFile}: keep a copy of it elsewhere. No passphrase is needed any more.`;
    return {
      json: { rotated: true, source: takesPassphrase ? 'passphrase' : 'file' },
      lines: ['The vault has a new master key.', next],
    };
  } finally {
    await home.close();
  }
}

/** `lango wallet address` */
export async function showAddress(call: Call<OwnerFlags>): Promise<Report> {
  const { address } = await withOwner(call, (owner) => owner.readWallet({}));
  return { json: { address }, lines: [address] };
}

/** `lango wallet import`: reads the key from the terminal, without echo, or from standard input. */
export async function importKey(call: Call<OwnerFlags & ReplaceFlags>): Promise<Report> {
  const input = { privateKey: await readHidden('The private key'), replace: call.flags.replace };
  const { address } = await withOwner(call, (owner) => owner.importWallet(input));
  const text = `Payments are made from ${address} from now on. Its key is in the vault.`;
  return { json: { address }, lines: [text] };
}

async function readHidden(title: string): Promise<string> {
  return process.stdin.isTTY ? askHidden(title) : readPiped();
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
    throw usageError(
      'A host is allowed for requests and pages alike.',
      'Name the same hosts for http and browser, or store the value twice.',
    );
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
