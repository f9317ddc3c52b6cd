import type { LoopAgent } from '../agents/agent.js';
import { shortHash } from '../agents/asked-request.js';
import type { Agent, PeerDirectory } from '../core/agent.js';
import { defined } from '../core/json.js';
import { silentLogger } from '../core/logger.js';
import { addUsage, type AskedRequest, type Usage } from '../core/model.js';
import type { Run } from '../core/run.js';
import { noScrubber } from '../core/secrets.js';
import type { RequestChange, RequestReport } from '../core/sent-request.js';
import type { BodyOf, NewEvent, Scope, TaskEvent, TaskRecord } from '../core/task.js';
import { abortable } from '../core/time.js';
import { Replay } from '../journal/replay.js';
import { workOn } from '../journal/run-work.js';
import { TaskRun } from '../journal/task-run.js';
import type { TaskHead } from '../stores/tasks.js';
import { firstDivergence, type Divergence } from './comparison.js';
import { abortReasonOf, passesOf, type Pass } from './passes.js';
import { agentOfRecord, memoryOf, recordedFunctions, recordedModel, recordedPeers } from './stand-ins.js';
import type { OnRequest } from './stand-ins.js';
import { parseTaskFile, type RecordedTask } from './task-file.js';

export interface ReplayReport {
  /** The tasks that ran again, and their events. */
  readonly tasks: number;
  readonly events: number;
  /** The tasks that are taken as recorded: no model was asked in them, or their entries are elsewhere. */
  readonly taken: readonly string[];
  /** The first place at which a task is another now; undefined when all are identical. */
  readonly divergence: (Divergence & { readonly taskId: string; readonly agent: string }) | undefined;
}

/**
 * Runs each task of an exported file again, with this version of Lango, and compares every entry with the record. Models,
 * tools and other agents give what is recorded: nothing is asked, nothing is done, and nothing leaves the process. `file`:
 * the parsed JSON. Rejects with `invalid-input` when it is no such file, or was exported without contents.
 */
export async function replayTask(given: unknown): Promise<ReplayReport> {
  const file = parseTaskFile(given, { needsContent: true });
  const report = { tasks: 0, events: 0, taken: [] as string[], divergence: undefined };
  for (const task of file.tasks) {
    if (!isOfLoop(task)) {
      report.taken.push(task.id);
      continue;
    }
    for await (const { pass, written } of runsAgain(task, {})) {
      const found = firstDivergence(pass, task.agent, written);
      if (found) return { ...report, divergence: { taskId: task.id, agent: task.agent, ...found } };
    }
    report.tasks += 1;
    report.events += task.events.length;
  }
  return report;
}

/** Whether a model was asked in the task by the agent loop. A program's own code has steps of other names, or none. */
export function isOfLoop({ events }: RecordedTask): boolean {
  return events.some(({ body }) => body.type === 'turn-start' && /^t\d+$/.test(body.step));
}

interface RunsOptions {
  /** Default: the agent loop with what the record says of the agent. */
  readonly agent?: LoopAgent;
  /** Default: an owner that has nothing. */
  readonly scope?: Scope;
  readonly onRequest?: OnRequest;
}

/**
 * Runs each run of a recorded task again with an agent that reaches nothing outside. Yields it with the events that it
 * writes now.
 */
async function* runsAgain(
  recorded: RecordedTask,
  { agent: given, scope = { tenant: '', owner: 'replay' }, onRequest }: RunsOptions,
): AsyncGenerator<{ readonly pass: Pass; readonly written: readonly NewEvent[] }, void> {
  const { id: taskId, agent: name, limits } = recorded;
  const events = recorded.events.map((event): TaskEvent => ({ ...event, taskId, author: event.author }));
  const task = taskOf(recorded, scope);
  for (const pass of passesOf(events)) {
    const replay = new Replay();
    for (const event of pass.before) replay.add(event);
    const store = new RecordedStore(pass);
    const run = new TaskRun({
      ...{ task, store, replay, openLogger: () => silentLogger, scrubber: noScrubber },
      ...{ worker: 'replay', eventsPerTask: Number.MAX_SAFE_INTEGER },
    });
    store.deliver = (seq) => run.notify(seq);
    if (pass.end) run.charge(unseenUsage(pass, pass.end));
    const recording = { agent: name, limits, events, pass, blocked: blockedIn(run, store, pass) };
    const peers = recordedPeers(recording);
    const agent = given ?? agentOfRecord(recording, peers);
    const standIns = {
      model: recordedModel(recording, onRequest),
      memory: memoryOf(pass),
      peers: (own: PeerDirectory) => ({ ...peers, list: () => own.list() }),
      functions: recordedFunctions(recording),
      beganAt: pass.events[0]!.at,
    };
    const rehearsing = { profile: agent.profile, run: (again: Run) => agent.rehearse(again, standIns) };
    await workOn(run, {
      ...{ store: { append: store.append, lastCrash: undefined }, peers },
      ...{ agents: new Map([[name, rehearsing]]), runSeconds: MAX_SECONDS },
    });
    yield { pass, written: store.written };
  }
}

