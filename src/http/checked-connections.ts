import type { Agent } from 'node:http';
import type { Duplex } from 'node:stream';
import nodeFetch from 'node-fetch';
import type { RequestInit, Response } from 'node-fetch';
import { RequestFilteringHttpAgent, RequestFilteringHttpsAgent } from 'request-filtering-agent';
import type { ServerTrust } from '../core/http.js';
import { allowList, portOf } from './address-check.js';

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
      return choose(url).http.createConnection({ host, port: Number(portOf(url)) });
    },
  };
}

export type CheckedFetch = (url: URL, init: Omit<RequestInit, 'agent'>) => Promise<Response>;

/** Makes a fetch over checked connections. */
export function createCheckedFetch(allowPrivate: readonly string[], trust?: ServerTrust): CheckedFetch {
  const agents = createCheckedAgents(allowPrivate, trust);
  return (url, init) => nodeFetch(url, { ...init, agent: (hop) => agents.of(hop) });
}

function agents(allowPrivateIPAddress: boolean, trust?: ServerTrust) {
  return {
    http: new RequestFilteringHttpAgent({ allowPrivateIPAddress }),
    https: new RequestFilteringHttpsAgent({ allowPrivateIPAddress, ...trust }),
  };
}
