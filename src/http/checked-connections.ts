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
import type { ProxyFor } from './proxy.js';

/** Opens connections, each after a check of all addresses of the name. */
export type CheckedAgents = ReturnType<typeof createCheckedAgents>;

interface CheckedOptions {
  /** Hosts as `name` or `name:port`. */
  readonly allowPrivate: readonly string[];
  /** Hosts that may be private too, unless their name had public addresses before. Default: none. */
  readonly configured?: readonly string[];
  /** Default: Node must trust the certificate of a server. */
  readonly trust?: ServerTrust | undefined;
  /** Default: all hosts are reached directly. */
  readonly proxyFor?: ProxyFor | undefined;
}

export function createCheckedAgents(options: CheckedOptions) {
  const { allowPrivate, configured = [], trust, proxyFor } = options;
  const isAllowed = allowList(allowPrivate);
  const isConfigured = allowList(configured);
  const publicOnly = agents(refusingPrivate, trust);
  const unrestricted = agents((agent) => agent, trust);
  const settledLookup = createSettledLookup();
  const settled = agents((agent) => resolving(agent, settledLookup), trust);
  const choose = (url: URL): typeof publicOnly => {
    const at = [url.hostname, portOf(url)] as const;
    if (isAllowed(...at)) return unrestricted;
    return isConfigured(...at) ? settled : publicOnly;
  };
  const overProxy = new Map<string, typeof publicOnly>();
  const proxied = (url: URL, proxy: URL): Agent => {
    // The proxy resolves the name, so only the text of the address can be checked here.
    if (choose(url) === publicOnly) {
      if (isBlockedPort(portOf(url))) throw new Error(REFUSAL_TEXTS.port);
      if (isPrivate(url.hostname)) throw new Error(REFUSAL_TEXTS.address);
    }
    const both = overProxy.get(proxy.href) ?? agents((agent) => agent, trust, proxy);
    overProxy.set(proxy.href, both);
    return agentIn(both, url);
  };
  return {
    /** Throws for an address that a proxy must not be asked for. */
    of(url: URL): Agent {
      const proxy = proxyFor?.(url);
      return proxy ? proxied(url, proxy) : agentIn(choose(url), url);
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

const TUNNEL_MS = 30_000;

/** Over a proxy, https goes through a tunnel, of which the proxy sees the name and the port alone. */
function agents(check: <Kind extends Agent>(agent: Kind) => Kind, trust?: ServerTrust, proxy?: URL) {
  const way = proxy && {
    timeout: TUNNEL_MS,
    proxyEnv: { HTTP_PROXY: proxy.href, HTTPS_PROXY: proxy.href },
  };
  return { http: check(new Agent(way)), https: check(new SecureAgent({ ...trust, ...way })) };
}

const agentIn = ({ http, https }: ReturnType<typeof agents>, { protocol }: URL): Agent =>
  protocol === 'https:' ? https : http;

/** Has the agent resolve names by `lookup`. */
function resolving<Kind extends Agent>(agent: Kind, lookup: LookupFunction): Kind {
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, connected) => connect({ ...options, lookup }, connected);
  return agent;
}

/** Has the agent connect to public addresses only. */
function refusingPrivate<Kind extends Agent>(agent: Kind): Kind {
  const connect = resolving(agent, publicLookup).createConnection.bind(agent);
  agent.createConnection = (options, connected) => refusedSocket(options) ?? connect(options, connected);
  return agent;
}

/** Returns a failed socket for a port or an address that is refused; undefined for a name, whose addresses are not known yet. */
function refusedSocket({ host, port }: ClientRequestArgs): Socket | undefined {
  const isPrivate = isIP(host ?? '') !== 0 && !isPublicAddress(host ?? '');
  if (!isPrivate && !isBlockedPort(port ?? 0)) return undefined;
  return new Socket().destroy(new Error(isPrivate ? REFUSAL_TEXTS.address : REFUSAL_TEXTS.port));
}

/** Makes a `dns.lookup` that fails for a name whose addresses are refused. `isPublic`: all of them are. */
function lookupThat(accepts: (name: string, isPublic: boolean) => boolean): LookupFunction {
  return (name, options, done) => {
    lookup(name, { ...options, all: true }, (error, found: LookupAddress[]) => {
      const [first] = found ?? [];
      if (error || !first) return done(error ?? new Error(`${name} has no address`), []);
      const isPublic = found.every(({ address }) => isPublicAddress(address));
      if (!accepts(name, isPublic)) return done(new Error(REFUSAL_TEXTS.address), []);
      if (options.all) done(null, found);
      else done(null, first.address, first.family);
    });
  };
}

const publicLookup = lookupThat((_, isPublic) => isPublic);

/** Accepts private addresses of a name only while it had no others, since its owner may be another one than of the network. */
function createSettledLookup(): LookupFunction {
  const publicNames = new Set<string>();
  return lookupThat((name, isPublic) => {
    if (isPublic) publicNames.add(name);
    return !publicNames.has(name) || isPublic;
  });
}
