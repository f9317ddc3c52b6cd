import type { SendMessageRequest, StreamResponse } from '@a2a-js/sdk';
import { TaskState } from '@a2a-js/sdk';
import { setTimeout as delay } from 'node:timers/promises';
import type { AskedTask } from '../../core/agent.js';
import type { ErrorCode, LangoError } from '../../core/errors.js';
import { causesOf, codeOf, errorText, isLangoError } from '../../core/errors.js';
import type { Scope } from '../../core/task.js';
import type { Trace } from '../../core/trace.js';
import { fromWireError } from '../translate/errors.js';
import type { Link } from './link.js';
import { requestOptions, send } from './link.js';
import type { ClientEvent, EndEvent, TaskReader } from './reader.js';

export interface RetryRules {
  /** Failures in a row after which the peer is given up. */
  readonly attempts: number;
  /** The first pause; each next one is twice as long, up to 5 s. */
  readonly firstDelayMs: number;
  /** The pause between looks at a task that has nothing new to tell. */
  readonly pollMs: number;
}

export const DEFAULT_RETRY: RetryRules = { attempts: 8, firstDelayMs: 200, pollMs: 1_000 };

export interface Watch {
  readonly link: Link;
  readonly reader: TaskReader;
  readonly scope: Scope | undefined;
  readonly trace?: Trace | undefined;
  /** What to send first; without it the task that `reader` names is looked at and followed. */
  readonly request?: SendMessageRequest;
  /** With an answer for `request`: that somebody else answered before is no failure. */
  readonly mayBeLate?: boolean;
  /** Without `request`: the `seq` to go on after, instead of a look at the task as it stands. */
  readonly after?: number;
  readonly signal: AbortSignal;
  readonly retry: RetryRules;
}

const MAX_DELAY_MS = 5_000;
/** Reasons to stop after which nobody comes back for the task. */
const CANCELING: ReadonlySet<ErrorCode> = new Set(['canceled', 'timeout', 'limit-reached']);
/** How an ended task refuses a message; over the wire it is no more than "unsupported". */
const TAKES_NO_MORE: ReadonlySet<ErrorCode> = new Set(['already-ended', 'not-supported']);
/** What goes wrong before a request has left this machine. */
const NEVER_SENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/**
 * Follows one task to its end, over dropped connections and restarts of the peer. Yields exactly one
 * `end`, as the last event, and never throws.
 */
export function watchTask(watch: Watch): AsyncGenerator<ClientEvent, void, undefined> {
  return new TaskWatch(watch).run();
}

class TaskWatch {
  readonly #watch: Watch;
  readonly #reader: TaskReader;
  /** Ends what is open to the peer; later than the caller's signal, when a task has yet to be named. */
  readonly #line = new AbortController();
  #request: SendMessageRequest | undefined;
  #after: number | undefined;
  #needsSnapshot: boolean;
  #canSubscribe: boolean;
  #failures = 0;
  #grace: NodeJS.Timeout | undefined;

  constructor(watch: Watch) {
    this.#watch = watch;
    this.#reader = watch.reader;
    this.#request = watch.request;
    this.#after = watch.after;
    this.#needsSnapshot = watch.request === undefined && watch.after === undefined;
    this.#canSubscribe = watch.link.streams;
  }

