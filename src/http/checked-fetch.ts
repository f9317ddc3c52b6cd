import type { Agent } from 'node:http';
import nodeFetch from 'node-fetch';
import type { RequestInit, Response } from 'node-fetch';
import { RequestFilteringHttpAgent, RequestFilteringHttpsAgent } from 'request-filtering-agent';

export type CheckedFetch = (url: URL, init: Omit<RequestInit, 'agent'>) => Promise<Response>;

/** node-fetch, with every address looked at when it connects; `allowPrivate` names hosts as `name` or `name:port`. */
export function createCheckedFetch(allowPrivate: readonly string[]): CheckedFetch {
  const agent = createAgents(allowPrivate);
  return (url, init) => nodeFetch(url, { ...init, agent });
}

/** Chooses the agent for each hop: the filtering one, unless the name of the hop is allowed. */
function createAgents(allowPrivate: readonly string[]): (url: URL) => Agent {
  const allowed = new Set(allowPrivate.map((name) => name.toLowerCase()));
  const strict = {
    http: new RequestFilteringHttpAgent(),
    https: new RequestFilteringHttpsAgent(),
  };
  const open = {
    http: new RequestFilteringHttpAgent({ allowPrivateIPAddress: true }),
    https: new RequestFilteringHttpsAgent({ allowPrivateIPAddress: true }),
  };
  return (url) => {
    const port = url.port || (url.protocol === 'https:' ? '443' : '80');
    const isAllowed = allowed.has(url.hostname) || allowed.has(`${url.hostname}:${port}`);
    return (isAllowed ? open : strict)[url.protocol === 'https:' ? 'https' : 'http'];
  };
}
