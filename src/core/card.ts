import type { Skill } from './agent.js';

/** What is fixed about a published agent: one file in agent-cards/. The rest is filled in from the running system. */
export interface CardFile {
  readonly name: string;
  readonly description: string;
  readonly provider?: { readonly organization: string; readonly url: string };
  readonly iconUrl?: string;
  readonly documentationUrl?: string;
  readonly defaultInputModes: readonly string[];
  readonly defaultOutputModes: readonly string[];
  /** Skills the agent has whatever its tools are. */
  readonly skills: readonly Skill[];
}
