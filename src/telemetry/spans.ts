import { hash } from 'node:crypto';
import { LangoError } from '../core/errors.js';
import type { Journal } from '../core/journal.js';
import type { Usage } from '../core/model.js';
import { isInterrupted, isTerminal, type EventBody, type Scope, type TaskEvent } from '../core/task.js';
import type { TaskRecord } from '../core/task.js';
import { traceIdOf } from '../core/trace.js';

type Attribute = string | number;

/**
 * A stretch of work, read from the journal. Names and attributes are those of OpenTelemetry's semantic conventions for
 * GenAI, version 1.41.0; `lango.*` are our own. It holds no text of people or models.
 */
export interface Span {
  /** Made from the task and the number of its first event, so each reading gives the same span. */
  readonly id: string;
  /** Absent for the span of the task that was asked for. */
  readonly parent?: string;
  readonly kind: 'server' | 'client' | 'internal';
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** Absent while the work goes on. */
  readonly endedAt?: number;
  readonly attributes: Readonly<Record<string, Attribute>>;
}

export interface TaskTrace {
  readonly traceId: string;
  /** Each span comes after its parent. */
  readonly spans: readonly Span[];
  /** Whether spans are left out, because there are too many. */
  readonly isCut: boolean;
}

type Tasks = Pick<Journal, 'get' | 'read'>;

const EVENTS_PER_READ = 200;
const MAX_SPANS = 5_000;
const SPAN_ID_LENGTH = 16;
const TRACE_ID_LENGTH = 32;

/**
 * Returns what reads the spans of an owner's task and of the tasks below it on this node. A task on another node is a
 * client span that names it (`lango.child.task`). Rejects with `not-found` for a task that is not in the scope.
 */
export function createTaskTraces({ tasks }: { readonly tasks: Tasks }) {
  return async (scope: Scope, taskId: string): Promise<TaskTrace> => {
    const root = await tasks.get(scope, taskId);
    if (!root) {
      throw new LangoError('not-found', `There is no task "${taskId}" of yours here.`, {
        hint: 'See: lango tasks list',
      });
    }
    const spans: Span[] = [];
    // A peer on another node may name any task: only a child of this task counts, and only once.
    const seen = new Set([root.id]);
    const queue: { task: TaskRecord; parent: string | undefined }[] = [{ task: root, parent: undefined }];
    for (const { task, parent } of queue) {
      if (spans.length > MAX_SPANS) break;
      const own = await spansOf(tasks, task, parent);
      spans.push(...own);
      for (const { id, attributes } of own) {
        const child = attributes['lango.child.task'];
        if (typeof child !== 'string' || seen.has(child)) continue;
        seen.add(child);
        const record = await tasks.get(scope, child);
        if (record?.parentTaskId === task.id) queue.push({ task: record, parent: id });
      }
    }
    const { trace } = root.grant;
    const traceId = trace ? traceIdOf(trace) : hash('sha256', root.id).slice(0, TRACE_ID_LENGTH);
    return { traceId, spans: spans.slice(0, MAX_SPANS), isCut: spans.length > MAX_SPANS };
  };
}

type OpenSpan = { -readonly [Key in keyof Span]: Span[Key] } & { attributes: Record<string, Attribute> };

/** The span of the task first. At most one span more than `MAX_SPANS`. */
async function spansOf(tasks: Tasks, task: TaskRecord, parent: string | undefined): Promise<readonly Span[]> {
  const projection = new Projection(task, parent);
  for (let seq = 0; seq < task.head && projection.spans.length <= MAX_SPANS; seq += EVENTS_PER_READ) {
    for (const event of await tasks.read(task.id, seq, EVENTS_PER_READ)) projection.read(event);
  }
  return projection.spans;
}

class Projection {
  readonly spans: OpenSpan[];
  readonly #task: OpenSpan;
  readonly #taskId: string;
  /** The spans that have not ended, by their steps. */
  readonly #open = new Map<string, OpenSpan>();

