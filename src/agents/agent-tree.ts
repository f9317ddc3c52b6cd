import type { Agent, Peer, PeerDirectory } from '../core/agent.js';
import { errorText, LangoError } from '../core/errors.js';
import type { AgentLimits, ApprovalPolicy } from '../core/limits.js';
import type { Logger } from '../core/logger.js';
import type { Recollection, Remembering } from '../core/memory.js';
import { NOTHING_RECALLED } from '../core/memory.js';
import type { ModelProvider, SystemBlock } from '../core/model.js';
import { FLAT_AGENT_NAME, ORCHESTRATOR_NAME, rootAgentName } from '../core/roster.js';
import type { AgentSpec, Roster } from '../core/roster.js';
import { scrubData } from '../core/scrubber.js';
import type { SecretGuard } from '../core/secrets.js';
import type { Run } from '../core/run.js';
import type { Scope } from '../core/task.js';
import { isFromOutside } from '../core/task.js';
import type { Tool, ToolSource } from '../core/tool.js';
import { turnAway } from './admission.js';
import type { AgentFunction } from './agent-function.js';
import { capabilityDescription, toolSkills } from './capabilities.js';
import { CONTROL_NAMES, askUser, declineRequest } from './control-functions.js';
import { Delegations, sameMembers } from './delegation.js';
import { EventsAdapter } from './events-adapter.js';
import { note, runLoop } from './loop.js';
import type { Equipment } from './loop.js';
import { buildOrchestratorInstruction } from './orchestrator-instruction.js';
import { ownSkills, ownSkillsBlock } from './own-skills.js';
import { assertRoster, partitionTools, roleOf } from './partition.js';
import type { Additions, PromptTexts } from './prompts.js';
import { flatAgentInstruction, runtimeBlocks, subAgentInstruction } from './prompts.js';
import { Toolbox } from './toolbox.js';
import { TRANSFER_NAME } from './transfer.js';

export interface AgentTreeOptions {
  readonly multiAgent: boolean;
  readonly roster: Roster;
  readonly tools: readonly Tool[];
  /** Tools that come and go. */
  readonly source?: ToolSource | undefined;
  readonly model: ModelProvider;
  /** Whom the orchestrator may delegate to, local and remote alike. */
  readonly peers: PeerDirectory;
  /** Names this node in chains of delegation. */
  readonly nodeId: string;
  readonly limits: AgentLimits;
  readonly approval: ApprovalPolicy;
  readonly prompts: PromptTexts;
  /** Default: there are none. */
  readonly secrets?: SecretGuard;
  readonly logger: Logger;
  readonly additions?: Additions;
  readonly remembering?: Remembering;
  /** The agents this node runs; absent: all. */
  readonly publish?: readonly string[];
}

export interface AgentTree {
  /** Undefined when this node does not publish it. */
  readonly root: Agent | undefined;
  readonly subAgents: readonly Agent[];
  /** Names of tools that no agent owns. */
  readonly unmatched: readonly string[];
}

/** Makes the agents of this node. Throws `invalid-config` on names that cannot stand together. */
export function buildAgentTree(options: AgentTreeOptions): AgentTree {
  assertTools(options.tools);
  return options.multiAgent ? buildTeam(options) : buildFlat(options);
}

function buildFlat(options: AgentTreeOptions): AgentTree {
  assertPublished(options.publish, [FLAT_AGENT_NAME]);
  return { root: flatAgent(options), subAgents: [], unmatched: [] };
}

