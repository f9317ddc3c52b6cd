import { isIPv4 } from 'node:net';
import type { Finding } from './issues.js';
import { finding } from './issues.js';
import type { Settings } from './schema.js';

/** Whether only programs of this machine can reach the address. */
function isLoopback(host: string): boolean {
  return (
    host === 'localhost' || host === '::1' || host === '[::1]' || (isIPv4(host) && host.startsWith('127.'))
  );
}

export function checkOpenServer({ auth, server }: Settings): readonly Finding[] {
  if (auth.mode !== 'none' || isLoopback(server.host)) return [];
  return finding(
    ['auth', 'mode'],
    `must be "token" when server.host is "${server.host}"; "none" is for loopback addresses such as 127.0.0.1`,
  );
}

export function checkJwt({ auth: { mode, jwt } }: Settings): readonly Finding[] {
  if (mode !== 'jwt') return [];
  const at = ['auth', 'mode'];
  if (jwt.issuer === undefined) return finding(at, 'needs to know who signs the tokens: set auth.jwt.issuer');
  if (jwt.audience.length === 0)
    return finding(at, 'needs to know whom tokens are meant for: set auth.jwt.audience');
  if (jwt.jwksUrl !== undefined && jwt.jwksFile !== undefined)
    return finding(['auth', 'jwt', 'jwksFile'], 'must be left out when there is auth.jwt.jwksUrl');
  const source = jwt.jwksFile === undefined ? (jwt.jwksUrl ?? jwt.issuer) : undefined;
  if (source === undefined || isSafe(source)) return [];
  const key = jwt.jwksUrl === undefined ? 'issuer' : 'jwksUrl';
  return finding(['auth', 'jwt', key], 'must be https: keys that come in the clear can be anybody’s');
}

function isSafe(address: string): boolean {
  const { protocol, hostname } = new URL(address);
  return protocol === 'https:' || isLoopback(hostname);
}

export function checkMtls({ auth, server: { tls } }: Settings): readonly Finding[] {
  if (auth.mode !== 'mtls' || tls.clientCaFile !== undefined) return [];
  return finding(['auth', 'mode'], 'needs to know whose certificates to trust: set server.tls.clientCaFile');
}

export function checkTls({ server: { tls } }: Settings): readonly Finding[] {
  const { certFile, keyFile, clientCaFile, crlFile } = tls;
  const at = ['server', 'tls'];
  if ((certFile === undefined) !== (keyFile === undefined)) {
    const [named, missing] = certFile === undefined ? ['keyFile', 'certFile'] : ['certFile', 'keyFile'];
    return finding([...at, named], `needs server.tls.${missing} beside it`);
  }
  if (clientCaFile !== undefined && certFile === undefined)
    return finding([...at, 'clientCaFile'], 'needs server.tls.certFile and keyFile beside it');
  if (crlFile !== undefined && clientCaFile === undefined)
    return finding([...at, 'crlFile'], 'needs server.tls.clientCaFile beside it');
  return [];
}
