import { isLangoError } from '../core/errors.js';
import type { BodyOf, EventBody, NewEvent, TaskRecord } from '../core/task.js';
import type { TaskStore } from '../stores/tasks.js';
import type { Instruments } from './instruments.js';

/** A task that this node works on. */
interface Observed {
  readonly agent: string;
  /** The time at which this node accepted the task; undefined once its first run has begun. */
  acceptedAt?: number | undefined;
  runAt?: number;
  /** The start of the current model call, and whether it has produced text. */
  turn?: { readonly at: number; hasText: boolean } | undefined;
  readonly tools: Map<string, { readonly tool: string; readonly at: number }>;
}

/**
 * Returns a store that also counts what this node appends. Every model call, tool call and run has its events in the
 * journal, so they are counted only here. A step that a resumed run repeats appends nothing, so it counts once.
 */
export function observeStore(store: TaskStore, instruments: Instruments): TaskStore {
  const meter = new TaskMeter(instruments);
  const observed: Partial<TaskStore> = {
    async accept(task, start) {
      const outcome = await meter.timed(() => store.accept(task, start));
      if (outcome.kind === 'accepted') {
        instruments.count('tasks', { agent: task.agent });
        instruments.count('events', { type: 'message' });
        meter.begin(outcome.task, performance.now());
        meter.appended(task.id, start?.firstEvents ?? []);
      }
      return outcome;
    },
    async append(fence, events) {
      const head = await meter.timed(() => store.append(fence, events));
      meter.appended(fence.taskId, events);
      return head;
    },
    async addInput(input) {
      const outcome = await store.addInput(input);
      if (outcome.kind !== 'accepted') return outcome;
      instruments.count('events', { type: 'message' });
      if (outcome.leased) meter.begin(outcome.task);
      return outcome;
    },
    async claim(...given) {
      const tasks = await store.claim(...given);
      for (const task of tasks) meter.begin(task);
      return tasks;
    },
    async claimSuspect(...given) {
      const task = await store.claimSuspect(...given);
      if (task) meter.begin(task);
      return task;
    },
    release(worker, taskId) {
      if (taskId !== undefined) meter.forget(taskId);
      return store.release(worker, taskId);
    },
  };
  return new Proxy(store, {
    get(target, key) {
      const own = observed[key as keyof TaskStore];
      if (own !== undefined) return own;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

class TaskMeter {
  readonly #instruments: Instruments;
  readonly #tasks = new Map<string, Observed>();

  constructor(instruments: Instruments) {
    this.#instruments = instruments;
  }

  /** Adds a task that this node works on. A known task stays unchanged. */
  begin({ id, agent }: TaskRecord, acceptedAt?: number): void {
    if (this.#tasks.has(id)) return;
    this.#tasks.set(id, { agent, acceptedAt, tools: new Map() });
  }

  forget(taskId: string): void {
    this.#tasks.delete(taskId);
  }

  /** Measures the time of an append, and counts its failure. */
  async timed<Result>(append: () => Promise<Result>): Promise<Result> {
    const startedAt = performance.now();
    try {
      return await append();
    } catch (error) {
      this.#instruments.count('appendFailures', { code: isLangoError(error) ? error.code : 'internal' });
      throw error;
    } finally {
      this.#instruments.time('appendSeconds', {}, performance.now() - startedAt);
    }
  }

  appended(taskId: string, events: readonly NewEvent[]): void {
    const task = this.#tasks.get(taskId);
    for (const { body } of events) {
      this.#instruments.count('events', { type: body.type });
      if (task) this.#read(task, body);
    }
    if (events.some(({ body }) => body.type === 'run-end')) this.forget(taskId);
  }

  #read(task: Observed, body: EventBody): void {
    const { agent } = task;
    const now = performance.now();
    if (body.type === 'run-start') {
      if (task.acceptedAt !== undefined)
        this.#instruments.time('queueSeconds', { agent }, now - task.acceptedAt);
      task.acceptedAt = undefined;
      task.runAt = now;
    } else if (body.type === 'turn-start') task.turn = { at: now, hasText: false };
    else if (body.type === 'text-delta') this.#readText(task, now);
    else if (body.type === 'turn-end') this.#readTurnEnd(task, body, now);
    else if (body.type === 'tool-call') task.tools.set(body.step, { tool: body.tool, at: now });
    else if (body.type === 'tool-result') this.#readToolResult(task, body, now);
    else if (body.type === 'delegation-end')
      this.#instruments.count('delegations', { agent, peer: body.agent, state: body.state });
    else if (body.type === 'run-end') this.#readEnd(task, body, now);
  }

  #readText({ agent, turn }: Observed, now: number): void {
    if (!turn || turn.hasText) return;
    turn.hasText = true;
    this.#instruments.time('firstTokenSeconds', { agent }, now - turn.at);
  }

  #readTurnEnd(task: Observed, { stopReason, usage }: BodyOf<'turn-end'>, now: number): void {
    const { agent, turn } = task;
    const { rows = [] } = usage;
    this.#instruments.count('modelCalls', { agent, model: rows[0]?.model ?? '', outcome: stopReason });
    if (turn) this.#instruments.time('modelSeconds', { agent }, now - turn.at);
    task.turn = undefined;
    for (const { model, currency, cost, ...tokens } of rows) {
      for (const type of ['input', 'output', 'cached', 'written'] as const)
        this.#instruments.count('tokens', { agent, model, type }, tokens[type] ?? 0);
      if (cost !== undefined) this.#instruments.count('cost', { agent, model, currency }, cost);
    }
  }

  #readToolResult({ agent, tools }: Observed, { step, result }: BodyOf<'tool-result'>, now: number): void {
    const call = tools.get(step);
    if (!call) return;
    const { tool, at } = call;
    tools.delete(step);
    this.#instruments.count('toolCalls', { agent, tool, outcome: result.isError ? 'error' : 'ok' });
    this.#instruments.time('toolSeconds', { tool }, now - at);
  }

  /** Counts the end of a run. If a turn is open, its model call failed or was canceled. */
  #readEnd({ agent, turn, runAt }: Observed, { state, reason = '' }: BodyOf<'run-end'>, now: number): void {
    if (turn) this.#instruments.count('modelCalls', { agent, model: '', outcome: reason || state });
    this.#instruments.count('runs', { agent, state, reason });
    if (runAt !== undefined) this.#instruments.time('runSeconds', { agent }, now - runAt);
  }
}
