import type { Agent } from 'node:http';
import type { Duplex } from 'node:stream';
import { RequestFilteringHttpAgent, RequestFilteringHttpsAgent } from 'request-filtering-agent';
import type { ServerTrust } from '../core/server-trust.js';

/** Connections whose address is looked at when they are made: every address of a name, every time. */
export interface CheckedAgents {
  /** For one request to this URL. */
  of(url: URL): Agent;
  /** A plain connection to the URL's host and port. A refused address is an `error` of the stream: see `isAddressRefusal`. */
  connect(url: URL): Duplex;
}

/**
 * `allowPrivate` names the hosts that may have a private or loopback address, as `name` or `name:port`. Without `trust`
 * a server must show what Node trusts.
 */
export function createCheckedAgents(allowPrivate: readonly string[], trust?: ServerTrust): CheckedAgents {
  const allowed = new Set(allowPrivate.map((name) => name.toLowerCase()));
  const strict = agents(false, trust);
  const open = agents(true, trust);
  const choose = (url: URL): typeof strict => {
    const isAllowed = allowed.has(url.hostname) || allowed.has(`${url.hostname}:${portOf(url)}`);
    return isAllowed ? open : strict;
  };
  return {
    of: (url) => choose(url)[url.protocol === 'https:' ? 'https' : 'http'],
    connect(url) {
      const host = url.hostname.replace(/^\[|\]$/g, '');
      return choose(url).http.createConnection({ host, port: Number(portOf(url)) });
    },
  };
}

function agents(allowPrivateIPAddress: boolean, trust?: ServerTrust) {
  return {
    http: new RequestFilteringHttpAgent({ allowPrivateIPAddress }),
    https: new RequestFilteringHttpsAgent({ allowPrivateIPAddress, ...trust }),
  };
}

export function portOf(url: URL): string {
  return url.port || (url.protocol === 'https:' ? '443' : '80');
}
