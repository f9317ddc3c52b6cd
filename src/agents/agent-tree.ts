import type { z } from 'zod';
import { oncePerList } from '../core/bounded-cache.js';
import { FLAT_AGENT_NAME, ORCHESTRATOR_NAME } from '../core/agent.js';
import type { Agent, Peer, PeerDirectory, AgentSpec, Roster } from '../core/agent.js';
import { LangoError } from '../core/errors.js';
import type { JsonObject } from '../core/json.js';
import type { SystemBlock } from '../core/model.js';
import type { Logger } from '../core/logger.js';
import type { Tool, ToolSource } from '../core/tool.js';
import type { NodeFinding } from '../core/tool-family.js';
import { makeAgent, type AgentContext, type AgentParts, type LoopAgent } from './agent.js';
import type { AgentFunction } from './agent-function.js';
import { toolSkills } from './capabilities.js';
import { CONTROL_NAMES, askUser, declineRequest } from './control-functions.js';
import type { DefinedAgent } from './defined-agent.js';
import { Delegations } from './delegation.js';
import { FIND_NAME, FunctionSearch } from './function-search.js';
import { note } from './loop.js';
import { buildOrchestratorInstruction, othersBlock, ownSkillsBlock } from './orchestrator-instruction.js';
import { outputReader } from './output.js';
import { assertRoster, partitionTools, roleOf } from './partition.js';
import { flatAgentInstruction, instructionBlocks, subAgentInstruction, type PromptTexts } from './prompts.js';
import { Toolbox, type ToolboxOptions } from './toolbox.js';
import { TRANSFER_NAME } from './transfer.js';

export interface AgentTreeOptions extends AgentContext, Omit<ToolboxOptions, 'limits'> {
  readonly roster: Roster;
  readonly tools: readonly Tool[];
  /** Tools that are added and removed while the server runs (skills, MCP servers). */
  readonly sources?: readonly ToolSource[];
  /** The agents that the orchestrator may delegate to, local and remote alike. */
  readonly peers: PeerDirectory;
  readonly prompts: PromptTexts;
  readonly logger: Logger;
  /** The names of the agents that this node runs. Default: all. */
  readonly publish?: readonly string[];
}

export interface AgentTree {
  /** Undefined when this node does not publish its root agent. */
  readonly root: Agent | undefined;
  readonly subAgents: readonly Agent[];
  /** The names of the tools that no agent owns. */
  readonly unmatched: readonly string[];
}

/** Makes the agents of this node. Throws `invalid-config` when two names clash. */
export function buildAgentTree(options: AgentTreeOptions): AgentTree {
  assertTools(options.tools);
  const [wrong] = unknownPublished(options);
  if (wrong !== undefined) {
    const text = `a2a.publish names ${wrong}, which is not an agent of this server.`;
    const hint = `It can hold: ${agentNames(options).join(', ')}.`;
    throw new LangoError('invalid-config', text, { hint });
  }
  if (options.multiAgent) return buildTeam(options);
  const root = runsHere(FLAT_AGENT_NAME, options) ? flatAgent(options) : undefined;
  return { root, subAgents: [], unmatched: [] };
}

/** Makes an agent of each spec that owns tools or needs none. Each tool is adapted once, for the agent that owns it. */
function buildTeam(options: AgentTreeOptions): AgentTree {
  const { roster, tools, sources = [], peers } = options;
  assertRoster(roster);
  const owned = partitionTools(tools, roster);
  const unmatched = owned.unmatched.map(({ name }) => name);
  const subAgents = roster
    .filter((spec) => runsHere(spec.name, options))
    .map((spec) => {
      const owns = ({ name }: Pick<Tool, 'name'>) => roleOf(name, roster) === spec.name;
      return { spec, toolbox: new Toolbox({ tools: owned[spec.name]!, sources, owns }, options) };
    })
    .filter(({ spec, toolbox }) => spec.alwaysInclude || isModelOnly(spec) || toolbox.abilities().length > 0)
    .map(({ spec, toolbox }) => {
      // An agent that owns no tools plans work for the others, so its instruction describes them.
      const others = isModelOnly(spec) ? () => othersBlock(peers.list(), spec.name) : undefined;
      return subAgent({ ...spec, others }, toolbox, options);
    });
  const root = runsHere(ORCHESTRATOR_NAME, options) ? orchestrator(options) : undefined;
  return { root, subAgents, unmatched };
}

