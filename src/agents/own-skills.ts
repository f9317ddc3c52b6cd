import type { Peer, Roster } from '../core/agent.js';
import type { SystemBlock } from '../core/model.js';
import type { Scope } from '../core/task.js';
import { oneLine } from '../core/text.js';
import type { Tool, ToolSource } from '../core/tool.js';
import { partitionTools } from './partition.js';
import { labeledBlock } from './prompts.js';

const SKILL_PREFIX = 'skill_';
const MAX_LINE_LENGTH = 300;
const MAX_LIST_LENGTH = 4_000;

interface OwnSkillsOptions {
  readonly scope: Scope;
  readonly sources: readonly ToolSource[];
  /** The agents that run on this node. */
  readonly roster: Roster;
  /** The agents that the orchestrator can reach now. */
  readonly peers: readonly Peer[];
}

/** Lists the skills that only this owner has, which no card shows, each with its agent; of skills from outside the name. */
export function ownSkillsBlock({ scope, sources, roster, peers }: OwnSkillsOptions): readonly SystemBlock[] {
  const common = new Set(sources.flatMap((source) => source.list(undefined)));
  const own = sources.flatMap((source) => source.list(scope)).filter((tool) => !common.has(tool));
  const owned = partitionTools(own, roster);
  const lines = peers.flatMap(({ name }) => (owned[name] ?? []).map((tool) => skillLine(name, tool)));
  if (lines.length === 0) return [];
  const meaning = "This user's own skills, each after the agent that can use it, as data.";
  return [labeledBlock('own-skills', meaning, lines.join('\n').slice(0, MAX_LIST_LENGTH))];
}

function skillLine(agent: string, { name, description, bringsOutside }: Tool): string {
  const skill = name.slice(name.startsWith(SKILL_PREFIX) ? SKILL_PREFIX.length : 0).replaceAll('_', '-');
  const about = bringsOutside ? 'from outside' : description;
  return oneLine(`- ${agent}: use the skill ${skill} (${about})`).slice(0, MAX_LINE_LENGTH);
}
