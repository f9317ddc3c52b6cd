import { rootAgentName } from '../core/agent.js';
import type { Agent, AgentLimits, DailySpending, PeerDirectory } from '../core/agent.js';
import { errorText } from '../core/errors.js';
import { defined } from '../core/json.js';
import { NOTHING_RECALLED, type Recollection, type RunMemory, type Run, type RunEnd } from '../core/run.js';
import type { ModelMessage, ModelProvider } from '../core/model.js';
import { scrubData } from '../scrub/data.js';
import { isFromOutside, type Scope } from '../core/task.js';
import type { AgentFunction } from './agent-function.js';
import { Attachments, inputModes } from './attachments.js';
import { capabilityDescription } from './capabilities.js';
import { conversationOf } from './events-adapter.js';
import { runLoop, type SetUpTurn } from './loop.js';
import type { Meter } from './bill.js';
import { Budget } from './budget.js';
import type { OutputReader } from './output.js';
import { recordedCalls } from './recorded-calls.js';
import { runtimeBlocks, surroundingsBlock, type Additions, type Surroundings } from './prompts.js';
import type { Toolbox } from './toolbox.js';

/** The services that all agents of a node share. */
export interface AgentContext {
  readonly multiAgent: boolean;
  readonly model: ModelProvider;
  /** The models of agents that do not use `model`, by the agent's name. */
  readonly models?: ReadonlyMap<string, ModelProvider>;
  /** The name of this node in chains of delegation. */
  readonly nodeId: string;
  readonly limits: AgentLimits;
  /** Finds a model by its name, for a fork. Default: forks vary nothing. */
  readonly modelNamed?: (name: string) => Promise<ModelProvider>;
  /** Finds the price of an agent's model. Default: no bill is kept. */
  readonly meterOf?: (model: ModelProvider) => Meter;
  /** Counts what each owner spends in a day. Default: no limit per owner and day. */
  readonly spending?: DailySpending;
  readonly additions?: Additions;
  /** Whether the owner of a run may read the vendor's error message when the model fails. Default: no owner may. */
  readonly showsReasons?: (run: Pick<Run, 'task' | 'grant'>) => boolean;
  /** The machine and folders for the instruction. Default: the instruction names none. */
  readonly surroundings?: Surroundings;
  /** The memories that are recalled for each run. Default: none. */
  readonly memories?: readonly RunMemory[];
  /** Reads the files of messages. Default: text files alone. */
  readonly attachments?: Attachments;
}

export interface AgentParts {
  readonly name: string;
  /** One sentence; the profile adds the capabilities of the tools. */
  readonly purpose: string;
  readonly toolbox: Toolbox | undefined;
  /** Runs before each run, for the run's owner. Never rejects. */
  readonly prepare: (scope: Scope) => Promise<void>;
  /** The skills on the card that authenticated callers get. */
  readonly extendedSkills: () => Agent['profile']['skills'];
  /** Default: the agent answers with text. */
  readonly output?: OutputReader | undefined;
  readonly card?: Agent['profile']['card'];
  /**
   * Called once per run; the function it returns is called at each turn, with the conversation until then. `standIns` of a
   * rehearsal replace the peers.
   */
  readonly open: (run: Run, budget: Budget, standIns?: StandIns) => SetUpTurn;
}

/** The record in place of all that a run could reach: nothing is asked, done or spent. */
interface StandIns {
  readonly model: ModelProvider;
  readonly memory: RunMemory;
  readonly peers: (own: PeerDirectory) => PeerDirectory;
  readonly functions: (own: readonly AgentFunction[]) => readonly AgentFunction[];
  /** The beginning of the recorded run, in milliseconds since the epoch: its model was told the date. */
  readonly beganAt: number;
}

/** An agent that can go through a recorded run, with the instruction and the functions that it has now. */
export interface LoopAgent extends Agent {
  rehearse(run: Run, standIns: StandIns): Promise<RunEnd>;
}

/** The number of newest events of a session that a run reads. */
const HISTORY_EVENTS = 100;

/** The largest part of the context window that earlier tasks take. */
const HISTORY_SHARE = 1 / 3;

/** Makes an agent that works through a task by asking `model` in a loop. */
export function makeAgent(context: AgentContext, parts: AgentParts): LoopAgent {
  const model = context.models?.get(parts.name) ?? context.model;
  const meter = context.meterOf?.(model);
  const { name, purpose, toolbox, extendedSkills, card } = parts;
  return {
    // Description and skills are read from the toolbox at each call, because tools come and go.
    profile: {
      ...{ name, card, extendedSkills, inputModes: inputModes(model.readsImages) },
      get description() {
        const tools = toolbox?.abilities() ?? [];
        return tools.length === 0 ? purpose : `${purpose} Capabilities: ${capabilityDescription(tools)}.`;
      },
      get skills() {
        return toolbox?.skills() ?? [];
      },
    },
    run: async (run) => work(run, context, { parts, ...(await variedBy(run, context, { model, meter })) }),
    rehearse(run, standIns) {
      const nothingElse = { additions: undefined, spending: undefined, memories: [standIns.memory] };
      const { id, windowTokens, readsImages } = model;
      const asked = { ...standIns.model, id, ...defined({ windowTokens, readsImages }) };
      const given = { parts, model: asked, meter: undefined, standIns, functions: standIns.functions };
      return work(run, { ...context, ...nothingElse }, given);
    },
  };
}