/** The longest time of a timer. A replay ends before: it waits for nothing outside. */
const MAX_SECONDS = 2_000_000;

function taskOf(recorded: RecordedTask, { tenant, owner }: Scope): TaskRecord {
  const { id, agent, contextId, parentTaskId, grant, createdAt } = recorded;
  // The deadline has passed meanwhile.
  const { deadline: _, ...rights } = grant;
  return {
    ...{ id, agent, contextId, parentTaskId, grant: rights, createdAt, tenant, owner },
    ...{ state: 'working', statusMessage: undefined, head: 1, epoch: 1, crashes: 0, statusAt: createdAt },
  };
}

/** Keeps what a replayed run writes, and gives it the messages that came during the recorded run. */
class RecordedStore {
  readonly written: NewEvent[] = [];
  deliver: (seq: number) => void = () => {};
  readonly #messages: readonly { readonly event: TaskEvent; readonly afterSteps: number }[];
  #steps = 0;

  constructor({ events }: Pass) {
    let steps = 0;
    const messages = events.flatMap((event) => {
      if (isIntent(event)) steps += 1;
      return event.body.type === 'message' ? [{ event, afterSteps: steps }] : [];
    });
    // A message after the last step was not read in this run.
    this.#messages = messages.filter(({ afterSteps }) => afterSteps < steps);
  }

  readonly append = async (_fence: unknown, events: readonly NewEvent[]): Promise<number> => {
    this.written.push(...events);
    this.#steps += events.filter(isIntent).length;
    const newest = this.#come().at(-1);
    if (newest) setImmediate(() => this.deliver(newest.seq));
    return 0;
  };

  async read(_taskId: string, after: number): Promise<readonly TaskEvent[]> {
    return this.#come().filter(({ seq }) => seq > after);
  }

  #come(): readonly TaskEvent[] {
    return this.#messages.flatMap(({ event, afterSteps }) => (afterSteps <= this.#steps ? [event] : []));
  }

  async get(): Promise<undefined> {}

  /** Nobody else takes a replayed task over. */
  async renew(_worker: string, taskIds: readonly string[]): Promise<readonly TaskHead[]> {
    return taskIds.map((id) => ({ id, head: 0 }));
  }

  async retake(): Promise<undefined> {}

  async readSession(): Promise<readonly TaskEvent[]> {
    return [];
  }
}

function isIntent({ body: { type } }: NewEvent): boolean {
  return type === 'turn-start' || type === 'tool-call' || type === 'delegation-start';
}

/** The usage of failed calls of a model, which only the end of a run holds. */
function unseenUsage({ before, events }: Pass, { usage }: BodyOf<'run-end'>): Usage {
  let unseen = usage;
  for (const { body } of [...before, ...events])
    if (body.type === 'turn-end' || body.type === 'delegation-end') unseen = addUsage(unseen, body.usage, -1);
  return unseen;
}

/** The rounds of the event loop without a new event after which nothing more comes. */
const STILL_ROUNDS = 5;

/**
 * Makes the wait for something that the record does not hold. It never comes: once the run writes nothing more, it is
 * aborted for the reason that ended the recorded one.
 */
function blockedIn(run: TaskRun, store: RecordedStore, pass: Pass): () => Promise<never> {
  let watching: Promise<void> | undefined;
  const abortOnceStill = async (): Promise<void> => {
    for (let still = 0; still < STILL_ROUNDS; still += 1) {
      const { length } = store.written;
      await run.settle();
      await new Promise((resolve) => setImmediate(resolve));
      if (store.written.length > length) still = 0;
    }
    run.abort(abortReasonOf(pass));
  };
  return () => {
    watching ??= abortOnceStill();
    return abortable(new Promise<never>(() => {}), run.signal);
  };
}

