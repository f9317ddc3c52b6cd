import type { Agent, AgentSpec, Skill } from '../core/agent.js';
import type { ToolAssignment } from '../core/capability.js';
import type { CardFile } from '../core/card.js';
import { LangoError } from '../core/errors.js';
import type { NodeFinding } from '../core/tool-family.js';
import { isShipped } from './agent-specs.js';
import { buildAgentTree, makeDefinedAgent, unownedFindings, type AgentTreeOptions } from './agent-tree.js';
import { cardSkills } from './capabilities.js';
import type { DefinedAgent } from './defined-agent.js';
import { withAssignedTools } from './partition.js';

/** The source of an agent's description: agent-cards/, the roster of the configuration, or the program itself. */
export type AgentOrigin = 'shipped' | 'configured' | 'program';

export interface NodeAgents {
  /** All agents that the node runs, by name. */
  readonly agents: ReadonlyMap<string, Agent>;
  readonly subAgents: readonly Agent[];
  readonly agentOrigins: ReadonlyMap<string, AgentOrigin>;
  /** The name of the agent at the root of the host. */
  readonly root: string;
  /** Tools that no agent owns, and agents that do not exist as there are no tools for them. Each was logged. */
  readonly agentFindings: readonly NodeFinding[];
}

type OwnAgent = Agent | DefinedAgent;

export interface NodeAgentsOptions extends AgentTreeOptions {
  /** The tools that settings give to an agent by its name. */
  readonly assigned: readonly ToolAssignment[];
}

/**
 * Makes the agents of a node, and adds those of the program (`own`): the ones that `publish` names, or all when it names
 * none of them. Throws `invalid-config` when two have one name, or none is left.
 */
export function buildNodeAgents(given: NodeAgentsOptions, own: readonly OwnAgent[]): NodeAgents {
  const { publish, roster } = given;
  const names = new Set(own.map(nameOf));
  const ofTree = publish?.filter((name) => !names.has(name));
  const options = { ...given, roster: withAssignedTools(roster, given.assigned), publish: ofTree };
  const tree = buildAgentTree(options);
  const agentFindings = [
    ...unownedFindings(tree.unmatched),
    ...leftOutFindings({ ...options, roster }, tree.subAgents),
  ];
  for (const { text, ...about } of agentFindings) options.logger.warn(text, { ...about });
  const isNamed = (agent: OwnAgent): boolean => publish?.includes(nameOf(agent)) ?? false;
  const chosen = (own.some(isNamed) ? own.filter(isNamed) : own).map((agent) =>
    'run' in agent ? agent : makeDefinedAgent(agent, options),
  );
  const subAgents = [...tree.subAgents, ...chosen];
  const agents = new Map<string, Agent>();
  for (const agent of [...(tree.root ? [tree.root] : []), ...subAgents]) {
    const { name } = agent.profile;
    if (agents.has(name)) throw new LangoError('invalid-config', `There are two agents named ${name}.`);
    agents.set(name, agent);
  }
  const agentOrigins = new Map<string, AgentOrigin>([
    ...[...agents.keys()].map((name) => [name, 'shipped'] as const),
    ...roster.filter((spec) => !isShipped(spec)).map(({ name }) => [name, 'configured'] as const),
    ...chosen.map(({ profile }) => [profile.name, 'program'] as const),
  ]);
  const root = tree.root?.profile.name ?? [...agents.keys()][0];
  if (root === undefined) {
    const hint = 'Name agents in a2a.publish that have tools, or leave it out.';
    throw new LangoError('invalid-config', 'This node would run no agent at all.', { hint });
  }
  return { agents, subAgents, agentOrigins, root, agentFindings };
}

/** Finds agents of the configuration that do not exist, as they would own tools and there are none for them. */
function leftOutFindings({ multiAgent, roster, publish }: NodeAgentsOptions, made: readonly Agent[]) {
  if (!multiAgent) return [];
  const names = new Set(made.map(({ profile }) => profile.name));
  const isMeant = (spec: AgentSpec) => !isShipped(spec) && (publish?.includes(spec.name) ?? true);
  const missing = roster.filter((one) => isMeant(one) && !names.has(one.name));
  return missing.map(({ name, prefixes }) => ({
    ...({ code: 'agent-left-out', subject: `agent ${name}`, state: 'warn' } as const),
    text: `the agent ${name} is left out: the name of no tool begins with its prefixes (${prefixes.join(', ')})`,
    hint: 'Correct them, or set alwaysInclude.',
  }));
}

/**
 * Returns the reviewed card file of an agent, which only shipped agents have, and the function that lists the skills of
 * its card now. A program describes its own agents, so their skills stay as they are.
 */
export function describeOnCard(
  { profile }: Agent,
  origin: AgentOrigin | undefined,
  files: ReadonlyMap<string, CardFile>,
): { readonly file: CardFile | undefined; readonly skills: () => readonly Skill[] } {
  const file = origin === 'shipped' ? files.get(profile.name) : undefined;
  const reviewed = [...files.values()].flatMap(({ skills }) => skills);
  const skills = () =>
    origin === 'program' ? profile.skills : cardSkills(profile.skills, file?.skills ?? [], reviewed);
  return { file, skills };
}

export function nameOf(agent: OwnAgent): string {
  return 'run' in agent ? agent.profile.name : agent.name;
}