/** Finds tools that no agent can call. */
export function unownedFindings(tools: readonly string[]): readonly NodeFinding[] {
  if (tools.length === 0) return [];
  const [what, it, its] =
    tools.length === 1 ? ['tool', 'it', 'its prefix'] : ['tools', 'them', 'their prefixes'];
  const text = `no agent owns the ${what} ${tools.join(', ')}, so no agent can call ${it}`;
  const hint = `Add ${its} to an agent of agent.ownAgents or agent.roster.`;
  return [{ code: 'unowned-tools', subject: 'tools', state: 'warn', text, hint }];
}

/** Whether the agent is to own no tools. */
const isModelOnly = ({ prefixes, takesUnmatched }: AgentSpec) => prefixes.length === 0 && !takesUnmatched;

function flatAgent(options: AgentTreeOptions): LoopAgent {
  const { tools, sources = [] } = options;
  return toolUser(options, {
    name: FLAT_AGENT_NAME,
    purpose: 'One agent that answers and acts with all the tools of this server.',
    instruction: () => flatAgentInstruction(options.prompts),
    toolbox: new Toolbox({ tools, sources, owns: () => true }, options),
    controls: [askUser],
  });
}

type SubAgentSpec = Pick<AgentSpec, 'name' | 'description' | 'instruction' | 'card'> &
  Pick<ToolUser, 'output' | 'others'>;

function subAgent(spec: SubAgentSpec, toolbox: Toolbox, options: AgentTreeOptions): LoopAgent {
  const { name, description: purpose, output, others, card } = spec;
  return toolUser(options, {
    ...{ name, purpose, toolbox, output, others, card, controls: [declineRequest, askUser] },
    instruction: (isFromUser) => subAgentInstruction(spec.instruction, isFromUser),
  });
}

/** Makes the agent that `defineAgent` describes. Throws `invalid-config` when two of its tools have one name. */
export function makeDefinedAgent(defined: DefinedAgent, options: AgentTreeOptions): LoopAgent {
  const { name, description, tools, skills } = defined;
  assertTools(tools);
  const toolbox = new Toolbox({ tools, sources: [], owns: () => false }, options);
  const agent = subAgent(defined, toolbox, options);
  const { extendedSkills, card } = agent.profile;
  return { ...agent, profile: { name, description, skills, card, extendedSkills } };
}

interface ToolUser extends Pick<AgentParts, 'name' | 'purpose' | 'card'> {
  /** The instruction for tasks of a user, and for those of another agent. */
  readonly instruction: (isFromUser: boolean) => string;
  readonly toolbox: Toolbox;
  /** The functions that the agent can call besides its tools. */
  readonly controls: readonly AgentFunction[];
  /** The schema of its answers. Default: the agent answers with text. */
  readonly output?: z.ZodObject | JsonObject | undefined;
  /** Describes the other agents to this one. Default: their descriptions are not part of its instruction. */
  readonly others?: (() => readonly SystemBlock[]) | undefined;
}

function toolUser(
  options: AgentTreeOptions,
  { name, purpose, instruction, toolbox, controls, output, others, card }: ToolUser,
): LoopAgent {
  const blocksFor = (isFromUser: boolean) => instructionBlocks(instruction(isFromUser), options.prompts);
  const [forUsers, forAgents] = [blocksFor(true), blocksFor(false)];
  return makeAgent(options, {
    name,
    purpose,
    toolbox,
    card,
    output: output && outputReader(name, output),
    prepare: (scope) => toolbox.refresh(scope),
    extendedSkills: () => toolSkills(toolbox.tools()),
    open({ task }) {
      const search = new FunctionSearch();
      const system = task.grant.chain.length === 0 ? forUsers : forAgents;
      return (messages) => ({
        system: [...system, ...(output ? [DATA_NOTE] : []), ...(others?.() ?? [])],
        functions: search.offer(toolbox.functions(task), controls, messages),
      });
    },
  });
}

