import type { AskedTask } from '../../core/agent.js';
import { LangoError, causesOf, codeOf, errorText, isLangoError, type ErrorCode } from '../../core/errors.js';
import { LONGEST_ASKED_MS } from '../../core/retry.js';
import type { Caller } from '../../core/identity.js';
import { backoffMs, pause, Timer, waitAtMost } from '../../core/time.js';
import type { Message } from '../../core/message.js';
import type { Trace } from '../../core/task.js';
import type { MessageIds } from '../translate/content.js';
import { fromWireError } from '../translate/errors.js';
import type { TaskCall } from '../translate/task-calls.js';
import type { TaskUpdate } from '../translate/updates.js';
import { CLIENT_LIMITS, type WatchLimits } from './limits.js';
import type { Link } from './link.js';
import type { ClientEvent, EndEvent, TaskReader } from './reader.js';

export interface RetryRules {
  /** The number of consecutive failures after which the watch ends. */
  readonly attempts: number;
  /** The pause after the first failure. It doubles with each failure, up to 5 s. */
  readonly firstDelayMs: number;
  /** The pause between polls of a task without new events. */
  readonly pollMs: number;
}

export const DEFAULT_RETRY: RetryRules = { attempts: 8, firstDelayMs: 200, pollMs: 1_000 };

export interface Watch {
  readonly link: Link;
  readonly reader: TaskReader;
  readonly scope: Caller | undefined;
  /** The task that delegates; undefined for a person's client. */
  readonly task?: string;
  readonly trace?: Trace | undefined;
  /** The message to send first. Without it the watch begins with the current state of the task that `reader` names. */
  readonly request?: SentMessage;
  /** Whether `request` is a reply to a question, so that a faster reply of another client is no failure. */
  readonly mayBeLate?: boolean;
  /** Without `request`: the `seq` after which to resume, instead of reading the current state first. */
  readonly after?: number;
  readonly signal: AbortSignal;
  readonly retry: RetryRules;
  /** Set for a task that only this server watches: it is canceled when the watch ends early. Default: `CLIENT_LIMITS`. */
  readonly limits?: WatchLimits;
}

export interface SentMessage extends MessageIds {
  readonly message: Message;
}

const MAX_DELAY_MS = 5_000;
/** Connections that last less count as short-lived, which makes the pauses between them longer. */
const STEADY_MS = 10_000;
/** Abort reasons that cancel the task, since no later call will ask for it. */
const CANCELING: ReadonlySet<ErrorCode> = new Set(['canceled', 'timeout', 'limit-reached']);
/** The errors with which an ended task refuses a message. Over the wire they are one code, "unsupported". */
const TASK_HAS_ENDED: ReadonlySet<ErrorCode> = new Set(['already-ended', 'not-supported']);
/** The errors of an agent that has done nothing for the request. */
const REFUSED_CONTEXT: ReadonlySet<ErrorCode> = new Set(['invalid-input', 'not-found']);
/** The failure of a response that says nothing about the request. The agent may have carried it out. */
const NO_EVENT = new LangoError('outcome-unknown', 'The agent ended its response without an event.', {
  retryable: true,
});
/** The end of the text about a request that may have been carried out, and must not be sent a second time. */
export const OUTCOME_UNKNOWN = ' The outcome of the request is unknown, so it is not sent again.';
/** Connection errors that occur before a request leaves this machine. */
const NEVER_SENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/**
 * Follows one task to its end, across dropped connections and restarts of the peer. Yields exactly one `end`, as the
 * last event, and never throws.
 */
export function watchTask(watch: Watch): AsyncGenerator<ClientEvent, void, undefined> {
  return new TaskWatch(watch).run();
}