/**
 * Builds the request of each recorded turn with the instructions and the functions of now, and compares it with what the
 * model was asked. The conversation, the outputs of models and all results are as recorded: nothing is asked or done.
 * `agents`: those of this server, which get the tools and skills of the owner `scope`. Rejects with `invalid-input` for what
 * is no file of a task with contents.
 */
export async function compareRequests(
  given: unknown,
  { agents, scope }: { readonly agents: ReadonlyMap<string, Agent>; readonly scope: Scope },
): Promise<RequestReport> {
  const file = parseTaskFile(given, { needsContent: true });
  const absent = new Set<string>();
  const changed: RequestReport['changed'][number][] = [];
  let [turns, unknown] = [0, 0];
  for (const task of file.tasks.filter(isOfLoop)) {
    const agent = agents.get(task.agent);
    if (!agent || !canRehearse(agent)) {
      absent.add(task.agent);
      continue;
    }
    /** The parts of the requests by their hashes. */
    const texts = new Map<string, string>();
    const onRequest: OnRequest = ({ system, functions }) => {
      for (const block of system) texts.set(shortHash(block), block.text);
      for (const spec of functions) texts.set(shortHash(spec), JSON.stringify(spec, undefined, 1));
    };
    const now = await rehearse(task, { agent, scope, onRequest });
    const before = requestsIn(task.events);
    for (const [step, recorded] of before) {
      const asked = now.get(step);
      if (!recorded) unknown += 1;
      if (!recorded || !asked) continue;
      turns += 1;
      const changes = changesOf(recorded, asked, texts);
      if (changes.length > 0) changed.push({ taskId: task.id, agent: task.agent, step, changes });
    }
  }
  return { turns, changed, unknown, absent: [...absent] };
}

export function canRehearse(agent: Agent): agent is LoopAgent {
  return 'rehearse' in agent;
}

type Requests = ReadonlyMap<string, Required<AskedRequest> | undefined>;

/** The requests of turns by their steps, each with all its parts; undefined for one that is not known. */
export function requestsIn(events: readonly Pick<NewEvent, 'body'>[]): Requests {
  const requests = new Map<string, Required<AskedRequest> | undefined>();
  let newest: Pick<Required<AskedRequest>, 'system' | 'functions'> = { system: [], functions: {} };
  for (const { body } of events) {
    if (body.type !== 'turn-end') continue;
    const { asked } = body;
    const { system = newest.system, functions = newest.functions } = asked ?? newest;
    newest = { system, functions };
    requests.set(body.step, asked && { ...asked, ...newest });
  }
  return requests;
}

/** Lets an agent of this server go through a recorded task, with outputs and results as recorded. */
export async function rehearse(recorded: RecordedTask, options: Required<RunsOptions>): Promise<Requests> {
  const now: NewEvent[] = [];
  for await (const { written } of runsAgain(recorded, options)) now.push(...written);
  return requestsIn(now);
}

export function changesOf(
  before: Required<AskedRequest>,
  now: Required<AskedRequest>,
  texts: ReadonlyMap<string, string> = new Map(),
): readonly RequestChange[] {
  const changes: RequestChange[] = [];
  if (before.model !== now.model)
    changes.push({ part: 'model', change: 'changed', name: before.model, text: now.model });
  for (const name of before.system.filter((hash) => !now.system.includes(hash)))
    changes.push({ part: 'instruction', change: 'removed', name });
  for (const name of now.system.filter((hash) => !before.system.includes(hash)))
    changes.push({ part: 'instruction', change: 'added', name, ...defined({ text: texts.get(name) }) });
  for (const name of new Set([...Object.keys(before.functions), ...Object.keys(now.functions)])) {
    const [was, is] = [before.functions[name], now.functions[name]];
    if (was === is) continue;
    const change = was === undefined ? 'added' : is === undefined ? 'removed' : 'changed';
    changes.push({ part: 'function', change, name, ...defined({ text: is && texts.get(is) }) });
  }
  return changes;
}
