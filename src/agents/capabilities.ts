import type { Skill } from '../core/agent.js';
import type { Tool } from '../core/tool.js';

/** Words for what a tool does, by the beginning of its name. The longest that matches counts. */
export const capabilityMap: Readonly<Record<string, string>> = {
  exec: 'command execution',
  fs_: 'file operations',
  skill_: 'running skills',
  browser_: 'web browsing',
  crypto_: 'cryptography',
  secrets_: 'secret management',
  payment_: 'blockchain payments (USDC on Base)',
  search_: 'information search',
  search_web: 'web search',
  rag_: 'document retrieval',
  graph_: 'knowledge graph',
  save_knowledge: 'keeping knowledge',
  save_learning: 'keeping learnings',
  create_skill: 'skill creation',
  list_skills: 'skill listing',
  import_skill: 'skill import',
  memory_: 'memory storage and recall',
  observe_: 'recording observations',
  reflect_: 'reflection on past events',
};

const ANYTHING_ELSE = 'general actions';

/** The words of all `tools`, in order of first appearance, without repeats; empty without tools. */
export function capabilityDescription(tools: readonly Pick<Tool, 'name'>[]): string {
  return [...new Set(tools.map(({ name }) => capabilityOf(name)))].join(', ');
}

/** One skill per capability, with its tools' examples. Never a tool's name. */
export function skillsOf(tools: readonly Pick<Tool, 'name' | 'examples'>[]): readonly Skill[] {
  const groups = Map.groupBy(tools, ({ name }) => capabilityOf(name));
  return [...groups].map(([words, members]) => ({
    id: slug(words),
    name: words,
    description: `Does ${words}.`,
    tags: slug(words).split('-'),
    examples: [...new Set(members.flatMap(({ examples }) => examples.map(({ text }) => text)))],
  }));
}

/** The id of the skill on a card that a tool belongs to. */
export function skillIdOf(toolName: string): string {
  return slug(capabilityOf(toolName));
}

/** One skill per tool, in its own words: for callers that are known. */
export function toolSkills(
  tools: readonly Pick<Tool, 'name' | 'description' | 'effect' | 'examples'>[],
): readonly Skill[] {
  return tools.map(({ name, description, effect, examples }) => ({
    id: name,
    name,
    description,
    tags: ['tool', effect, ...slug(capabilityOf(name)).split('-')],
    examples: examples.map(({ text }) => text),
  }));
}

function capabilityOf(toolName: string): string {
  const prefixes = Object.keys(capabilityMap).filter((prefix) => toolName.startsWith(prefix));
  const longest = prefixes.sort((a, b) => b.length - a.length)[0];
  return (longest === undefined ? undefined : capabilityMap[longest]) ?? ANYTHING_ELSE;
}

function slug(words: string): string {
  return words
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
}
