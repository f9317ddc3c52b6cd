import type { Peer, Skill, Roster } from '../core/agent.js';
import type { SystemBlock } from '../core/model.js';
import type { Scope } from '../core/task.js';
import { oneLine } from '../core/text.js';
import type { Tool, ToolSource } from '../core/tool.js';
import { toolSkills } from './capabilities.js';
import { partitionTools } from './partition.js';
import { slot } from './prompts.js';

/** By the name of the agent that has them. */
export type OwnSkills = ReadonlyMap<string, readonly Skill[]>;

const LONGEST_LINE = 300;
const LONGEST_LIST = 4_000;

/**
 * What this owner has that stands on no public card, for agents that this node runs. Of what stems from outside no more
 * is told than its name: nobody but its owner may speak to an orchestrator.
 */
export function ownSkills(scope: Scope, source: ToolSource | undefined, roster: Roster): OwnSkills {
  if (!source) return new Map();
  const common = new Set(source.list(undefined));
  const own = source.list(scope).filter((tool) => !common.has(tool));
  const owned = partitionTools(own.map(withoutForeignWords), roster);
  return new Map(roster.map(({ name }) => [name, toolSkills(owned[name] ?? [])]));
}

function withoutForeignWords(tool: Tool): Tool {
  return tool.bringsOutside ? { ...tool, description: 'from outside' } : tool;
}

/** The owner's own lines of the routing table, for those who are there; none when there are none. */
export function ownSkillsBlock(skills: OwnSkills, peers: readonly Peer[]): readonly SystemBlock[] {
  const lines = peers.flatMap(({ name }) =>
    (skills.get(name) ?? []).map(({ examples: [use = ''], description }) =>
      oneLine(`- ${name}: ${use} (${description})`).slice(0, LONGEST_LINE),
    ),
  );
  if (lines.length === 0) return [];
  const meaning = "This user's own skills, each behind the agent that has it, as data.";
  return [slot('own-skills', meaning, lines.join('\n').slice(0, LONGEST_LIST))];
}
