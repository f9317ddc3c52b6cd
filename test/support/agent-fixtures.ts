import { z } from 'zod';
import { buildAgentTree } from '../../src/agents/agent-tree.js';
import type { AgentTree, AgentTreeOptions } from '../../src/agents/agent-tree.js';
import { STANDARD_ROSTER } from '../../src/agents/agent-specs.js';
import type { Agent, PeerDirectory } from '../../src/core/agent.js';
import { silentLogger } from '../../src/core/logger.js';
import { defineTool } from '../../src/core/tool.js';
import type { Tool, ToolContext } from '../../src/core/tool.js';
import { MemoryPeers } from './memory-peers.js';
import { ScriptedModel } from './scripted-model.js';
import type { AgentLimits } from '../../src/core/agent.js';

/** The limits of a configuration that sets none. */
export const DEFAULT_LIMITS: AgentLimits = {
  delegationRounds: 5,
  fanOut: 16,
  depth: 5,
  turns: 40,
  toolCalls: 100,
  tokens: 1_000_000,
  seconds: 900,
  approvalSeconds: 24 * 60 * 60,
  repeats: 3,
  toolOutputBytes: 64 * 1024,
  answerTokens: 8_192,
  historyTokens: 16_000,
  entryBytes: 1024 * 1024,
};

const NO_PEERS: PeerDirectory = {
  list: () => [],
  ready: async () => {},
  get: () => undefined,
  wait: async () => undefined,
};

export interface Executed {
  readonly tool: string;
  readonly key: string;
  readonly path: string;
}

/** A tool with one argument, `path`, that logs each of its runs. */
export function toolNamed(
  name: string,
  change: Partial<Omit<Tool, 'name' | 'execute'>> & {
    readonly log?: Executed[];
    readonly execute?: (path: string, context: ToolContext) => ReturnType<Tool['execute']>;
  } = {},
): Tool {
  const { log, execute, ...rest } = change;
  const tool = defineTool({
    name,
    description: `does ${name}`,
    schema: z.object({ path: z.string() }),
    effect: 'pure',
    async execute({ path }, context) {
      log?.push({ tool: name, key: context.key, path });
      return execute ? execute(path, context) : { content: `${name} of ${path}` };
    },
  });
  return { ...tool, ...rest };
}

export function tree(change: Partial<AgentTreeOptions> = {}): AgentTree {
  return buildAgentTree({
    multiAgent: true,
    roster: STANDARD_ROSTER,
    tools: [],
    model: new ScriptedModel({}),
    peers: NO_PEERS,
    nodeId: 'node',
    limits: DEFAULT_LIMITS,
    approval: 'dangerous',
    prompts: { identity: 'You are the flat. IDENTITY', toolUsage: 'TOOL USAGE' },
    logger: silentLogger,
    ...change,
  });
}

/** One agent with these tools and no delegation, and the model that plays its script. */
export function flat(
  script: ConstructorParameters<typeof ScriptedModel>[0][string],
  change: Partial<AgentTreeOptions> = {},
): { readonly agent: Agent; readonly model: ScriptedModel } {
  const model = new ScriptedModel({ flat: script });
  return { agent: tree({ multiAgent: false, model, ...change }).root!, model };
}

export interface Team {
  readonly root: Agent;
  readonly peers: MemoryPeers;
  readonly model: ScriptedModel;
}

/** An orchestrator whose peers are the real sub-agents of the same tree. */
export function team(
  scripts: ConstructorParameters<typeof ScriptedModel>[0],
  change: Partial<AgentTreeOptions> = {},
): Team {
  const model = new ScriptedModel(scripts);
  const { subAgents } = tree({ ...change, model });
  const peers = new MemoryPeers(subAgents);
  return { root: tree({ ...change, model, peers }).root!, peers, model };
}
