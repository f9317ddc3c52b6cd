import nodeFetch from 'node-fetch';
import type { RequestInit, Response } from 'node-fetch';
import { createCheckedAgents } from './checked-agents.js';

export type CheckedFetch = (url: URL, init: Omit<RequestInit, 'agent'>) => Promise<Response>;

/** node-fetch, with every address looked at when it connects; `allowPrivate` names hosts as `name` or `name:port`. */
export function createCheckedFetch(allowPrivate: readonly string[]): CheckedFetch {
  const agents = createCheckedAgents(allowPrivate);
  return (url, init) => nodeFetch(url, { ...init, agent: (hop) => agents.of(hop) });
}
