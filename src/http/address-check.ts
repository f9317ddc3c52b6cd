import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { LangoError } from '../core/errors.js';

/** Address ranges that do not belong to the public internet. */
const NOT_PUBLIC = {
  ipv4: [
    '0.0.0.0/8',
    '10.0.0.0/8',
    '100.64.0.0/10',
    '127.0.0.0/8',
    '169.254.0.0/16',
    '172.16.0.0/12',
    '192.0.0.0/24',
    '192.0.2.0/24',
    '192.88.99.0/24',
    '192.168.0.0/16',
    '198.18.0.0/15',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '224.0.0.0/3',
  ],
  // Nothing outside 2000::/3 is public; the ranges inside it embed other addresses or are for examples.
  ipv6: ['::/3', '4000::/2', '8000::/1', '2001::/23', '2001:db8::/32', '2002::/16'],
} as const;

/** Names that are resolved inside this machine or its network only. */
const LOCAL_NAME = /(^|\.)(localhost|local|internal|intranet|lan|home|arpa)$/;

/**
 * Makes the check of a URL that a caller wants us to send requests to: it must be https, with a public host and without
 * credentials. Hosts in `allowPrivate` (`name` or `name:port`) may be private and without TLS. The check reads the text
 * of the URL alone; the egress client checks the addresses of a name at each request. The check throws `invalid-input`.
 */
export function createTargetCheck(allowPrivate: readonly string[]): (url: URL) => void {
  const mayBePrivate = allowList(allowPrivate);
  const blocked = { ipv4: blockList('ipv4'), ipv6: blockList('ipv6') };
  return (url) => {
    if (url.protocol !== 'https:' && url.protocol !== 'http:') throw refused('must be an https URL');
    if (url.username !== '' || url.password !== '') throw refused('must not hold credentials');
    if (mayBePrivate(url.hostname, portOf(url))) return;
    if (url.protocol !== 'https:') throw refused('must be an https URL');
    if (isPrivate(url.hostname, blocked)) throw refused('must not lead to a private or loopback address');
  };
}

/** Makes the check whether a host may have a private or loopback address; `names` are `name` or `name:port`. */
export function allowList(names: readonly string[]): (host: string, port: string | number) => boolean {
  const allowed = new Set(names.map((name) => name.toLowerCase()));
  return (host, port) => allowed.has(host) || allowed.has(`${host}:${port}`);
}

export function portOf(url: URL): string {
  return url.port || (url.protocol === 'https:' ? '443' : '80');
}

function isPrivate(hostname: string, blocked: Readonly<Record<Family, BlockList>>): boolean {
  const address = hostname.replace(/^\[|\]$/g, '');
  const family = isIP(address);
  if (family === 0) return !hostname.includes('.') || LOCAL_NAME.test(hostname.replace(/\.$/, ''));
  return family === 4 ? blocked.ipv4.check(address, 'ipv4') : blocked.ipv6.check(address, 'ipv6');
}

/** Whether an IP address belongs to the public internet. */
function isPublicAddress(address: string): boolean {
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  return isIP(address) !== 0 && !blockList(family).check(address, family);
}

type Family = keyof typeof NOT_PUBLIC;

/** One list for each family: a common list would also match an IPv4 address as the IPv6 address that it maps to. */
function blockList(family: Family): BlockList {
  const list = new BlockList();
  for (const range of NOT_PUBLIC[family]) {
    const [net, bits] = range.split('/');
    list.addSubnet(net!, Number(bits), family);
  }
  return list;
}

function refused(description: string): LangoError {
  return new LangoError('invalid-input', `the address ${description}`, {
    violations: [{ field: 'url', description }],
  });
}

/**
 * Resolves a host name to the address to connect to. Rejects with `forbidden` for a private or loopback address, and
 * with `unavailable` for a name without an address.
 */
export type AddressCheck = (host: string, port: number) => Promise<string>;

/**
 * The egress rule for connections that do not go through the egress client (gRPC): it checks every address of a name,
 * and its user connects to the address that it returns, so that the name cannot change in between. `allowPrivate` names
 * hosts as `name` or `name:port`.
 */
export function createAddressCheck(allowPrivate: readonly string[]): AddressCheck {
  const mayBePrivate = allowList(allowPrivate);
  return async (host, port) => {
    const name = host.toLowerCase().replace(/^\[|\]$/g, '');
    const addresses = await lookup(name, { all: true }).catch((cause: unknown) => {
      throw new LangoError('unavailable', `${host} has no address.`, { cause, retryable: true });
    });
    if (!mayBePrivate(name, port) && !addresses.every(({ address }) => isPublicAddress(address))) {
      throw new LangoError('forbidden', `${host}:${port} has a private or loopback address.`, {
        hint: `If that is meant, add "${host}:${port}" to egress.allowPrivate.`,
      });
    }
    return addresses[0]!.address;
  };
}

/** Whether an error's text says that an address was refused as private, rather than unreachable. */
export function isAddressRefusal(text: string): boolean {
  return /(?:private|meta) IP address/.test(text);
}
