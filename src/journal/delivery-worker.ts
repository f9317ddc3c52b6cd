import { errorText, isLangoError } from '../core/errors.js';
import { newId } from '../core/ids.js';
import type { Logger } from '../core/logger.js';
import type { PushSender, PushDelivery } from '../core/push.js';
import type { PushOutcome, PushStore } from '../stores/pushes.js';
import type { TaskStore } from '../stores/tasks.js';
import { isTerminal, type TaskEvent } from '../core/task.js';
import { backoffMs } from '../core/time.js';
import { DeliveryQueue, nextDelivery, type NextDelivery, type QueuedConfig } from './delivery-queue.js';

/** Limits of deliveries. Times are in milliseconds. */
interface DeliveryLimits {
  /** Attempts per delivery. The config is given up after the last one fails. */
  readonly tries: number;
  /** The pause after the first failed attempt. It doubles with each failure, up to `maxRetryMs`. */
  readonly retryMs: number;
  readonly maxRetryMs: number;
  /** The time that text waits for more text before it is sent. */
  readonly textMs: number;
  /** Deliveries at once, in all and to one host. */
  readonly concurrent: number;
  readonly perHost: number;
}

interface DeliveryWorkerOptions {
  readonly pushes: PushStore;
  readonly tasks: Pick<TaskStore, 'read' | 'onAppend'>;
  readonly sender: PushSender;
  readonly limits: DeliveryLimits;
  readonly logger: Logger;
}

const PAGE = 256;
/** Interval of the fallback poll, which finds the configs that another process left behind. */
const POLL_MS = 10_000;
/** Interval at which configs that were given up long ago are forgotten. */
const PURGE_MS = 60 * 60 * 1_000;
/** The longest pause that a receiver may ask for (Retry-After). */
const LONGEST_PAUSE_MS = 60 * 60 * 1_000;
const JITTER = 0.2;

/**
 * Sends push notifications. It reads the journal like any other follower, so tasks never wait for a delivery. The push
 * configs are an outbox: the worker claims one, sends its events in order, repeats a failed delivery unchanged with
 * backoff, and records in the log when it gives a config up.
 */
export class DeliveryWorker {
  readonly #options: DeliveryWorkerOptions;
  /** Names this process in claims. */
  readonly #worker = newId();
  readonly #queue: DeliveryQueue;
  /** The configs of each task, by their keys. */
  readonly #configs = new Map<string, Map<string, QueuedConfig>>();
  /** Configs that wait for a point in time. `isForText`: only to gather more text. */
  readonly #timers = new Map<QueuedConfig, { readonly timer: NodeJS.Timeout; readonly isForText: boolean }>();
  readonly #working = new Set<Promise<void>>();
  readonly #stopping = new AbortController();

  constructor(options: DeliveryWorkerOptions) {
    this.#options = options;
    this.#queue = new DeliveryQueue(options.limits.concurrent, options.limits.perHost);
  }

  /** Continues where the last process stopped. */
  async start(): Promise<void> {
    const { tasks, pushes } = this.#options;
    const unsubscribe = tasks.onAppend((taskId) => this.#onAppend(taskId));
    pushes.onFreed(() => void this.#loadActive());
    const poll = setInterval(() => void this.#loadActive(), POLL_MS).unref();
    const purge = setInterval(() => void this.#forgetOld(), PURGE_MS).unref();
    this.#stopping.signal.addEventListener('abort', () => {
      unsubscribe();
      clearInterval(poll);
      clearInterval(purge);
    });
    await this.#loadActive();
  }

  /** Aborts the attempts under way without counting them. Never rejects. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const { timer } of this.#timers.values()) clearTimeout(timer);
    await Promise.all(this.#working);
    await this.#options.pushes
      .release(this.#worker)
      .catch((error: unknown) => this.#warn('could not release push deliveries', error));
  }

  /** To be called when a task got a new config. */
  async wake(taskId: string): Promise<void> {
    for (const work of await this.#options.pushes.listActiveOf(taskId)) this.#admit(work);
  }

  async #loadActive(): Promise<void> {
    try {
      for (let after = ''; ;) {
        const page = await this.#options.pushes.listActive(after, PAGE);
        for (const work of page) this.#admit(work);
        if (page.length < PAGE) return;
        after = page.at(-1)!.key;
      }
    } catch (error) {
      this.#warn('the push configs could not be read', error);
    }
  }

  async #forgetOld(): Promise<void> {
    await this.#options.pushes
      .purge()
      .catch((error: unknown) => this.#warn('old push configs could not be removed', error));
  }

  #admit(work: PushDelivery): void {
    const { key, taskId } = work;
    const ofTask = this.#configs.get(taskId) ?? new Map<string, QueuedConfig>();
    if (ofTask.has(key)) return;
    const config = { key, taskId, host: URL.parse(work.url)?.host ?? '' };
    this.#configs.set(taskId, ofTask.set(key, config));
    this.#schedule(config, work.nextAt);
  }

  #onAppend(taskId: string): void {
    const configs = this.#configs.get(taskId);
    if (!configs) return;
    for (const config of configs.values()) {
      // New events do not end the pause after a failure.
      const waiting = this.#timers.get(config);
      if (waiting?.isForText === false) continue;
      clearTimeout(waiting?.timer);
      this.#timers.delete(config);
      this.#queue.add(config);
    }
    this.#fill();
  }

