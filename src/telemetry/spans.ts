import { readPages, taskOfOwner, type Journal } from '../core/journal.js';
import { nameAtVendor, type Usage } from '../core/model.js';
import type { Attribute, Attributes, Span, TaskTrace } from '../core/node-status.js';
import { isInterrupted, isTerminal } from '../core/task.js';
import type { BodyOf, Scope, TaskEvent, TaskRecord } from '../core/task.js';
import { spanIdOf, traceIdOfTask } from '../core/trace.js';
import { contentOf } from './span-content.js';

type Tasks = Pick<Journal, 'get' | 'read'>;

const EVENTS_PER_READ = 200;
const MAX_SPANS = 10_000;
/** The range of the sender's span id in a traceparent. */
const PARENT = [36, 52] as const;
/** The provider name of agents and peers, and of models whose id names no vendor. */
const OWN_PROVIDER = 'lango';
/** In seconds, from the beginning of a model call. */
const FIRST_TEXT = 'lango.time_to_first_text';
/** The step of the time in which a task waits for a person. */
const WAIT = 'wait';
/** The step of the time in which a model call waits before its next attempt. */
const RETRY = 'retry';

/**
 * Returns a function that reads the spans of an owner's task and of the tasks below it on this node. A task on another node
 * appears as a client span that names it (`lango.child.task`). The function rejects with `not-found` for a task that is not
 * in the scope.
 */
export function createTaskTraces({ tasks }: { readonly tasks: Tasks }) {
  return async (scope: Scope, taskId: string): Promise<TaskTrace> => {
    const root = await taskOfOwner(tasks, scope, taskId);
    const spans: Span[] = [];
    // A peer on another node may name any task, so only a child of this task is followed, and only once.
    const seen = new Set([root.id]);
    const queue: { task: TaskRecord; parent: string | undefined }[] = [{ task: root, parent: undefined }];
    for (const { task, parent } of queue) {
      if (spans.length > MAX_SPANS) break;
      const [top, ...own] = await spansOf(tasks, task);
      const { parent: _, ...rest } = top!;
      spans.push({ ...rest, ...(parent !== undefined && { parent }) }, ...own);
      for (const { id, attributes } of own) {
        const child = attributes['lango.child.task'];
        if (typeof child !== 'string' || seen.has(child)) continue;
        seen.add(child);
        const record = await tasks.get(scope, child);
        if (record?.parentTaskId === task.id) queue.push({ task: record, parent: id });
      }
    }
    const isCut = spans.length > MAX_SPANS;
    return { traceId: traceIdOfTask(root), spans: spans.slice(0, MAX_SPANS), isCut };
  };
}

type OpenSpan = { -readonly [Key in keyof Span]: Span[Key] } & { attributes: Record<string, Attribute> };

const readEvents = (tasks: Pick<Journal, 'read'>, { id, head }: TaskRecord) =>
  readPages(tasks, id, { after: 0, head, size: EVENTS_PER_READ });

/** Reads the spans of a task, its own first: at most `MAX_SPANS`, and more from its last read. */
async function spansOf(tasks: Tasks, task: TaskRecord): Promise<readonly OpenSpan[]> {
  const projection = new Projection(task);
  for await (const events of readEvents(tasks, task)) {
    for (const event of events) projection.read(event);
    if (projection.spans.length > MAX_SPANS) break;
  }
  return projection.spans;
}

/** Returns the spans of a task that ended after its event `after`. With `content`, they hold texts of people and models. */
export async function endedSpans(
  tasks: Pick<Journal, 'read'>,
  task: TaskRecord,
  { after, content }: { readonly after: number; readonly content: boolean },
): Promise<readonly Span[]> {
  const projection = new Projection(task, content);
  for await (const events of readEvents(tasks, task))
    for (const event of events) {
      projection.read(event);
      if (event.seq === after) projection.ended.length = 0;
    }
  return projection.ended;
}

class Projection {
  readonly spans: OpenSpan[];
  /** The ended spans, in the order of their ends. */
  readonly ended: OpenSpan[] = [];
  readonly #task: OpenSpan;
  readonly #taskId: string;
  readonly #hasContent: boolean;
  /** The spans that have not ended, by their steps. */
  readonly #open = new Map<string, OpenSpan>();
  /** The newest span of each step, and how often the step began. */
  readonly #newest = new Map<string, { readonly span: OpenSpan; readonly times: number }>();

