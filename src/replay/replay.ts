import { agentOfRecord } from './recorded-agent.js';
import type { Agent, PeerDirectory } from '../core/agent.js';
import { silentLogger } from '../core/logger.js';
import { addUsage, NO_USAGE, type Usage } from '../core/model.js';
import { noScrubber } from '../core/secrets.js';
import type { NewEvent, Scope, TaskEvent, TaskRecord } from '../core/task.js';
import { Replay } from '../journal/replay.js';
import { workOn } from '../journal/run-work.js';
import { TaskRun } from '../journal/task-run.js';
import { firstDivergence, type Divergence } from './comparison.js';
import { abortReasonOf, passesOf, type Pass, type Recording } from './passes.js';
import { recordedPeers } from './recorded-peers.js';
import { parseTaskFile, type RecordedTask } from './task-file.js';

/** The result of replaying a file. */
export interface ReplayReport {
  /** The tasks that ran again, and their events. */
  readonly tasks: number;
  readonly events: number;
  /** The tasks that are taken as recorded: no model was asked in them, or their entries are elsewhere. */
  readonly taken: readonly string[];
  /** The first place at which a task is another now; undefined when all are identical. */
  readonly divergence: TaskDivergence | undefined;
}

interface TaskDivergence extends Divergence {
  readonly taskId: string;
  readonly agent: string;
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
    const found = await divergenceIn(task);
    if (found) return { ...report, divergence: { taskId: task.id, agent: task.agent, ...found } };
    report.tasks += 1;
    report.events += task.events.length;
  }
  return report;
}

/** The step of a turn of the agent loop. Agents that are a program's own code have steps of other names, or none. */
const LOOP_STEP = /^t\d+$/;

/** Whether a model was asked in the task by the agent loop. */
export function isOfLoop({ events }: RecordedTask): boolean {
  return events.some(({ body }) => body.type === 'turn-start' && LOOP_STEP.test(body.step));
}

async function divergenceIn(recorded: RecordedTask): Promise<Divergence | undefined> {
  for await (const { pass, written } of runsAgain(recorded, agentOfRecord)) {
    const divergence = firstDivergence(pass, recorded.agent, written);
    if (divergence) return divergence;
  }
  return undefined;
}

/** An owner that has nothing. */
const NOBODY: Scope = { tenant: '', owner: 'replay' };

type AgentOfRun = (recording: Recording, peers: PeerDirectory) => Agent;

/**
 * Runs each run of a recorded task again with an agent that reaches nothing outside. Yields it with the events that it
 * writes now.
 */
export async function* runsAgain(
  recorded: RecordedTask,
  agentOf: AgentOfRun,
  scope = NOBODY,
): AsyncGenerator<{ readonly pass: Pass; readonly written: readonly NewEvent[] }, void> {
  const { id: taskId, agent, limits } = recorded;
  const events = recorded.events.map((event): TaskEvent => ({ ...event, taskId, author: event.author }));
  for (const pass of passesOf(events)) {
    const written = await runAgain(taskOf(recorded, scope), { agent, limits, events, pass }, agentOf);
    yield { pass, written };
  }
}

async function runAgain(
  task: TaskRecord,
  about: Omit<Recording, 'blocked'>,
  agentOf: AgentOfRun,
): Promise<readonly NewEvent[]> {
  const { pass } = about;
  const replay = new Replay();
  for (const event of pass.before) replay.add(event);
  const store = new RecordedStore(pass);
  const run = new TaskRun({
    ...{ task, store, replay, openLogger: () => silentLogger, scrubber: noScrubber },
    ...{ isOwner: async () => true, retake: async () => undefined, eventsPerTask: Number.MAX_SAFE_INTEGER },
  });
  store.deliver = (seq) => run.notify(seq);
  const unseen = unseenUsage(pass);
  if (unseen) run.charge(unseen);
  const recording = { ...about, blocked: blockedIn(run, store, pass) };
  const peers = recordedPeers(recording);
  await workOn(run, replay, {
    ...{ store: { append: store.append, lastCrash: undefined }, peers },
    ...{ agents: new Map([[task.agent, agentOf(recording, peers)]]), runSeconds: MAX_SECONDS },
  });
  return store.written;
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
  readonly #messages: { readonly event: TaskEvent; readonly afterSteps: number }[] = [];
  #steps = 0;

  constructor({ events }: Pass) {
    let steps = 0;
    for (const event of events) {
      if (isIntent(event)) steps += 1;
      if (event.body.type === 'message') this.#messages.push({ event, afterSteps: steps });
    }
    // A message after the last step was not read in this run.
    while (this.#messages.at(-1)?.afterSteps === steps) this.#messages.pop();
  }

  readonly append = async (_fence: unknown, events: readonly NewEvent[]): Promise<number> => {
    this.written.push(...events);
    this.#steps += events.filter(isIntent).length;
    const known = this.#messages.findLast(({ afterSteps }) => afterSteps <= this.#steps);
    if (known) setImmediate(() => this.deliver(known.event.seq));
    return 0;
  };

  async read(_taskId: string, after: number): Promise<readonly TaskEvent[]> {
    const known = this.#messages.filter(({ afterSteps }) => afterSteps <= this.#steps);
    return known.map(({ event }) => event).filter(({ seq }) => seq > after);
  }

  async get(): Promise<undefined> {}

  async readSession(): Promise<readonly TaskEvent[]> {
    return [];
  }
}

function isIntent({ body: { type } }: NewEvent): boolean {
  return type === 'turn-start' || type === 'tool-call' || type === 'delegation-start';
}

/** The usage of failed calls of a model, which only the end of a run holds. */
function unseenUsage({ before, events, end }: Pass): Usage | undefined {
  if (!end) return undefined;
  let seen = NO_USAGE;
  for (const { body } of [...before, ...events])
    if (body.type === 'turn-end' || body.type === 'delegation-end') seen = addUsage(seen, body.usage);
  const unseen = addUsage(end.usage, seen, -1);
  return unseen.input + unseen.output > 0 ? unseen : undefined;
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
    const { signal } = run;
    return new Promise((_, reject) => {
      if (signal.aborted) reject(signal.reason as Error);
      else signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
  };
}
