import { lookup as lookupName, type LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { Agent, type AgentOptions } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import nodeFetch from 'node-fetch';
import type { RequestInit, Response } from 'node-fetch';
import { plainHost } from '../core/addresses.js';
import { codeOf } from '../core/errors.js';
import type { ServerTrust } from '../core/http.js';
import { defined } from '../core/json.js';
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

const TUNNEL_MS = 30_000;

/** Makes agents and connections. Both throw for a refused address, or fail with one once its name is known: see `isAddressRefusal`. */
export function createCheckedAgents({ allowPrivate, configured = [], trust, proxyFor }: CheckedOptions) {
  const isAllowed = allowList(allowPrivate);
  const isConfigured = allowList(configured);
  const settledLookup = createSettledLookup();
  /** The function that resolves the name, unless any address will do. Throws for what the text of a URL shows. */
  const lookupFor = (url: URL, isRefused = isPrivateAddress): { readonly lookup?: LookupFunction } => {
    const at = [url.hostname, portOf(url)] as const;
    if (isAllowed(...at)) return {};
    if (isConfigured(...at)) return { lookup: settledLookup };
    if (isBlockedPort(portOf(url))) throw new Error(REFUSAL_TEXTS.port);
    if (isRefused(url.hostname)) throw new Error(REFUSAL_TEXTS.address);
    return { lookup: publicLookup };
  };
  const made = new Map<unknown, { readonly http: Agent; readonly https: Agent }>();
  const agentIn = (key: unknown, options: AgentOptions, { protocol }: URL): Agent => {
    const make = () => ({ http: new Agent(options), https: new SecureAgent({ ...trust, ...options }) });
    const both = made.get(key) ?? make();
    made.set(key, both);
    return protocol === 'https:' ? both.https : both.http;
  };
  return {
    of(url: URL): Agent {
      const proxy = proxyFor?.(url);
      // A proxy resolves the name, so only the text of the address can be checked here.
      const { lookup } = lookupFor(url, proxy ? isPrivate : isPrivateAddress);
      if (!proxy) return agentIn(lookup, defined({ lookup }), url);
      // For https, it opens a tunnel, of which it sees the name and the port alone.
      const proxyEnv = { HTTP_PROXY: proxy.href, HTTPS_PROXY: proxy.href };
      return agentIn(proxy.href, { timeout: TUNNEL_MS, proxyEnv }, url);
    },
    /** Opens a plain connection to the URL's host and port. */
    connect: (url: URL): Socket =>
      connect({ host: plainHost(url.hostname), port: Number(portOf(url)), ...lookupFor(url) }),
  };
}

export type CheckedFetch = (url: URL, init: Omit<RequestInit, 'agent'>) => Promise<Response>;

export function createCheckedFetch(options: CheckedOptions): CheckedFetch {
  const agents = createCheckedAgents(options);
  return (url, init) => nodeFetch(url, { ...init, agent: (hop) => agents.of(hop) });
}

function isPrivateAddress(hostname: string): boolean {
  const host = plainHost(hostname);
  return isIP(host) !== 0 && !isPublicAddress(host);
}

/** Makes a `dns.lookup` that fails for a name whose addresses are refused. `isPublic`: all of them are. */
function lookupThat(accepts: (name: string, isPublic: boolean) => boolean): LookupFunction {
  return (name, options, done) => {
    lookupName(name, { ...options, all: true }, (error, found: LookupAddress[]) => {
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

const CONNECT_MS = 3_000;

/** Connects to a proxy. Resolves with the reason when that fails. */
export async function connectProblem(proxy: URL): Promise<string | undefined> {
  const socket = connect({ host: plainHost(proxy.hostname), port: Number(portOf(proxy)) });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_MS) });
    return undefined;
  } catch (error) {
    return codeOf(error) ?? 'no answer in time';
  } finally {
    socket.destroy();
  }
}
