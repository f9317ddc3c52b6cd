import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { LangoError } from '../core/errors.js';

/** Address ranges that do not belong to the public internet. */
const NOT_PUBLIC = {
  ipv4: [
    ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
    ...['192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15'],
    ...['198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/3'],
    // Azure's services for its machines: a public address that is reachable only inside a machine of Azure.
    '168.63.129.16/32',
  ],
  // Nothing outside 2000::/3 is public; the ranges inside it embed other addresses or are for examples.
  ipv6: ['::/3', '4000::/2', '8000::/1', '2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
} as const;

/** The "bad ports" of https://fetch.spec.whatwg.org/#port-blocking, and those of databases and control services. */
const BLOCKED_PORTS: ReadonlySet<number> = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
  109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 138, 139, 143, 161, 162, 179, 389, 427, 445, 465, 500,
  512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 623, 631, 636, 873, 989, 990,
  993, 995, 1433, 1521, 1719, 1720, 1723, 2049, 2375, 3306, 3389, 3659, 4045, 4190, 5060, 5061, 5432, 5672,
  5900, 5985, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 9042, 9092, 10080, 11211, 27017,
  61616,
]);

/** Names that only this machine or its network resolves. */
const LOCAL_NAME = /(^|\.)(localhost|local|internal|intranet|lan|home|arpa)$/;

/**
 * Makes the check of a URL that a caller gives the server for requests, such as a webhook. It throws `invalid-input` unless
 * the URL is https, with a public host and without credentials. Hosts in `allowPrivate` (`name` or `name:port`) may be
 * private and without TLS. The check reads only the text of the URL; the egress client checks the addresses of a name at
 * each request.
 */
export function createTargetCheck(allowPrivate: readonly string[]): (url: URL) => void {
  const mayBePrivate = allowList(allowPrivate);
  return (url) => {
    if (url.protocol !== 'https:' && url.protocol !== 'http:') throw refused('must be an https URL');
    if (url.username !== '' || url.password !== '') throw refused('must not hold credentials');
    if (mayBePrivate(url.hostname, portOf(url))) return;
    if (url.protocol !== 'https:') throw refused('must be an https URL');
    if (isBlockedPort(portOf(url)))
      throw refused('must not have the port of a service that does not speak HTTP');
    if (isPrivate(url.hostname)) throw refused('must not lead to a private or loopback address');
  };
}

/** Returns a function that tells whether the list contains a host; `names` are `name` or `name:port`. */
export function allowList(names: readonly string[]): (host: string, port: string | number) => boolean {
  const allowed = new Set(names.map((name) => name.toLowerCase()));
  return (host, port) => allowed.has(host) || allowed.has(`${host}:${port}`);
}

export const isBlockedPort = (port: string | number): boolean => BLOCKED_PORTS.has(Number(port));

export const portOf = (url: URL): string => url.port || (url.protocol === 'https:' ? '443' : '80');

/** Whether the host of a URL is, by its text alone, one of a private network or this machine. */
export function isPrivate(hostname: string): boolean {
  const name = hostname.replace(/^\[|\]$|\.$/g, '');
  if (isIP(name) !== 0) return !isPublicAddress(name);
  return !name.includes('.') || LOCAL_NAME.test(name);
}

export function isPublicAddress(address: string): boolean {
  const version = isIP(address);
  if (version === 0) return false;
  return !isInPrivateRange[version === 6 ? 'ipv6' : 'ipv4'](address);
}

/** Returns a function that tells whether an address is in one of the ranges, such as `10.0.0.0/8`. Skips what is no range. */
export function rangesOf(ranges: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const range of ranges) {
    const [net = '', bits] = range.split('/');
    const family = isIP(net) === 6 ? 'ipv6' : 'ipv4';
    if (isIP(net) !== 0 && Number(bits) <= (family === 'ipv6' ? 128 : 32))
      list.addSubnet(net, Number(bits), family);
  }
  return (address) => isIP(address) !== 0 && list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

/** One list for each family: a common list would also match an IPv4 address as the IPv6 address that it maps to. */
const isInPrivateRange = { ipv4: rangesOf(NOT_PUBLIC.ipv4), ipv6: rangesOf(NOT_PUBLIC.ipv6) };

function refused(description: string): LangoError {
  return new LangoError('invalid-input', `The address ${description}.`, {
    violations: [{ field: 'url', description }],
  });
}

/** Resolves a name to the address to connect to. Rejects with `forbidden` (a private one) or `unavailable` (none). */
export type AddressCheck = (host: string, port: number) => Promise<string>;

/**
 * Makes the check for connections that do not use the egress client (gRPC). It checks every address of a name and resolves
 * with one of them. The caller connects to that address, so a name that changes meanwhile has no effect. `allowPrivate`
 * names hosts as `name` or `name:port`.
 */
export function createAddressCheck(allowPrivate: readonly string[]): AddressCheck {
  const mayBePrivate = allowList(allowPrivate);
  return async (host, port) => {
    const name = host.toLowerCase().replace(/^\[|\]$/g, '');
    const isAllowed = mayBePrivate(name, port);
    if (!isAllowed && isBlockedPort(port)) throw blockedPort(`${host}:${port}`);
    const addresses = await lookup(name, { all: true }).catch((cause: unknown) => {
      throw new LangoError('unavailable', `${host} has no address.`, { cause, retryable: true });
    });
    if (!isAllowed && !addresses.every(({ address }) => isPublicAddress(address)))
      throw privateAddress(`${host}:${port}`);
    return addresses[0]!.address;
  };
}

/** The error for a host with a private or loopback address. */
export function privateAddress(
  host: string,
  hint = `If that is meant, add "${host}" to egress.allowPrivate.`,
): LangoError {
  return new LangoError('forbidden', `${host} has a private or loopback address.`, { hint });
}

/** The error for a port of a service that does not speak HTTP. */
export function blockedPort(host: string): LangoError {
  return new LangoError('forbidden', `${host} has the port of a service that does not speak HTTP.`, {
    hint: `If an HTTP server is meant, add "${host}" to egress.allowPrivate.`,
  });
}

/** The messages of errors for refused connections. Code that gets such an error recognizes it by its message. */
export const REFUSAL_TEXTS = {
  address: 'the address is not public',
  port: 'the port belongs to a service that does not speak HTTP',
} as const;

/** Whether the text of an error says that an address or a port was refused, and not that it is unreachable. */
export function isAddressRefusal(text: string): boolean {
  return text.includes(REFUSAL_TEXTS.address) || text.includes(REFUSAL_TEXTS.port);
}
