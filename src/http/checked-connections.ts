import { lookup, type LookupAddress } from 'node:dns';
import { Agent, type ClientRequestArgs } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import { Socket, isIP, type LookupFunction } from 'node:net';
import type { Duplex } from 'node:stream';
import nodeFetch from 'node-fetch';
import type { RequestInit, Response } from 'node-fetch';
import type { ServerTrust } from '../core/http.js';
import { REFUSAL_TEXTS, allowList, isBlockedPort, isPublicAddress, portOf } from './address-check.js';

/** Opens connections, each after a check of all addresses of the name. */
export interface CheckedAgents {
  of(url: URL): Agent;
  /** Opens a plain connection to the URL's host and port. The stream fails for a refused address: see `isAddressRefusal`. */
  connect(url: URL): Duplex;
}

/** `allowPrivate` names hosts as `name` or `name:port`. Without `trust`, Node must trust the certificate of a server. */
export function createCheckedAgents(allowPrivate: readonly string[], trust?: ServerTrust): CheckedAgents {
  const mayBePrivate = allowList(allowPrivate);
  const publicOnly = agents(false, trust);
  const unrestricted = agents(true, trust);
  const choose = (url: URL): typeof publicOnly =>
    mayBePrivate(url.hostname, portOf(url)) ? unrestricted : publicOnly;
  return {
    of: (url) => choose(url)[url.protocol === 'https:' ? 'https' : 'http'],
    connect(url) {
      const host = url.hostname.replace(/^\[|\]$/g, '');
      return choose(url).http.createConnection({ host, port: Number(portOf(url)) })!;
    },
  };
}

export type CheckedFetch = (url: URL, init: Omit<RequestInit, 'agent'>) => Promise<Response>;

export function createCheckedFetch(allowPrivate: readonly string[], trust?: ServerTrust): CheckedFetch {
  const agents = createCheckedAgents(allowPrivate, trust);
  return (url, init) => nodeFetch(url, { ...init, agent: (hop) => agents.of(hop) });
}

function agents(allowsPrivate: boolean, trust?: ServerTrust) {
  if (allowsPrivate) return { http: new Agent(), https: new SecureAgent({ ...trust }) };
  return { http: new CheckedAgent(), https: new CheckedSecureAgent({ ...trust }) };
}

type Connected = Parameters<Agent['createConnection']>[1];

class CheckedAgent extends Agent {
  override createConnection(options: ClientRequestArgs, connected?: Connected) {
    return refusedSocket(options) ?? super.createConnection({ ...options, lookup: publicLookup }, connected);
  }
}

class CheckedSecureAgent extends SecureAgent {
  override createConnection(options: ClientRequestArgs, connected?: Connected) {
    return refusedSocket(options) ?? super.createConnection({ ...options, lookup: publicLookup }, connected);
  }
}

/** Returns a failed socket for a port or an address that is refused; undefined for a name, whose addresses are not known yet. */
function refusedSocket({ host, port }: ClientRequestArgs): Socket | undefined {
  const isPrivate = isIP(host ?? '') !== 0 && !isPublicAddress(host ?? '');
  if (!isPrivate && !isBlockedPort(port ?? 0)) return undefined;
  return new Socket().destroy(new Error(isPrivate ? REFUSAL_TEXTS.address : REFUSAL_TEXTS.port));
}

/** Like `dns.lookup`, but fails for a name that has any address outside the public internet. */
const publicLookup: LookupFunction = (name, options, done) => {
  lookup(name, { ...options, all: true }, (error, found: LookupAddress[]) => {
    const [first] = found ?? [];
    if (error || !first) return done(error ?? new Error(`${name} has no address`), []);
    if (!found.every(({ address }) => isPublicAddress(address)))
      return done(new Error(REFUSAL_TEXTS.address), []);
    if (options.all) done(null, found);
    else done(null, first.address, first.family);
  });
};
