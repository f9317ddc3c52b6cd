import { lookup, type LookupAddress } from 'node:dns';
import { Agent, type ClientRequestArgs } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import { Socket, isIP, type LookupFunction } from 'node:net';
import type { Duplex } from 'node:stream';
import nodeFetch from 'node-fetch';
import type { RequestInit, Response } from 'node-fetch';
import type { ServerTrust } from '../core/http.js';
import {
  REFUSAL_TEXTS,
  allowList,
  isBlockedPort,
  isPrivate,
  isPublicAddress,
  portOf,
} from './address-check.js';
import { ForwardingAgent, TunnelingAgent } from './proxy-agents.js';
import type { ProxyFor } from './proxy.js';

/** Opens connections, each after a check of all addresses of the name. */
export type CheckedAgents = ReturnType<typeof createCheckedAgents>;

interface CheckedOptions {
  /** Hosts as `name` or `name:port`. */
  readonly allowPrivate: readonly string[];
  /** Default: Node must trust the certificate of a server. */
  readonly trust?: ServerTrust | undefined;
  /** Default: all hosts are reached directly. */
  readonly proxyFor?: ProxyFor | undefined;
}

export function createCheckedAgents({ allowPrivate, trust, proxyFor }: CheckedOptions) {
  const mayBePrivate = allowList(allowPrivate);
  const publicOnly = agents(false, trust);
  const unrestricted = agents(true, trust);
  const choose = (url: URL): typeof publicOnly =>
    mayBePrivate(url.hostname, portOf(url)) ? unrestricted : publicOnly;
  const overProxy = new Map<string, Agent>();
  const proxied = (url: URL, proxy: URL): Agent => {
    // The proxy resolves the name, so only the text of the address can be checked here.
    if (!mayBePrivate(url.hostname, portOf(url))) {
      if (isBlockedPort(portOf(url))) throw new Error(REFUSAL_TEXTS.port);
      if (isPrivate(url.hostname)) throw new Error(REFUSAL_TEXTS.address);
    }
    const key = `${url.protocol} ${proxy.href}`;
    const isSecure = url.protocol === 'https:';
    const agent =
      overProxy.get(key) ?? (isSecure ? new TunnelingAgent(proxy, { ...trust }) : new ForwardingAgent(proxy));
    overProxy.set(key, agent);
    return agent;
  };
  return {
    /** Throws for an address that a proxy must not be asked for. */
    of(url: URL): Agent {
      const proxy = proxyFor?.(url);
      return proxy ? proxied(url, proxy) : choose(url)[url.protocol === 'https:' ? 'https' : 'http'];
    },
    /** Opens a plain connection to the URL's host and port. The stream fails for a refused address: see `isAddressRefusal`. */
    connect(url: URL): Duplex {
      const host = url.hostname.replace(/^\[|\]$/g, '');
      return choose(url).http.createConnection({ host, port: Number(portOf(url)) })!;
    },
  };
}

export type CheckedFetch = (url: URL, init: Omit<RequestInit, 'agent'>) => Promise<Response>;

export function createCheckedFetch(options: CheckedOptions): CheckedFetch {
  const agents = createCheckedAgents(options);
  return (url, init) => nodeFetch(url, { ...init, agent: (hop) => agents.of(hop) });
}

function agents(allowsPrivate: boolean, trust?: ServerTrust) {
  const check = allowsPrivate ? <Kind extends Agent>(agent: Kind) => agent : checked;
  return { http: check(new Agent()), https: check(new SecureAgent({ ...trust })) };
}

/** Has the agent connect to public addresses only. */
function checked<Kind extends Agent>(agent: Kind): Kind {
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, connected) =>
    refusedSocket(options) ?? connect({ ...options, lookup: publicLookup }, connected);
  return agent;
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