  constructor({ id, agent, contextId, createdAt, grant: { trace } }: TaskRecord, hasContent = false) {
    this.#taskId = id;
    this.#hasContent = hasContent;
    this.#task = {
      id: spanIdOf(id),
      ...(trace && { parent: trace.traceparent.slice(...PARENT) }),
      kind: 'server',
      name: `invoke_agent ${agent}`,
      startedAt: createdAt,
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.provider.name': OWN_PROVIDER,
        'gen_ai.agent.name': agent,
        'gen_ai.conversation.id': contextId,
        'lango.task': id,
      },
    };
    this.spans = [this.#task];
  }

  read(event: TaskEvent): void {
    this.#readWork(event);
    if (!this.#hasContent) return;
    const { body } = event;
    const span = 'step' in body ? this.#newest.get(body.step)?.span : this.#task;
    Object.assign(span?.attributes ?? {}, contentOf(body));
  }

  #readWork(event: TaskEvent): void {
    const { at, body } = event;
    const retry = this.#open.get(RETRY);
    if (retry) this.#end(RETRY, Math.min(at, retry.endedAt!), {});
    switch (body.type) {
      case 'turn-start':
        return this.#begin(body.step, event, { kind: 'client', name: 'chat' });
      case 'turn-end':
        return this.#endTurn(body, at);
      case 'tool-call':
        return this.#begin(body.step, event, {
          kind: 'internal',
          name: `execute_tool ${body.tool}`,
          attributes: {
            ...{ 'gen_ai.tool.name': body.tool, 'gen_ai.tool.call.id': body.callId },
            'gen_ai.tool.type': 'function',
          },
        });
      case 'tool-result':
        return this.#end(body.step, at, body.result.isError ? { 'error.type': 'tool_error' } : {});
      case 'delegation-start':
        return this.#begin(body.step, event, {
          kind: 'client',
          name: `invoke_agent ${body.agent}`,
          attributes: { 'gen_ai.provider.name': OWN_PROVIDER, 'gen_ai.agent.name': body.agent },
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
      case 'text-delta':
        if (!body.isMessage) this.#noteFirstText(at);
        return;
      case 'activity':
        return this.#beginRetry(body, event);
      case 'run-start':
        return this.#end(WAIT, at, {});
      case 'run-end':
        this.#endRun(body, at);
        if (isInterrupted(body.state))
          this.#begin(WAIT, event, {
            kind: 'internal',
            name: 'wait_for_person',
            attributes: { 'lango.state': body.state },
          });
        return;
      default:
    }
  }

  /** Begins a span. An open span of the same step was interrupted by the end of its process. */
  #begin(step: string, { at }: TaskEvent, given: Pick<Span, 'kind' | 'name'> & Partial<Span>): void {
    this.#end(step, at, { 'error.type': 'interrupted' });
    const [operation = ''] = given.name.split(' ');
    const times = (this.#newest.get(step)?.times ?? 0) + 1;
    const span: OpenSpan = {
      id: spanIdOf(this.#taskId, times === 1 ? step : `${step}#${times}`),
      parent: this.#task.id,
      startedAt: at,
      ...given,
      attributes: { 'gen_ai.operation.name': operation, ...given.attributes },
    };
    this.#open.set(step, span);
    this.#newest.set(step, { span, times });
    this.spans.push(span);
  }

  #end(step: string, at: number, attributes: Attributes): void {
    const span = this.#open.get(step);
    if (!span) return;
    this.#open.delete(step);
    span.endedAt = at;
    Object.assign(span.attributes, attributes);
    this.ended.push(span);
  }

  /** The wait of the model call that is under way. A wait that an agent below reports comes while none is. */
  #beginRetry({ activity }: BodyOf<'activity'>, event: TaskEvent): void {
    const call = this.#openCall();
    if (activity.type !== 'text' || activity.waitMs === undefined || !call) return;
    this.#begin(RETRY, event, { kind: 'internal', name: 'wait_for_retry', parent: call.id });
    // The next event of the task may end it before.
    this.#open.get(RETRY)!.endedAt = event.at + activity.waitMs;
  }

  #endTurn({ step, usage, stopReason }: BodyOf<'turn-end'>, at: number): void {
    const span = this.#open.get(step);
    const model = usage.rows?.[0]?.model;
    if (span && model !== undefined) {
      const slash = model.indexOf('/');
      const name = nameAtVendor(model);
      span.name = `chat ${name}`;
      Object.assign(span.attributes, {
        'gen_ai.provider.name': slash < 0 ? OWN_PROVIDER : model.slice(0, slash),
        'gen_ai.request.model': name,
        'gen_ai.response.model': name,
      });
    }
    this.#end(step, at, { ...usageOf(usage), 'gen_ai.response.finish_reasons': [stopReason] });
  }

  /** The first text of the agent's model call that is under way. */
  #noteFirstText(at: number): void {
    const call = this.#openCall();
    if (call) call.attributes[FIRST_TEXT] ??= (at - call.startedAt) / 1_000;
  }

  #openCall(): OpenSpan | undefined {
    return [...this.#open.values()].find(({ attributes }) => attributes['gen_ai.operation.name'] === 'chat');
  }

  /** Ends the run. Spans that are still open failed, unless the task waits for a person. */
  #endRun({ state, reason, usage }: BodyOf<'run-end'>, at: number): void {
    const { attributes } = this.#task;
    this.#end(WAIT, at, {});
    if (!isInterrupted(state)) {
      for (const step of [...this.#open.keys()]) this.#end(step, at, { 'error.type': reason ?? state });
    }
    Object.assign(attributes, usageOf(usage), { 'lango.state': state });
    if (!isTerminal(state)) return;
    this.#task.endedAt = at;
    this.ended.push(this.#task);
    if (state !== 'completed') attributes['error.type'] = reason ?? state;
  }
}

/** Tokens and cost, including the tasks below. Costs in several currencies are left out. */
function usageOf({ input, output, cached, written, rows = [] }: Usage): Record<string, Attribute> {
  const nodes = new Set(rows.map(({ node }) => node));
  const currencies = new Set(rows.map(({ currency }) => currency));
  const [currency] = currencies;
  const isPriced = currencies.size === 1 && rows.every(({ cost }) => cost !== undefined);
  const cost = rows.reduce((sum, row) => Math.round((sum + (row.cost ?? 0)) * 1e9) / 1e9, 0);
  return {
    ...{ 'gen_ai.usage.input_tokens': input, 'gen_ai.usage.output_tokens': output },
    ...(cached > 0 && { 'gen_ai.usage.cache_read.input_tokens': cached }),
    ...(written && { 'gen_ai.usage.cache_creation.input_tokens': written }),
    ...(nodes.size > 0 && { 'lango.nodes': [...nodes].join(' ') }),
    ...(isPriced && currency !== undefined && { 'lango.cost': cost, 'lango.currency': currency }),
  };
}