class TaskWatch {
  readonly #watch: Watch;
  readonly #reader: TaskReader;
  /** Aborts the open request. It fires later than the caller's signal while the task's id is awaited. */
  readonly #connection = new AbortController();
  /** Aborts with the caller's reason, or when the task sends no new event for too long. */
  readonly #stop = new AbortController();
  readonly #limits: WatchLimits;
  #idle: Timer | undefined;
  #requests = 0;
  /** The number of connections in a row that ended early. */
  #shortLived = 0;
  #request: SentMessage | undefined;
  #after: number | undefined;
  #needsSnapshot: boolean;
  #canSubscribe: boolean;
  #failures = 0;
  #hasWaitedForPeer = false;
  #grace: NodeJS.Timeout | undefined;

  constructor(watch: Watch) {
    this.#watch = watch;
    this.#reader = watch.reader;
    this.#request = watch.request;
    this.#after = watch.after;
    this.#needsSnapshot = watch.request === undefined && watch.after === undefined;
    this.#canSubscribe = watch.link.streams;
    this.#limits = watch.limits ?? CLIENT_LIMITS;
  }

  async *run(): AsyncGenerator<ClientEvent, void, undefined> {
    const { signal } = this.#watch;
    if (signal.aborted) this.#onAbort();
    else signal.addEventListener('abort', this.#onAbort);
    const { idleMs } = this.#limits;
    this.#idle = new Timer(idleMs, this.#onIdle);
    try {
      while (!this.#reader.hasEnded && !this.#signal.aborted) yield* this.#round();
      if (!this.#reader.hasEnded) yield await this.#abandon();
    } catch (error) {
      if (!this.#reader.hasEnded) yield this.#reader.giveUp('failed', errorText(error));
    } finally {
      signal.removeEventListener('abort', this.#onAbort);
      clearTimeout(this.#grace);
      this.#idle.cancel();
      this.#connection.abort();
    }
  }

  /** Runs one request or subscription until it ends or breaks, and pauses after it unless the task has ended. */
  async *#round(): AsyncGenerator<ClientEvent, void, undefined> {
    let hasEvents = false;
    const begun = performance.now();
    try {
      this.#countRequest();
      for await (const update of this.#open()) {
        if (update !== undefined) this.#request = undefined;
        const events = this.#reader.read(update);
        this.#failures = 0;
        this.#watch.link.breaker?.accepted();
        hasEvents ||= events.length > 0;
        if (events.length > 0) this.#idle?.renew();
        yield* events;
        if (this.#reader.hasEnded || this.#signal.aborted) return;
      }
      const end = this.#reader.settle();
      if (end) yield end;
      else if (this.#request) throw NO_EVENT;
    } catch (error) {
      if (this.#signal.aborted) return;
      this.#noteDuration(begun);
      const failure = fromWireError(error);
      if (this.#isBetweenTokens(failure) && this.#failures === 0)
        yield { type: 'away', reason: failure.message };
      const end = await this.#afterFailure(failure);
      if (end) yield end;
      return;
    }
    if (this.#reader.hasEnded) return;
    this.#noteDuration(begun);
    const { pollMs } = this.#watch.retry;
    const pauseMs = hasEvents ? Math.min(this.#backoff(this.#shortLived), pollMs) : pollMs;
    await pause(pauseMs, { signal: this.#signal });
  }

  #countRequest(): void {
    const { requests } = this.#limits;
    if (++this.#requests > requests) {
      throw new LangoError('too-large', `The agent did not finish within ${requests} requests.`);
    }
  }

  #noteDuration(begun: number): void {
    this.#shortLived = performance.now() - begun < STEADY_MS ? this.#shortLived + 1 : 0;
  }

  /** The pause after a number of failures or short connections in a row. */
  #backoff(count: number): number {
    return backoffMs(count, { firstMs: this.#watch.retry.firstDelayMs, longestMs: MAX_DELAY_MS });
  }

  get #signal(): AbortSignal {
    return this.#stop.signal;
  }

  #open(): AsyncGenerator<TaskUpdate | undefined, void, undefined> {
    if (!this.#request) return this.#resume();
    const { message, ...ids } = this.#request;
    return this.#watch.link.tasks.send(message, ids, this.#call());
  }

  #call(after?: number): TaskCall {
    const { scope, task, trace } = this.#watch;
    return { scope, task, trace, signal: this.#connection.signal, after };
  }

  /** Yields the updates after the last one read, or the current task when the peer cannot replay events. */
  async *#resume(): AsyncGenerator<TaskUpdate | undefined, void, undefined> {
    const { tasks } = this.#watch.link;
    const after = this.#reader.cursor ?? this.#after;
    let count = 0;
    if (this.#canSubscribe && !this.#needsSnapshot) {
      try {
        for await (const update of tasks.subscribe(this.#id, this.#call(after))) {
          count += 1;
          yield update;
        }
      } catch (error) {
        // Stock servers refuse to subscribe to a task that has just ended; some refuse it for every task.
        if (count > 0 || this.#mayPass(fromWireError(error))) throw error;
        this.#canSubscribe = false;
      }
    }
    if (count > 0) return;
    this.#needsSnapshot = false;
    yield await tasks.get(this.#id, this.#call());
  }

  get #id(): string {
    return this.#reader.taskId ?? '';
  }

  /** Returns the end when a retry cannot help. Otherwise pauses and returns undefined. */
  async #afterFailure(error: LangoError): Promise<EndEvent | undefined> {
    const { retry, link } = this.#watch;
    const askedMs = error.retryAfterMs ?? 0;
    if (this.#isLateReply(error)) {
      this.#readInstead();
      return undefined;
    }
    if (this.#request && this.#isRefusedContext(error)) {
      this.#request = { ...this.#request, contextId: '' };
      return undefined;
    }
    this.#failures += 1;
    if (error.code === 'unavailable' || error.code === 'timeout') link.breaker?.failed(error.message);
    else if (error.code === 'unauthenticated') link.breaker?.refused(error.message);
    else link.breaker?.responded();
    const isRefused = error.code === 'too-many' || error.code === 'unauthenticated';
    const isSafe = !this.#request || link.replays || isRefused || wasNeverSent(error);
    const mayHelp = this.#mayPass(error) && askedMs <= LONGEST_ASKED_MS;
    const isKnown = this.#reader.taskId !== undefined;
    if (mayHelp && (isSafe || isKnown) && (this.#failures <= retry.attempts || (await this.#isBack()))) {
      // The task shows what became of a reply that must not be sent again.
      if (!isSafe) this.#readInstead();
      const pauseMs = Math.max(this.#backoff(Math.max(this.#failures, this.#shortLived)), askedMs);
      await pause(pauseMs, { signal: this.#signal });
      return undefined;
    }
    const isUnknown = !isSafe && (mayHelp || error.code === 'invalid-agent-response');
    // The task may still run, but no watcher reads its events any more.
    if (this.#isOnlyWatch || error.code === 'too-large' || error.code === 'invalid-agent-response')
      await this.#cancel();
    const state = error.code === 'limit-reached' ? 'rejected' : 'failed';
    const wait = askedMs > LONGEST_ASKED_MS ? ` It asks for a pause of ${Math.ceil(askedMs / 1_000)} s.` : '';
    return this.#reader.giveUp(state, `${error.message}${wait}${isUnknown ? OUTCOME_UNKNOWN : ''}`);
  }

  /** Waits once for a peer that may be being replaced. Resolves with whether it can be reached again. */
  async #isBack(): Promise<boolean> {
    const { breaker } = this.#watch.link;
    if (!breaker?.isOpen || this.#hasWaitedForPeer) return false;
    this.#hasWaitedForPeer = true;
    const isBack = await breaker.closes(this.#signal);
    if (isBack) this.#failures = 1;
    return isBack;
  }

  /** Reads the task that a reply is for, instead of sending the reply. */
  #readInstead(): void {
    this.#request = undefined;
    this.#needsSnapshot = true;
  }

  /** Whether this watch is the only one of the task. */
  get #isOnlyWatch(): boolean {
    return this.#watch.limits !== undefined;
  }

  #mayPass(error: LangoError): boolean {
    const isAway = error.code === 'unavailable' || error.code === 'timeout';
    return isAway || error.retryable || this.#isBetweenTokens(error);
  }

  /** Two servers that get a new token, get it one after the other: in between, the peer refuses what it accepted before. */
  #isBetweenTokens({ code }: LangoError): boolean {
    if (code !== 'unauthenticated' || !this.#isOnlyWatch) return false;
    const { mayBeLate = false, link } = this.#watch;
    return this.#request === undefined || mayBeLate || link.breaker?.hasAccepted === true;
  }

  /** Whether another client replied first. The task itself then shows the outcome. */
  #isLateReply({ code }: LangoError): boolean {
    return this.#watch.mayBeLate === true && this.#request !== undefined && TASK_HAS_ENDED.has(code);
  }

  /** Whether the agent refused the request because it knows only contexts of its own. It is then asked once without ours. */
  #isRefusedContext({ code, message }: LangoError): boolean {
    const { contextId = '', taskId = '' } = this.#request ?? {};
    const isNew = this.#isOnlyWatch && taskId === '' && contextId !== '' && this.#reader.taskId === undefined;
    return isNew && REFUSED_CONTEXT.has(code) && /context|session|conversation/i.test(message);
  }

  async #abandon(): Promise<EndEvent> {
    const reason: unknown = this.#signal.reason;
    const { authorization } = this.#reader;
    if (authorization && isLangoError(reason, 'timeout')) return authorization;
    if (this.#isCanceling()) await this.#cancel();
    return this.#reader.giveUp(isLangoError(reason, 'canceled') ? 'canceled' : 'failed', errorText(reason));
  }

  #isCanceling(): boolean {
    const reason: unknown = this.#signal.reason;
    return isLangoError(reason) && CANCELING.has(reason.code);
  }

  async #cancel(): Promise<void> {
    const { taskId } = this.#reader;
    if (taskId !== undefined) await cancelTaskOf(this.#watch.link, this.#watch.scope, { taskId });
  }

  readonly #onIdle = (): void => {
    const text = `It sent nothing new for ${this.#limits.idleMs / 1_000} s (a2a.idleSeconds).`;
    this.#stop.abort(new LangoError('timeout', text));
    this.#connection.abort(this.#signal.reason);
  };

  readonly #onAbort = (): void => {
    const { signal } = this.#watch;
    this.#stop.abort(signal.reason);
    const abort = (): void => this.#connection.abort(signal.reason);
    // A task whose id is unknown cannot be canceled, so the request stays open a moment longer for its id.
    const isUnnamed = this.#request !== undefined && this.#reader.taskId === undefined;
    if (isUnnamed && this.#isCanceling()) this.#grace = setTimeout(abort, BEST_EFFORT_MS);
    else abort();
  };
}

function wasNeverSent(error: unknown): boolean {
  return causesOf(error).some((cause) => NEVER_SENT.has(codeOf(cause) ?? ''));
}

/** The time limit of calls that are best effort. */
const BEST_EFFORT_MS = 2_000;

/** Finds the id of the task that began with this message, if the peer lists its tasks. Never rejects. */
export function findTaskByMessage(
  { tasks }: Link,
  scope: Caller | undefined,
  { contextId, messageId: id }: Exclude<AskedTask, { readonly taskId: string }>,
): Promise<string | undefined> {
  return withinTimeLimit((signal) => tasks.find({ contextId, id }, { scope, signal }));
}

/** Resolves with the result of `work`; with undefined when it fails or takes too long. */
function withinTimeLimit<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
  const result = work(AbortSignal.timeout(BEST_EFFORT_MS)).catch(() => undefined);
  return waitAtMost(BEST_EFFORT_MS, result);
}

/** Cancels a task that is known by its id or by the message that began it. Best effort, for seconds. Never rejects. */
export async function cancelTaskOf(link: Link, scope: Caller | undefined, task: AskedTask): Promise<void> {
  const taskId = 'taskId' in task ? task.taskId : await findTaskByMessage(link, scope, task);
  if (taskId !== undefined) await withinTimeLimit((signal) => link.tasks.cancel(taskId, { scope, signal }));
}