const DATA_NOTE: SystemBlock = {
  text: 'Your last answer is read by a program: write it as one JSON object of the given schema, and nothing else.',
  stable: true,
};

const ROUNDS_USED = note('The rounds of delegation are used up: answer from what you have.');

/** Makes the orchestrator. It has no toolbox, so it can have no tools (requirement M2). */
function orchestrator(options: AgentTreeOptions): LoopAgent {
  const { peers, sources = [], roster, limits } = options;
  const hosted = roster.filter(({ name }) => runsHere(name, options));
  const instructionFor = oncePerList((list: readonly Peer[]) =>
    buildOrchestratorInstruction(list, roster, limits.delegationRounds),
  );
  return makeAgent(options, {
    name: ORCHESTRATOR_NAME,
    purpose: 'Understands a request, has the agents of this server do it, and answers.',
    toolbox: undefined,
    prepare: async (scope) =>
      void (await Promise.all([...sources.map((source) => source.prepare(scope)), peers.ready()])),
    extendedSkills: () => peers.list().flatMap(peerSkills),
    open({ task }, budget, standIns) {
      const reached = standIns?.peers(peers) ?? peers;
      const delegations = new Delegations({ ...options, peers: reached, budget });
      return () => ({
        system: [
          ...instructionBlocks(instructionFor(peers.list()), options.prompts),
          ...ownSkillsBlock({ scope: task, sources, roster: hosted, peers: peers.list() }),
          ...(delegations.exhausted ? [ROUNDS_USED] : []),
        ],
        functions: [delegations.transferFunction()],
      });
    },
  });
}

/** Lists the skills of a peer as skills of the orchestrator, which delegates to the peer. */
function peerSkills({ name, skills }: Peer): Agent['profile']['skills'] {
  return skills.map((skill) => ({ ...skill, id: `${name}/${skill.id}`, name: `${name}: ${skill.name}` }));
}

/** Throws `invalid-config` when a model could not tell two functions apart by their names. */
function assertTools(tools: readonly Tool[]): void {
  const names = tools.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice)
    throw new LangoError('invalid-config', `Two tools are named ${twice}.`, { hint: 'Rename one of them.' });
  const taken = [TRANSFER_NAME, FIND_NAME, ...CONTROL_NAMES].find((name) => names.includes(name));
  const hint = 'Rename it: each agent has a function of this name.';
  if (taken) throw new LangoError('invalid-config', `A tool cannot be named ${taken}.`, { hint });
}

type Published = Pick<AgentTreeOptions, 'multiAgent' | 'roster' | 'publish'>;

/** The names that `publish` may hold besides those of the program's own agents. */
export function agentNames({ multiAgent, roster }: Omit<Published, 'publish'>): readonly string[] {
  return multiAgent ? [ORCHESTRATOR_NAME, ...roster.map(({ name }) => name)] : [FLAT_AGENT_NAME];
}

/** The names in `publish` that belong to no agent of this server. */
export function unknownPublished(options: Published): readonly string[] {
  const known = agentNames(options);
  return (options.publish ?? []).filter((name) => !known.includes(name));
}

/** Whether the server runs the agent, or one agent that does the work of all. */
export function runsAgent(name: string, naming: Pick<Published, 'multiAgent' | 'publish'>): boolean {
  return !naming.multiAgent || runsHere(name, naming);
}

function runsHere(name: string, { publish }: Pick<Published, 'publish'>): boolean {
  return publish?.includes(name) ?? true;
}
