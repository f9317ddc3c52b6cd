import { isIPv4 } from 'node:net';

/** Whether only programs on this machine can reach the host. */
export function isLoopback(host: string): boolean {
  return (
    host === 'localhost' || host === '::1' || host === '[::1]' || (isIPv4(host) && host.startsWith('127.'))
  );
}

/** Whether what is sent to the URL stays between its sender and its receiver: over TLS, or on this machine. */
export function isPrivateTransport(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' || isLoopback(hostname);
}