  async *run(): AsyncGenerator<ClientEvent, void, undefined> {
    const { signal } = this.#watch;
    if (signal.aborted) this.#onAbort();
    else signal.addEventListener('abort', this.#onAbort);
    try {
      while (!this.#reader.hasEnded && !signal.aborted) yield* this.#round();
      if (!this.#reader.hasEnded) yield await this.#abandon();
    } catch (error) {
      if (!this.#reader.hasEnded) yield this.#reader.giveUp('failed', errorText(error));
    } finally {
      signal.removeEventListener('abort', this.#onAbort);
      clearTimeout(this.#grace);
      this.#line.abort();
    }
  }

  /** One request or subscription, until it ends or breaks, and the pause after it. */
  async *#round(): AsyncGenerator<ClientEvent, void, undefined> {
    let hasNews = false;
    try {
      for await (const response of this.#open()) {
        this.#request = undefined;
        const events = this.#reader.read(response);
        this.#failures = 0;
        hasNews ||= events.length > 0;
        yield* events;
        if (this.#reader.hasEnded || this.#watch.signal.aborted) return;
      }
      const end = this.#reader.settle();
      if (end) yield end;
    } catch (error) {
      if (this.#watch.signal.aborted) return;
      const end = await this.#afterFailure(fromWireError(error));
      if (end) yield end;
      return;
    }
    if (!hasNews && !this.#reader.hasEnded) await this.#pause(this.#watch.retry.pollMs);
  }

  #open(): AsyncGenerator<StreamResponse, void, undefined> {
    const { link, scope, trace } = this.#watch;
    if (!this.#request) return this.#resume();
    return send(link, this.#request, requestOptions(link, { scope, trace, signal: this.#line.signal }));
  }

  /** The events after the last one read; from a peer that cannot tell them, the task as it stands. */
  async *#resume(): AsyncGenerator<StreamResponse, void, undefined> {
    const { link, scope, trace } = this.#watch;
    const after = this.#reader.cursor ?? this.#after;
    let count = 0;
    if (this.#canSubscribe && !this.#needsSnapshot) {
      const options = requestOptions(link, { scope, trace, signal: this.#line.signal, after });
      try {
        for await (const response of link.transport.resubscribeTask({ tenant: '', id: this.#id }, options)) {
          count += 1;
          yield response;
        }
      } catch (error) {
        // Stock servers refuse it for a task that has just ended, and some for any.
        if (count > 0 || isPassing(fromWireError(error))) throw error;
        this.#canSubscribe = false;
      }
    }
    if (count > 0) return;
    this.#needsSnapshot = false;
    const options = requestOptions(link, { scope, trace, signal: this.#line.signal });
    const task = await link.transport.getTask({ tenant: '', id: this.#id, historyLength: 0 }, options);
    yield { payload: { $case: 'task', value: task } };
  }

  get #id(): string {
    return this.#reader.taskId ?? '';
  }

  /** The end, when there is no use in trying again; else undefined, after a pause. */
  async #afterFailure(error: LangoError): Promise<EndEvent | undefined> {
    const { retry, link } = this.#watch;
    if (this.#isLateAnswer(error)) {
      this.#request = undefined;
      this.#needsSnapshot = true;
      return undefined;
    }
    this.#failures += 1;
    const isSafe = !this.#request || link.replays || error.code === 'too-many' || wasNeverSent(error);
    if (isPassing(error) && isSafe && this.#failures <= retry.attempts) {
      const backoff = Math.min(retry.firstDelayMs * 2 ** (this.#failures - 1), MAX_DELAY_MS);
      await this.#pause(Math.max(backoff, Math.min(error.retryAfterMs ?? 0, MAX_DELAY_MS)));
      return undefined;
    }
    // It may still run and nobody listens any more.
    if (error.code === 'too-large' || error.code === 'invalid-agent-response') await this.#cancel();
    return this.#reader.giveUp(error.code === 'limit-reached' ? 'rejected' : 'failed', error.message);
  }

  /** The task took no answer any more: somebody else gave one, and what came of it is to be seen on the task. */
  #isLateAnswer({ code }: LangoError): boolean {
    return this.#watch.mayBeLate === true && this.#request !== undefined && TAKES_NO_MORE.has(code);
  }

  async #abandon(): Promise<EndEvent> {
    const reason: unknown = this.#watch.signal.reason;
    if (this.#isCanceling()) await this.#cancel();
    return this.#reader.giveUp(isLangoError(reason, 'canceled') ? 'canceled' : 'failed', errorText(reason));
  }

  #isCanceling(): boolean {
    const reason: unknown = this.#watch.signal.reason;
    return isLangoError(reason) && CANCELING.has(reason.code);
  }

  async #cancel(): Promise<void> {
    const { link, scope } = this.#watch;
    if (this.#reader.taskId !== undefined) await cancelTask(link, scope, this.#reader.taskId);
  }

  readonly #onAbort = (): void => {
    const { signal } = this.#watch;
    const abort = (): void => this.#line.abort(signal.reason);
    // A task that was asked for but not named yet could not be canceled: its name is waited for.
    const isUnnamed = this.#request !== undefined && this.#reader.taskId === undefined;
    if (isUnnamed && this.#isCanceling()) this.#grace = setTimeout(abort, BRIEF_MS);
    else abort();
  };

  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#watch.signal }).catch(() => {});
  }
}

/** Whether the same may go well a little later. */
function isPassing(error: LangoError): boolean {
  return error.retryable || error.code === 'unavailable' || error.code === 'timeout';
}

function wasNeverSent(error: unknown): boolean {
  return causesOf(error).some((cause) => NEVER_SENT.has(codeOf(cause) ?? ''));
}

/** How long a peer is given for what the caller can do without. */
const BRIEF_MS = 2_000;

/** A task that was just asked for is among the newest of its context, and has said little. */
const NEWEST_TASKS = 20;
const NEWEST_MESSAGES = 50;

/** The task that began with this message, when the peer keeps a list of its tasks. Never rejects. */
export async function findAskedTask(
  link: Link,
  scope: Scope,
  { contextId, messageId }: Exclude<AskedTask, { readonly taskId: string }>,
): Promise<string | undefined> {
  const query = {
    tenant: '',
    contextId,
    status: TaskState.TASK_STATE_UNSPECIFIED,
    pageSize: NEWEST_TASKS,
    pageToken: '',
    historyLength: NEWEST_MESSAGES,
    statusTimestampAfter: undefined,
  };
  const page = await inTime((signal) =>
    link.transport.listTasks(query, requestOptions(link, { scope, signal })),
  );
  return page?.tasks.find(({ history }) => history.some((message) => message.messageId === messageId))?.id;
}

/** What `work` gives; undefined when it fails or takes too long. */
async function inTime<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
  const over = new AbortController();
  const result = await Promise.race([
    work(AbortSignal.timeout(BRIEF_MS)).catch(() => undefined),
    delay(BRIEF_MS, undefined, { signal: over.signal }).catch(() => undefined),
  ]);
  over.abort();
  return result;
}

/** Asks for the cancellation of a task: best effort, for two seconds at most. Never throws. */
async function cancelTask(link: Link, scope: Scope | undefined, taskId: string): Promise<void> {
  const request = { tenant: '', id: taskId, metadata: undefined };
  await inTime((signal) => link.transport.cancelTask(request, requestOptions(link, { scope, signal })));
}

/** The same for a task that may not be known by its id: then the peer's list tells it, if it keeps one. */
export async function cancelAsked(link: Link, scope: Scope, task: AskedTask): Promise<void> {
  const taskId = 'taskId' in task ? task.taskId : await findAskedTask(link, scope, task);
  if (taskId !== undefined) await cancelTask(link, scope, taskId);
}
