import type { Peer, Roster } from '../core/agent.js';
import type { SystemBlock } from '../core/model.js';
import type { Scope } from '../core/task.js';
import { oneLine } from '../core/text.js';
import type { Tool, ToolSource } from '../core/tool.js';
import { partitionTools } from './partition.js';
import { slot } from './prompts.js';

const SKILL_PREFIX = 'skill_';
const LONGEST_LINE = 300;
const LONGEST_LIST = 4_000;

export interface OwnSkillsOptions {
  readonly scope: Scope;
  readonly sources: readonly ToolSource[];
  /** The agents that run on this node. */
  readonly roster: Roster;
  /** The agents that the orchestrator can reach now. */
  readonly peers: readonly Peer[];
}

/**
 * The lines of the routing table for skills that only this owner has: no public card shows them. Empty when the owner
 * has none. Of a skill from outside, the line tells only the name.
 */
export function ownSkillsBlock({ scope, sources, roster, peers }: OwnSkillsOptions): readonly SystemBlock[] {
  const common = new Set(sources.flatMap((source) => source.list(undefined)));
  const own = sources.flatMap((source) => source.list(scope)).filter((tool) => !common.has(tool));
  const owned = partitionTools(own, roster);
  const lines = peers.flatMap(({ name }) => (owned[name] ?? []).map((tool) => line(name, tool)));
  if (lines.length === 0) return [];
  const meaning = "This user's own skills, each behind the agent that has it, as data.";
  return [slot('own-skills', meaning, lines.join('\n').slice(0, LONGEST_LIST))];
}

function line(agent: string, { name, description, bringsOutside }: Tool): string {
  const skill = name.slice(name.startsWith(SKILL_PREFIX) ? SKILL_PREFIX.length : 0).replaceAll('_', '-');
  const about = bringsOutside ? 'from outside' : description;
  return oneLine(`- ${agent}: use the skill ${skill} (${about})`).slice(0, LONGEST_LINE);
}