  constructor({ id, agent, contextId, createdAt }: TaskRecord, parent: string | undefined) {
    this.#taskId = id;
    this.#task = {
      // As `continueTrace` names the sender of a delegation.
      id: hash('sha256', id).slice(0, SPAN_ID_LENGTH),
      ...(parent !== undefined && { parent }),
      kind: 'server',
      name: `invoke_agent ${agent}`,
      startedAt: createdAt,
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': agent,
        'gen_ai.conversation.id': contextId,
        'lango.task': id,
      },
    };
    this.spans = [this.#task];
  }

  read(event: TaskEvent): void {
    const { at, body } = event;
    switch (body.type) {
      case 'turn-start':
        return this.#begin(body.step, event, { kind: 'client', name: 'chat' });
      case 'turn-end':
        return this.#endTurn(body, at);
      case 'tool-call':
        return this.#begin(body.step, event, {
          kind: 'internal',
          name: `execute_tool ${body.tool}`,
          attributes: { 'gen_ai.tool.name': body.tool, 'gen_ai.tool.call.id': body.callId },
        });
      case 'tool-result':
        return this.#end(body.step, at, body.result.isError ? { 'error.type': 'tool_error' } : {});
      case 'delegation-start':
        return this.#begin(body.step, event, {
          kind: 'client',
          name: `invoke_agent ${body.agent}`,
          attributes: { 'gen_ai.agent.name': body.agent },
        });
      case 'delegation-task':
        Object.assign(this.#open.get(body.step)?.attributes ?? {}, { 'lango.child.task': body.taskId });
        return;
      case 'delegation-end':
        return this.#end(body.step, at, {
          ...usageOf(body.usage),
          'lango.state': body.state,
          ...(body.state !== 'completed' && !isInterrupted(body.state) && { 'error.type': body.state }),
        });
      case 'run-end':
        return this.#endRun(body, at);
      default:
    }
  }

  /** A step that begins again was cut off by the end of its process. */
  #begin(step: string, { seq, at }: TaskEvent, given: Pick<Span, 'kind' | 'name'> & Partial<Span>): void {
    this.#end(step, at, { 'error.type': 'interrupted' });
    const [operation = ''] = given.name.split(' ');
    const span: OpenSpan = {
      id: hash('sha256', `${this.#taskId}/${seq}`).slice(0, SPAN_ID_LENGTH),
      parent: this.#task.id,
      startedAt: at,
      ...given,
      attributes: { 'gen_ai.operation.name': operation, ...given.attributes },
    };
    this.#open.set(step, span);
    this.spans.push(span);
  }

  #end(step: string, at: number, attributes: Readonly<Record<string, Attribute>>): void {
    const span = this.#open.get(step);
    if (!span) return;
    this.#open.delete(step);
    span.endedAt = at;
    Object.assign(span.attributes, attributes);
  }

  #endTurn({ step, usage, stopReason }: BodyOf<'turn-end'>, at: number): void {
    const span = this.#open.get(step);
    const model = usage.rows?.[0]?.model;
    if (span && model !== undefined) {
      span.name = `chat ${model}`;
      span.attributes['gen_ai.response.model'] = model;
    }
    this.#end(step, at, { ...usageOf(usage), 'lango.stop_reason': stopReason });
  }

  /** What is open when a run ends did not succeed. A waiting task goes on. */
  #endRun({ state, reason, usage }: BodyOf<'run-end'>, at: number): void {
    const { attributes } = this.#task;
    if (!isInterrupted(state)) {
      for (const step of [...this.#open.keys()]) this.#end(step, at, { 'error.type': reason ?? state });
    }
    Object.assign(attributes, usageOf(usage), { 'lango.state': state });
    if (!isTerminal(state)) return;
    this.#task.endedAt = at;
    if (state !== 'completed') attributes['error.type'] = reason ?? state;
  }
}

/** Tokens and money, with those of the tasks below. Money of several currencies is left out. */
function usageOf({ input, output, rows = [] }: Usage): Record<string, Attribute> {
  const tokens = { 'gen_ai.usage.input_tokens': input, 'gen_ai.usage.output_tokens': output };
  const nodes = new Set(rows.map(({ node }) => node));
  const currencies = new Set(rows.map(({ currency }) => currency));
  const [currency] = currencies;
  const isPriced = currencies.size === 1 && rows.every(({ cost }) => cost !== undefined);
  const cost = rows.reduce((sum, row) => Math.round((sum + (row.cost ?? 0)) * 1e9) / 1e9, 0);
  return {
    ...tokens,
    ...(nodes.size > 0 && { 'lango.nodes': [...nodes].join(' ') }),
    ...(isPriced && currency !== undefined && { 'lango.cost': cost, 'lango.currency': currency }),
  };
}

type BodyOf<Type extends EventBody['type']> = Extract<EventBody, { readonly type: Type }>;