  #schedule(config: QueuedConfig, at: number, isForText = false): void {
    if (this.#stopping.signal.aborted) return;
    const wait = at - Date.now();
    if (wait <= 0) this.#queue.add(config);
    else if (!isForText || !this.#queue.isReady(config)) {
      // An event that arrived meanwhile ends the wait for more text, but not the pause after a failure.
      this.#queue.remove(config);
      const timer = setTimeout(() => {
        this.#timers.delete(config);
        this.#queue.add(config);
        this.#fill();
      }, wait).unref();
      this.#timers.set(config, { timer, isForText });
    }
    this.#fill();
  }

  #fill(): void {
    if (this.#stopping.signal.aborted) return;
    for (let config = this.#queue.take(); config; config = this.#queue.take()) {
      const mine = config;
      const work = this.#deliver(mine)
        .catch((error: unknown): Next => {
          this.#warn('a push delivery failed before it was sent', error);
          return { at: Date.now() + this.#options.limits.maxRetryMs };
        })
        .then((next) => {
          this.#working.delete(work);
          this.#queue.done(mine);
          if (next === 'gone') this.#forget(mine);
          else if (next !== 'idle') this.#schedule(mine, next.at, next.isForText);
          this.#fill();
        });
      this.#working.add(work);
    }
  }

  /** Makes one attempt at the next delivery of a config. */
  async #deliver(config: QueuedConfig): Promise<Next> {
    const { pushes, limits } = this.#options;
    const work = await pushes.getActive(config.key);
    if (!work) return 'gone';
    const next = await this.#next(work);
    if (!next) return 'idle';
    if (work.upTo === 0 && next.mayGrow && next.since + limits.textMs > Date.now())
      return { at: next.since + limits.textMs, isForText: true };
    const { event } = next;
    if (!(await pushes.claim(work, event.seq, this.#worker))) return { at: Date.now() + limits.retryMs };
    const outcome = await this.#attempt(work, event);
    if (!outcome) return 'idle';
    await pushes.settle(work.key, this.#worker, outcome);
    if (outcome.kind === 'failed') return { at: outcome.nextAt };
    return outcome.kind === 'delivered' ? { at: 0 } : 'gone';
  }

  /** Undefined when the journal holds nothing more to send yet. */
  async #next(work: PushDelivery): Promise<NextDelivery | undefined> {
    const { tasks, sender } = this.#options;
    if (work.upTo === work.cursor) {
      const [event] = await tasks.read(work.taskId, work.cursor - 1, 1);
      return event && { event, since: event.at, mayGrow: false };
    }
    // Whether an event is shown depends on the one before it.
    for (let after = Math.max(0, work.cursor - 1); ;) {
      const events = await tasks.read(work.taskId, after, PAGE);
      const begun = work.upTo === 0 ? events : events.filter(({ seq }) => seq <= work.upTo);
      const next = nextDelivery(sender.shown(work, begun).filter(({ seq }) => seq > work.cursor));
      if (next || events.length < PAGE) return next;
      after = events.at(-1)!.seq - 1;
    }
  }

  /** Undefined when the server is stopping: the next start repeats the attempt. */
  async #attempt(work: PushDelivery, event: TaskEvent): Promise<PushOutcome | undefined> {
    const { sender, logger } = this.#options;
    const { signal } = this.#stopping;
    try {
      await sender.send(work, event, signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      const outcome = this.#failure(work, error);
      const fields = { task: work.taskId, host: URL.parse(work.url)?.host, attempt: work.attempts + 1 };
      if (outcome.kind === 'given-up') logger.warn('push notifications given up', { ...fields, ...outcome });
      else logger.info('a push notification failed', { ...fields, ...outcome });
      return outcome;
    }
    return endsTask(event) ? { kind: 'ended' } : { kind: 'delivered', cursor: event.seq };
  }

  #failure(work: PushDelivery, error: unknown): Extract<PushOutcome, { readonly reason: string }> {
    const { limits } = this.#options;
    const reason = errorText(error);
    const isFinal = isLangoError(error) && !error.retryable;
    if (isFinal || work.attempts + 1 >= limits.tries) return { kind: 'given-up', reason };
    const asked = isLangoError(error) ? (error.retryAfterMs ?? 0) : 0;
    const backoff = backoffMs(work.attempts + 1, { firstMs: limits.retryMs, longestMs: limits.maxRetryMs });
    const pause = Math.max(backoff * (1 + JITTER * Math.random()), Math.min(asked, LONGEST_PAUSE_MS));
    return { kind: 'failed', nextAt: Date.now() + Math.round(pause), reason };
  }

  #forget(config: QueuedConfig): void {
    this.#queue.remove(config);
    const ofTask = this.#configs.get(config.taskId);
    ofTask?.delete(config.key);
    if (ofTask?.size === 0) this.#configs.delete(config.taskId);
  }

  #warn(message: string, error: unknown): void {
    this.#options.logger.warn(message, { error: errorText(error) });
  }
}

/** The step after an attempt: wait for the next append, forget the config, or try again at a time. */
type Next = 'idle' | 'gone' | { readonly at: number; readonly isForText?: boolean };

/** Whether nothing follows for the receiver: the task has ended, or an executor replied with a message in place of it. */
function endsTask({ body }: TaskEvent): boolean {
  const isReply = body.type === 'artifact' && body.reply !== undefined;
  return isReply || (body.type === 'run-end' && isTerminal(body.state));
}
