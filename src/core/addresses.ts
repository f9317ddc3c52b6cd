import { isIPv4, isIPv6 } from 'node:net';

/** Whether only programs on this machine can reach the host. */
export function isLoopback(host: string): boolean {
  const name = plainHost(host);
  return name === 'localhost' || name === '::1' || (isIPv4(name) && name.startsWith('127.'));
}

/** Returns one spelling for each host: without brackets, IPv6 in its short form, and IPv4 in IPv6 (`::ffff:…`) as IPv4. */
export function plainHost(host: string): string {
  const name = host.toLowerCase().replace(/^\[|\]$/g, '');
  // An address with a zone, which no URL can hold, is its own spelling.
  if (!isIPv6(name) || name.includes('%')) return name;
  const short = new URL(`http://[${name}]`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(short) ?? [];
  if (high === undefined || low === undefined) return short;
  return [high, low].flatMap((pair) => [parseInt(pair, 16) >> 8, parseInt(pair, 16) & 0xff]).join('.');
}

/** Returns a host as it stands in a URL: an IPv6 address in brackets. */
export function hostInUrl(host: string): string {
  const name = plainHost(host);
  return name.includes(':') ? `[${name}]` : name;
}

/** Whether what is sent to the URL stays between its sender and its receiver: over TLS, or on this machine. */
export function isPrivateTransport(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' || isLoopback(hostname);
}

interface ConsoleSettings {
  readonly console: { readonly enabled?: boolean | undefined };
  readonly server: { readonly host: string };
}

/** Whether the web console is on. Unless the settings say, it is on at a loopback address only. */
export function showsConsole({ console: { enabled }, server: { host } }: ConsoleSettings): boolean {
  return enabled ?? isLoopback(host);
}
