import { BlockList, isIP } from 'node:net';
import { LangoError } from '../core/errors.js';

/** Ranges that are nobody's on the public internet. */
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
  // Outside 2000::/3 nothing is public; inside it these embed other addresses or are for examples.
  ipv6: ['::/3', '4000::/2', '8000::/1', '2001::/23', '2001:db8::/32', '2002::/16'],
} as const;

/** Names that never leave this machine or its network. */
const LOCAL_NAME = /(^|\.)(localhost|local|internal|intranet|lan|home|arpa)$/;

/**
 * Tells whether others may make us send requests to a URL, as far as its text says: https, a public host, no
 * credentials. Hosts of `allowPrivate` (`name` or `name:port`) may be private ones, and without TLS. Names are
 * resolved, and their addresses checked, by the egress client at each request.
 */
export function createTargetCheck(allowPrivate: readonly string[]): (url: URL) => void {
  const allowed = new Set(allowPrivate.map((name) => name.toLowerCase()));
  const blocked = { ipv4: blockList('ipv4'), ipv6: blockList('ipv6') };
  return (url) => {
    if (url.protocol !== 'https:' && url.protocol !== 'http:') throw refused('must be an https URL');
    if (url.username !== '' || url.password !== '') throw refused('must not hold credentials');
    const port = url.port || (url.protocol === 'https:' ? '443' : '80');
    if (allowed.has(url.hostname) || allowed.has(`${url.hostname}:${port}`)) return;
    if (url.protocol !== 'https:') throw refused('must be an https URL');
    if (isPrivate(url.hostname, blocked)) throw refused('must not lead to a private or loopback address');
  };
}

function isPrivate(hostname: string, blocked: Readonly<Record<Family, BlockList>>): boolean {
  const address = hostname.replace(/^\[|\]$/g, '');
  const family = isIP(address);
  if (family === 0) return !hostname.includes('.') || LOCAL_NAME.test(hostname.replace(/\.$/, ''));
  return family === 4 ? blocked.ipv4.check(address, 'ipv4') : blocked.ipv6.check(address, 'ipv6');
}

/** Whether an IP address is one of the public internet. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  return isIP(address) !== 0 && !blockList(family).check(address, family);
}

type Family = keyof typeof NOT_PUBLIC;

/** One list for each family: in a common one an IPv4 address also counts as the IPv6 address it maps to. */
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