/** An agent for each spec that has tools or does without; what a spec owns is adapted for it and for nobody else. */
function buildTeam(options: AgentTreeOptions): AgentTree {
  const { roster, tools, publish, logger } = options;
  assertRoster(roster);
  assertPublished(publish, [ORCHESTRATOR_NAME, ...roster.map(({ name }) => name)]);
  const runsHere = (name: string) => publish?.includes(name) ?? true;
  const owned = partitionTools(tools, roster);
  for (const { name } of owned.unmatched)
    logger.warn(`no agent owns the tool ${name}: it is dead`, { tool: name });
  const subAgents = roster
    .filter((spec) => runsHere(spec.name))
    .map((spec) => ({ spec, toolbox: toolboxOf(spec, owned[spec.name]!, options) }))
    .filter(({ spec, toolbox }) => spec.alwaysInclude || toolbox.abilities().length > 0)
    .map(({ spec, toolbox }) => subAgent(spec, toolbox, options));
  const root = runsHere(ORCHESTRATOR_NAME) ? orchestrator(options) : undefined;
  return { root, subAgents, unmatched: owned.unmatched.map(({ name }) => name) };
}

function toolboxOf(spec: AgentSpec, tools: readonly Tool[], options: AgentTreeOptions): Toolbox {
  const owns = ({ name }: Pick<Tool, 'name'>) => roleOf(name, options.roster) === spec.name;
  return new Toolbox({ tools, source: options.source, owns, rules: options });
}

function flatAgent(options: AgentTreeOptions): Agent {
  const { tools, source } = options;
  return toolUser(options, {
    name: FLAT_AGENT_NAME,
    purpose: 'One agent that answers and acts with all the tools of this server.',
    instruction: flatAgentInstruction(options.prompts),
    toolbox: new Toolbox({ tools, source, owns: () => true, rules: options }),
    controls: [askUser],
  });
}

function subAgent(spec: AgentSpec, toolbox: Toolbox, options: AgentTreeOptions): Agent {
  return toolUser(options, {
    name: spec.name,
    purpose: spec.description,
    instruction: subAgentInstruction(spec),
    toolbox,
    controls: [declineRequest, askUser],
  });
}

interface ToolUser {
  readonly name: string;
  readonly purpose: string;
  readonly instruction: string;
  readonly toolbox: Toolbox;
  /** What it can call besides its tools. */
  readonly controls: readonly AgentFunction[];
}

function toolUser(
  options: AgentTreeOptions,
  { name, purpose, instruction, toolbox, controls }: ToolUser,
): Agent {
  const system = stable(instruction);
  return makeAgent(options, {
    name,
    purpose,
    toolbox,
    prepare: (scope) => toolbox.refresh(scope),
    extendedSkills: () => toolSkills(toolbox.tools()),
    open:
      ({ task }) =>
      () => ({ system, functions: [...toolbox.functions(task), ...controls] }),
  });
}

/** It has no tools (requirement M2): nothing here could give it one. */
function orchestrator(options: AgentTreeOptions): Agent {
  const { peers, source, roster } = options;
  const hosted = roster.filter(({ name }) => options.publish?.includes(name) ?? true);
  const instructionFor = instructionSource(options);
  return makeAgent(options, {
    name: ORCHESTRATOR_NAME,
    purpose: 'Understands a request, has the agents of this server do it, and answers.',
    toolbox: undefined,
    prepare: async (scope) => source?.prepare(scope),
    extendedSkills: () => peers.list().flatMap(peerSkills),
    open({ task }) {
      const own = ownSkills(task, source, hosted);
      const delegations = new Delegations({ ...options, ownSkills: own });
      return () => ({
        system: [
          ...stable(instructionFor(peers.list())),
          ...ownSkillsBlock(own, peers.list()),
          ...(delegations.exhausted
            ? [note('The rounds of delegation are used up: answer from what you have.')]
            : []),
        ],
        functions: [delegations.transferFunction()],
      });
    },
  });
}

/** The instruction for the peers there are, written anew only when they changed. */
function instructionSource({ roster, limits }: AgentTreeOptions): (peers: readonly Peer[]) => string {
  let known: { readonly peers: readonly Peer[]; readonly text: string } | undefined;
  return (peers) => {
    if (!known || !sameMembers(known.peers, peers)) {
      const rules = { roster, delegationRounds: limits.delegationRounds };
      known = { peers: [...peers], text: buildOrchestratorInstruction(peers, rules) };
    }
    return known.text;
  };
}

