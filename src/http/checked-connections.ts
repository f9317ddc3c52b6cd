import { lookup, type LookupAddress } from 'node:dns';
import { Agent, type ClientRequestArgs } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import { Socket, isIP, type LookupFunction } from 'node:net';
import type { Duplex } from 'node:stream';
import nodeFetch from 'node-fetch';
import type { RequestInit, Response } from 'node-fetch';
import type { ServerTrust } from '../core/http.js';
import { REFUSED, allowList, isForeignPort, isPublicAddress, portOf } from './address-check.js';

/** Opens connections to checked addresses: all addresses of a name are checked at each connection. */
export interface CheckedAgents {
  /** The agent for one request to this URL. */
  of(url: URL): Agent;
  /** A plain connection to the URL's host and port. A refused address is an `error` of the stream: see `isAddressRefusal`. */
  connect(url: URL): Duplex;
}

/**
 * `allowPrivate` names the hosts that may have a private or loopback address, as `name` or `name:port`. Without `trust`
 * the certificate of a server must be one that Node trusts.
 */
export function createCheckedAgents(allowPrivate: readonly string[], trust?: ServerTrust): CheckedAgents {
  const mayBePrivate = allowList(allowPrivate);
  const strict = agents(false, trust);
  const open = agents(true, trust);
  const choose = (url: URL): typeof strict => (mayBePrivate(url.hostname, portOf(url)) ? open : strict);
  return {
    of: (url) => choose(url)[url.protocol === 'https:' ? 'https' : 'http'],
    connect(url) {
      const host = url.hostname.replace(/^\[|\]$/g, '');
      return choose(url).http.createConnection({ host, port: Number(portOf(url)) })!;
    },
  };
}

export type CheckedFetch = (url: URL, init: Omit<RequestInit, 'agent'>) => Promise<Response>;

/** Makes a fetch over checked connections. */
export function createCheckedFetch(allowPrivate: readonly string[], trust?: ServerTrust): CheckedFetch {
  const agents = createCheckedAgents(allowPrivate, trust);
  return (url, init) => nodeFetch(url, { ...init, agent: (hop) => agents.of(hop) });
}

function agents(isOpen: boolean, trust?: ServerTrust) {
  if (isOpen) return { http: new Agent(), https: new SecureAgent({ ...trust }) };
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

/** A connection that fails, for a port or an address that is refused without asking for a name. */
function refusedSocket({ host, port }: ClientRequestArgs): Socket | undefined {
  const isPrivate = isIP(host ?? '') !== 0 && !isPublicAddress(host ?? '');
  if (!isPrivate && !isForeignPort(port ?? 0)) return undefined;
  return new Socket().destroy(new Error(isPrivate ? REFUSED.address : REFUSED.port));
}

/** As `dns.lookup`, but fails for a name that has any address outside of the public internet. */
const publicLookup: LookupFunction = (name, options, done) => {
  lookup(name, { ...options, all: true }, (error, found: LookupAddress[]) => {
    const [first] = found ?? [];
    if (error || !first) return done(error ?? new Error(`${name} has no address`), []);
    if (!found.every(({ address }) => isPublicAddress(address))) return done(new Error(REFUSED.address), []);
    if (options.all) done(null, found);
    else done(null, first.address, first.family);
  });
};
