import { extendRoster, isShipped } from '../agents/agent-specs.js';
import { buildAgentTree } from '../agents/agent-tree.js';
import type { Additions, PromptTexts } from '../agents/prompts.js';
import type { Config } from '../config/config.js';
import { agentLimits } from '../config/config.js';
import type { Agent, PeerDirectory } from '../core/agent.js';
import { LangoError } from '../core/errors.js';
import type { Logger } from '../core/logger.js';
import type { Remembering } from '../core/memory.js';
import type { ModelProvider } from '../core/model.js';
import type { SecretGuard } from '../core/secrets.js';
import type { Tool, ToolSource } from '../core/tool.js';

export interface AgentsOptions {
  readonly config: Config;
  /** Those that a program brought. */
  readonly own: readonly Agent[];
  readonly tools: readonly Tool[];
  readonly source: ToolSource | undefined;
  readonly model: ModelProvider;
  readonly peers: PeerDirectory;
  readonly nodeId: string;
  readonly prompts: PromptTexts;
  readonly secrets: SecretGuard;
  readonly additions: Additions | undefined;
  readonly remembering: Remembering | undefined;
  readonly logger: Logger;
}

/** Where the words about an agent come from: agent-cards/, the roster of the configuration, or the program itself. */
export type AgentOrigin = 'shipped' | 'configured' | 'program';

export interface Agents {
  /** All that this node runs, by name. */
  readonly agents: ReadonlyMap<string, Agent>;
  readonly subAgents: readonly Agent[];
  readonly origins: ReadonlyMap<string, AgentOrigin>;
  /** The name of the one that answers at the root of the host. */
  readonly root: string;
}

/** The agents of this node, with those that a program brought. Throws `invalid-config` when names clash or none is left. */
export function createAgents(options: AgentsOptions): Agents {
  const { config, own, additions, remembering, ...parts } = options;
  const { roster, ownAgents } = config.agent;
  const specs = extendRoster(roster, ownAgents);
  warnOfIdleRules(options);
  const tree = buildAgentTree({
    ...parts,
    multiAgent: config.agent.multiAgent,
    roster: specs,
    limits: agentLimits(config),
    approval: config.approval.policy,
    ...(config.a2a.publish ? { publish: config.a2a.publish } : {}),
    ...(additions ? { additions } : {}),
    ...(remembering ? { remembering } : {}),
  });
  const subAgents = [...tree.subAgents, ...own];
  const agents = byName([...(tree.root ? [tree.root] : []), ...subAgents]);
  const origins = new Map<string, AgentOrigin>([
    ...[...agents.keys()].map((name) => [name, 'shipped'] as const),
    ...specs.filter((spec) => !isShipped(spec)).map(({ name }) => [name, 'configured'] as const),
    ...own.map(({ profile }) => [profile.name, 'program'] as const),
  ]);
  return { agents, subAgents, origins, root: tree.root?.profile.name ?? requireFirst(agents) };
}

/** A misspelled name would silently leave a tool without the approval that is meant for it. */
function warnOfIdleRules({ config, tools, source, logger }: AgentsOptions): void {
  const { policy } = config.approval;
  if (typeof policy === 'string') return;
  const known = (name: string) =>
    tools.some((tool) => tool.name === name) || (source !== undefined && name.startsWith(source.kind.name));
  for (const name of policy.filter((one) => !known(one))) {
    logger.warn(`approval.policy names ${name}, which is no tool here: nobody is asked about it`);
  }
}

function byName(agents: readonly Agent[]): ReadonlyMap<string, Agent> {
  const map = new Map<string, Agent>();
  for (const agent of agents) {
    const { name } = agent.profile;
    if (map.has(name)) throw new LangoError('invalid-config', `There are two agents named ${name}.`);
    map.set(name, agent);
  }
  return map;
}

function requireFirst(agents: ReadonlyMap<string, Agent>): string {
  const [name] = agents.keys();
  if (name === undefined) {
    throw new LangoError('invalid-config', 'This node would run no agent at all.', {
      hint: 'Name agents in a2a.publish that have tools, or leave it out.',
    });
  }
  return name;
}
