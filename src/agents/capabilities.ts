import type { Skill } from '../core/agent.js';
import type { Tool } from '../core/tool.js';

/** Names the capability of a tool by the prefix of the tool's name. The longest matching prefix wins. */
export const capabilityMap: Readonly<Record<string, string>> = {
  exec: 'command execution',
  fs_: 'file operations',
  http_: 'requests to services',
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

/** The name of an MCP server holds no "_". */
const OF_MCP_SERVER = /^mcp_([a-z0-9]+)_/;

const ANYTHING_ELSE = 'general actions';
const CAPABILITY_IDS: ReadonlySet<string> = new Set(
  [...Object.values(capabilityMap), ANYTHING_ELSE].map(slug),
);

/** The capabilities of `tools`, joined in order of first appearance, without repeats; empty without tools. */
export function capabilityDescription(tools: readonly Pick<Tool, 'name'>[]): string {
  return [...new Set(tools.map(({ name }) => capabilityOf(name)))].join(', ');
}

/** One skill for each capability of `tools`, with a generated text that names no tool. */
export function skillsOf(tools: readonly Pick<Tool, 'name'>[]): readonly Skill[] {
  const capabilities = new Set(tools.map(({ name }) => capabilityOf(name)));
  return [...capabilities].map((capability) => ({
    id: slug(capability),
    name: capability.charAt(0).toUpperCase() + capability.slice(1),
    description: `Handles requests for ${capability}.`,
    tags: slug(capability).split('-'),
    examples: [],
  }));
}

/**
 * The skills for an agent's card: first the skills of its card file (`own`) that stand for no capability, then a skill for
 * each capability that the agent has now (`live`), with its text from `own`, else from `reviewed`, if one of them has it.
 */
export function cardSkills(live: readonly Skill[], own: readonly Skill[], reviewed: readonly Skill[]) {
  const byId = new Map([...reviewed, ...own].map((skill) => [skill.id, skill]));
  const always = own.filter(({ id }) => !CAPABILITY_IDS.has(id));
  return [...always, ...live.map((skill) => byId.get(skill.id) ?? skill)];
}

/** The id of the card skill that a tool belongs to. */
export function skillIdOf(toolName: string): string {
  return slug(capabilityOf(toolName));
}

/** One skill per tool, in the tool's own words. For authenticated callers only. */
export function toolSkills(tools: readonly Pick<Tool, 'name' | 'description' | 'effect'>[]) {
  return tools.map(({ name, description, effect }) => ({
    id: name,
    name,
    description,
    tags: ['tool', effect, ...skillIdOf(name).split('-')],
    examples: [],
  }));
}

function capabilityOf(toolName: string): string {
  const server = OF_MCP_SERVER.exec(toolName)?.[1];
  if (server !== undefined) return `tools of the MCP server ${server}`;
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