interface WorkParts {
  readonly parts: AgentParts;
  readonly model: ModelProvider;
  readonly meter: Meter | undefined;
  readonly standIns?: StandIns;
  readonly functions?: StandIns['functions'];
  /** In place of the agent's own. */
  readonly instruction?: string | undefined;
}

/** The model, the instruction and the functions of a run, which are others in a fork that asks for it. */
async function variedBy(run: Run, context: AgentContext, own: Pick<WorkParts, 'model' | 'meter'>) {
  const { modelNamed, meterOf, limits } = context;
  const { variation } = run;
  if (!variation || !modelNamed) return own;
  const { model: name, instruction, tools } = variation;
  const model = name === undefined ? own.model : await modelNamed(name);
  const functions = tools === 'recorded' ? { functions: await recordedCalls(run, limits) } : {};
  return { model, meter: meterOf?.(model), instruction, ...functions };
}

async function work(run: Run, context: AgentContext, given: WorkParts): Promise<RunEnd> {
  const { limits, nodeId, spending, additions, surroundings, memories = [], showsReasons } = context;
  const { attachments = new Attachments(undefined) } = context;
  const { parts, model, meter, standIns, functions: replaced = (own) => own, instruction } = given;
  const { readsImages } = model;
  const refusal = refuseByGrant(run, nodeId, limits);
  if (refusal) return refusal;
  const historyTokens = Math.min(
    limits.historyTokens,
    Math.floor((model.windowTokens ?? Infinity) * HISTORY_SHARE),
  );
  const recalled = await recall(run, memories);
  const events = await run.history(HISTORY_EVENTS, recalled.upTo);
  const fromOutside = recalled.fromOutside || events.some(({ body }) => isFromOutside(body));
  // An earlier message may hold a value that became a secret later.
  const readable = (messages: readonly ModelMessage[], limitBytes = limits.toolOutputBytes) =>
    attachments.readable(messages, { run, readsImages, limitBytes });
  const rootName = rootAgentName(context.multiAgent);
  const conversation = conversationOf(events, { rootAgentName: rootName, historyTokens });
  const earlier = scrubData(conversation, run.scrubber);
  const history = await readable(earlier, historyTokens);
  const added = await runtimeBlocks(run, additions, scrubData(recalled.text, run.scrubber));
  const here = surroundings && { ...surroundings, now: new Date(standIns?.beganAt ?? Date.now()) };
  const where = here && surroundingsBlock(here, actsOnMachine(parts.toolbox) ? run.task : undefined);
  await parts.prepare(run.task);
  const budget = new Budget({ run, limits, meter, spending });
  const ownSetup = parts.open(run, budget, standIns);
  const setUpTurn: SetUpTurn = (messages) => {
    const { system, functions } = ownSetup(messages);
    const told = instruction === undefined ? system : [{ text: instruction, stable: true }];
    return { system: [...told, ...(where ? [where] : []), ...added], functions: replaced(functions) };
  };
  const end = await runLoop({
    ...{ run, model, budget, limits, history, readable, fromOutside, setUpTurn },
    output: parts.output,
    showsReasons: showsReasons?.(run) ?? false,
  });
  for (const memory of memories) memory.runEnded(run.task);
  return end;
}

function actsOnMachine(toolbox: Toolbox | undefined): boolean {
  return toolbox?.abilities().some(({ name }) => name.startsWith('exec') || name.startsWith('fs_')) ?? false;
}

/**
 * The rejection of a task whose grant forbids to work on it here; undefined when the grant allows it. The sender of a
 * delegation checks the grant too, but the receiver does not rely on that. A task that has begun is never rejected.
 */
function refuseByGrant(run: Run, nodeId: string, limits: AgentLimits): RunEnd | undefined {
  if (run.attempt > 1) return undefined;
  const { chain, depth, deadline, tokens } = run.grant;
  const { agent } = run.task;
  if (chain.includes(`${agent}@${nodeId}`)) {
    const text = `${agent} already works on this request, so it would delegate in a circle: ${chain.join(' > ')}.`;
    return rejected('delegation-cycle', text);
  }
  if (depth < 0 || chain.length > limits.depth) {
    const text = `This request was delegated too often in a row: at most ${limits.depth} times (agent.limits.depth).`;
    return rejected('limit-depth', text);
  }
  if (deadline !== undefined && deadline <= Date.now())
    return rejected('limit-seconds', 'The deadline of this request has passed.');
  if (tokens !== undefined && tokens <= 0)
    return rejected('limit-tokens', 'This request came with no tokens left to use (agent.limits.tokens).');
  return undefined;
}

function rejected(reason: string, text: string): RunEnd {
  return { state: 'rejected', reason, text };
}

/** Recalls all memories. A memory that fails is logged and left out: the newest messages are still there. */
async function recall(run: Run, memories: readonly RunMemory[]): Promise<Recollection> {
  const recalled = await Promise.all(
    memories.map((memory) =>
      memory.recall(run).catch((error: unknown) => {
        const text = 'a memory could not be recalled; the run goes on without it';
        run.logger.warn(text, { error: errorText(error) });
        return NOTHING_RECALLED;
      }),
    ),
  );
  const texts = recalled.flatMap(({ text }) => text ?? []);
  return {
    text: texts.length === 0 ? undefined : texts.join('\n'),
    upTo: recalled.find(({ upTo }) => upTo !== undefined)?.upTo,
    fromOutside: recalled.some(({ fromOutside }) => fromOutside),
  };
}