interface AgentParts {
  readonly name: string;
  /** The words of its capabilities are added. */
  readonly purpose: string;
  readonly toolbox: Toolbox | undefined;
  /** Before each run, for its owner. Never rejects. */
  readonly prepare: (scope: Scope) => Promise<void>;
  /** For callers that are known. */
  readonly extendedSkills: () => Agent['profile']['skills'];
  /** Called once per run; what it gives is asked at each turn. */
  readonly open: (run: Run) => () => Equipment;
}

/** The newest entries of a session that a run reads. */
const HISTORY_EVENTS = 100;

function makeAgent(options: AgentTreeOptions, { open, prepare, ...parts }: AgentParts): Agent {
  const { model, limits, nodeId, additions, remembering } = options;
  const adapter = new EventsAdapter({
    rootAgentName: rootAgentName(options.multiAgent),
    historyTokens: limits.historyTokens,
  });
  return {
    profile: profileOf(parts),
    async run(run) {
      const refusal = turnAway(run, nodeId, limits);
      if (refusal) return refusal;
      const recalled = await recall(run, remembering);
      const events = await run.history(HISTORY_EVENTS, recalled.upTo);
      const past = adapter.toMessages(events);
      const fromOutside = recalled.fromOutside || events.some(({ body }) => isFromOutside(body));
      // A value that was told before it became a secret is not told again.
      const history = scrubData(past, run.scrubber);
      const added = await runtimeBlocks(run, additions, scrubData(recalled.text, run.scrubber));
      await prepare(run.task);
      const equipTurn = open(run);
      const equip = (): Equipment => {
        const { system, functions } = equipTurn();
        return { system: [...system, ...added], functions };
      };
      const end = await runLoop({ run, model, limits, history, fromOutside, equip });
      remembering?.runEnded(run.task);
      return end;
    },
  };
}

/** A memory that fails is a memory that says nothing: the newest messages are there all the same. */
async function recall(run: Run, remembering: Remembering | undefined): Promise<Recollection> {
  if (!remembering) return NOTHING_RECALLED;
  return remembering.recall(run).catch((error: unknown) => {
    run.logger.warn('nothing was recalled', { error: errorText(error) });
    return NOTHING_RECALLED;
  });
}

/** What an orchestrator can have done, by whom. */
function peerSkills({ name, skills }: Peer): Agent['profile']['skills'] {
  return skills.map((skill) => ({ ...skill, id: `${name}/${skill.id}`, name: `${name}: ${skill.name}` }));
}

/** Tools may come and go: what is said of them is as of now. */
function profileOf({
  name,
  purpose,
  toolbox,
  extendedSkills,
}: Omit<AgentParts, 'open' | 'prepare'>): Agent['profile'] {
  return {
    name,
    extendedSkills,
    get description() {
      return described(purpose, toolbox?.abilities() ?? []);
    },
    get skills() {
      return toolbox?.skills() ?? [];
    },
  };
}

function described(purpose: string, tools: readonly Pick<Tool, 'name'>[]): string {
  return tools.length === 0 ? purpose : `${purpose} Capabilities: ${capabilityDescription(tools)}.`;
}

function stable(text: string): readonly SystemBlock[] {
  return text === '' ? [] : [{ text, stable: true }];
}

/** A model knows functions by their names alone. */
function assertTools(tools: readonly Tool[]): void {
  const names = tools.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice) throw new LangoError('invalid-config', `two tools are named ${twice}`);
  const taken = [TRANSFER_NAME, ...CONTROL_NAMES].find((name) => names.includes(name));
  if (taken) throw new LangoError('invalid-config', `a tool cannot be named ${taken}`);
}

function assertPublished(publish: readonly string[] | undefined, known: readonly string[]): void {
  const stranger = publish?.find((name) => !known.includes(name));
  if (stranger === undefined) return;
  const hint = `it can hold: ${known.join(', ')}`;
  throw new LangoError('invalid-config', `a2a.publish names ${stranger}, which is no agent of this server`, {
    hint,
  });
}
