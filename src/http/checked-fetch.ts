import nodeFetch from 'node-fetch';
import type { RequestInit, Response } from 'node-fetch';
import type { ServerTrust } from '../core/server-trust.js';
import { createCheckedAgents } from './checked-agents.js';

export type CheckedFetch = (url: URL, init: Omit<RequestInit, 'agent'>) => Promise<Response>;

/** node-fetch, with every address looked at when it connects; `allowPrivate` names hosts as `name` or `name:port`. */
export function createCheckedFetch(allowPrivate: readonly string[], trust?: ServerTrust): CheckedFetch {
  const agents = createCheckedAgents(allowPrivate, trust);
  return (url, init) => nodeFetch(url, { ...init, agent: (hop) => agents.of(hop) });
}
