import { SECRET_PLACES } from '../core/secrets.js';
import type { SecretPlace, SecretPermission } from '../core/secrets.js';
import { nothingChanged, usageError } from './exit.js';

/** They say nothing without the name of a host. */
export const SENDING_PLACES: readonly SecretPlace[] = SECRET_PLACES.filter((place) => place !== 'exec');

const LABELS: Readonly<Record<SecretPlace, string>> = {
  exec: 'in commands',
  http: 'in headers of requests',
  browser: 'in password fields of web pages',
};

/**
 * What `--for` ("exec,http:HOST") and `--host` say together. Hosts are allowed for requests and pages alike, so a
 * host that is named for one of them only is refused rather than allowed for both. A host by itself means requests.
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
