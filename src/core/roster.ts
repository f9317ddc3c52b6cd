/** How an agent may be named: it is part of its URL and of the delegation function's enum. */
export const AGENT_NAME = /^[a-z][a-z0-9-]{0,63}$/;

/** One agent of the roster, as data: the registry is a list of these, shipped or from the config. */
export interface AgentSpec {
  readonly name: string;
  /** What it is for, in one sentence; the words of its capabilities are added from its tools. */
  readonly description: string;
  /** What it does, its input, its output, its constraints, and how it reports. */
  readonly instruction: string;
  /** It owns each tool whose name begins with one of these; the first spec in the list that matches wins. */
  readonly prefixes: readonly string[];
  /** Exists even without a tool. */
  readonly alwaysInclude: boolean;
  /** Whether it also gets the tools that no prefix matches. At most one spec of a roster. */
  readonly takesUnmatched: boolean;
}

/** In the order in which prefixes are matched (requirement P1). */
export type Roster = readonly AgentSpec[];

export const ORCHESTRATOR_NAME = 'lango-orchestrator';
export const FLAT_AGENT_NAME = 'lango-agent';

/** The `rootAgentName` of requirement A3. */
export function rootAgentName(multiAgent: boolean): string {
  return multiAgent ? ORCHESTRATOR_NAME : FLAT_AGENT_NAME;
}
