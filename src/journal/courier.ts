import { errorText, isLangoError } from '../core/errors.js';
import { newId } from '../core/ids.js';
import type { Logger } from '../core/logger.js';
import type { PushOutcome, PushSender, PushStore, PushWork } from '../core/push.js';
import type { TaskStore } from '../core/store.js';
import type { TaskEvent } from '../core/task.js';
import { isTerminal } from '../core/task.js';
import type { NextDelivery } from './push-delivery.js';
import { nextDelivery } from './push-delivery.js';
import type { PushEntry } from './push-queue.js';
import { PushQueue } from './push-queue.js';

/** What bounds deliveries; times in milliseconds. */
interface PushRules {
  /** Attempts of one delivery; after the last the config is given up. */
  readonly tries: number;
  /** The pause after the first failed attempt; each later one is twice as long, up to `maxRetryMs`. */
  readonly retryMs: number;
  readonly maxRetryMs: number;
  /** Text may wait so long for more of it. */
  readonly textMs: number;
  /** Attempts at the same time: of all, and to one host. */
  readonly concurrent: number;
  readonly perHost: number;
}

export interface CourierOptions {
  readonly pushes: PushStore;
  readonly tasks: Pick<TaskStore, 'read' | 'onAppend'>;
  readonly sender: PushSender;
  readonly rules: PushRules;
  readonly logger: Logger;
}

/** Brings news of tasks to who asked for them: a reader of the log that the tasks never wait for. */
export interface Courier {
  /** Goes on where the last process stopped. */
  start(): Promise<void>;
  /** Gives up attempts that are under way, uncounted. Never rejects. */
  stop(): Promise<void>;
  /** There is a new config for this task. */
  wake(taskId: string): Promise<void>;
}

const PAGE = 256;
/** Without a hint it looks so often whether another process left something behind. */
const POLL_MS = 30_000;
/** A receiver may ask for a longer pause than ours, but not for any. */
const LONGEST_PAUSE_MS = 60 * 60 * 1_000;
const JITTER = 0.2;

export function createCourier(options: CourierOptions): Courier {
  return new JournalCourier(options);
}

class JournalCourier implements Courier {
  readonly #options: CourierOptions;
  readonly #worker = newId();
  readonly #queue: PushQueue;
  readonly #entries = new Map<string, PushEntry>();
  readonly #ofTask = new Map<string, Set<PushEntry>>();
  /** Those that wait for their time; with `isHeld` only for more text. */
  readonly #timers = new Map<PushEntry, { readonly timer: NodeJS.Timeout; readonly isHeld: boolean }>();
  readonly #working = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  #poll: NodeJS.Timeout | undefined;
  #unsubscribe: (() => void) | undefined;

  constructor(options: CourierOptions) {
    this.#options = options;
    this.#queue = new PushQueue(options.rules.concurrent, options.rules.perHost);
  }

  async start(): Promise<void> {
    this.#unsubscribe = this.#options.tasks.onAppend((taskId) => this.#hint(taskId));
    this.#poll = setInterval(() => void this.#look(), POLL_MS).unref();
    await this.#look();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#unsubscribe?.();
    clearInterval(this.#poll);
    for (const { timer } of this.#timers.values()) clearTimeout(timer);
    await Promise.all(this.#working);
    await this.#options.pushes
      .release(this.#worker)
      .catch((error: unknown) => this.#warn('could not release push deliveries', error));
  }

  async wake(taskId: string): Promise<void> {
    for (const work of await this.#options.pushes.listActiveOf(taskId)) this.#admit(work);
  }

  async #look(): Promise<void> {
    try {
      for (let after = ''; ;) {
        const page = await this.#options.pushes.listActive(after, PAGE);
        for (const work of page) this.#admit(work);
        if (page.length < PAGE) return;
        after = page.at(-1)!.key;
      }
    } catch (error) {
      this.#warn('could not look for push deliveries', error);
    }
  }

  #admit(work: PushWork): void {
    if (this.#entries.has(work.key)) return;
    const entry = { key: work.key, taskId: work.taskId, host: URL.parse(work.url)?.host ?? '' };
    this.#entries.set(entry.key, entry);
    const others = this.#ofTask.get(entry.taskId);
    if (others) others.add(entry);
    else this.#ofTask.set(entry.taskId, new Set([entry]));
    this.#schedule(entry, work.nextAt);
  }

  #hint(taskId: string): void {
    const entries = this.#ofTask.get(taskId);
    if (!entries) return;
    for (const entry of entries) {
      // One that failed goes on waiting.
      const waiting = this.#timers.get(entry);
      if (waiting?.isHeld === false) continue;
      clearTimeout(waiting?.timer);
      this.#timers.delete(entry);
      this.#queue.add(entry);
    }
    this.#fill();
  }

  #schedule(entry: PushEntry, at: number, isHeld = false): void {
    if (this.#stopping.signal.aborted) return;
    const wait = at - Date.now();
    if (wait <= 0) this.#queue.add(entry);
    else if (!isHeld || !this.#queue.isReady(entry)) {
      // News that came meanwhile end the wait for more text, but not that after a failure.
      this.#queue.remove(entry);
      const timer = setTimeout(() => {
        this.#timers.delete(entry);
        this.#queue.add(entry);
        this.#fill();
      }, wait).unref();
      this.#timers.set(entry, { timer, isHeld });
    }
    this.#fill();
  }

  #fill(): void {
    if (this.#stopping.signal.aborted) return;
    for (let entry = this.#queue.take(); entry; entry = this.#queue.take()) {
      const mine = entry;
      const work = this.#deliver(mine)
        .catch((error: unknown): Next => {
          this.#warn('a push delivery could not be made', error);
          return { at: Date.now() + this.#options.rules.maxRetryMs };
        })
        .then((next) => {
          this.#working.delete(work);
          this.#queue.done(mine);
          if (next === 'gone') this.#forget(mine);
          else if (next !== 'idle') this.#schedule(mine, next.at, next.isHeld);
          this.#fill();
        });
      this.#working.add(work);
    }
  }

  /** One attempt of one delivery. */
  async #deliver(entry: PushEntry): Promise<Next> {
    const { pushes, rules } = this.#options;
    const work = await pushes.getActive(entry.key);
    if (!work) return 'gone';
    const next = await this.#next(work);
    if (!next) return 'idle';
    if (work.upTo === 0 && next.mayGrow && next.since + rules.textMs > Date.now()) {
      return { at: next.since + rules.textMs, isHeld: true };
    }
    const { event } = next;
    if (!(await pushes.claim(work, event.seq, this.#worker))) return { at: Date.now() + rules.retryMs };
    const outcome = await this.#attempt(work, event);
    if (!outcome) return 'idle';
    await pushes.settle(work.key, this.#worker, outcome);
    switch (outcome.kind) {
      case 'delivered':
        return { at: 0 };
      case 'failed':
        return { at: outcome.nextAt };
      default:
        return 'gone';
    }
  }

  /** Undefined when the log holds nothing more to tell, yet. */
  async #next(work: PushWork): Promise<NextDelivery | undefined> {
    const { tasks, sender } = this.#options;
    for (let after = work.cursor; ;) {
      const events = await tasks.read(work.taskId, after, PAGE);
      const begun = work.upTo === 0 ? events : events.filter(({ seq }) => seq <= work.upTo);
      const next = nextDelivery(begun, (event) => sender.shows(event));
      if (next || events.length < PAGE) return next;
      after = events.at(-1)!.seq;
    }
  }

  /** Undefined when the server is stopping: the next start makes the attempt again. */
  async #attempt(work: PushWork, event: TaskEvent): Promise<PushOutcome | undefined> {
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

  #failure(work: PushWork, error: unknown): Extract<PushOutcome, { readonly reason: string }> {
    const { rules } = this.#options;
    const reason = errorText(error);
    const isFinal = isLangoError(error) && !error.retryable;
    if (isFinal || work.attempts + 1 >= rules.tries) return { kind: 'given-up', reason };
    const asked = isLangoError(error) ? (error.retryAfterMs ?? 0) : 0;
    const backoff = Math.min(rules.retryMs * 2 ** work.attempts, rules.maxRetryMs);
    const pause = Math.max(backoff * (1 + JITTER * Math.random()), Math.min(asked, LONGEST_PAUSE_MS));
    return { kind: 'failed', nextAt: Date.now() + Math.round(pause), reason };
  }

  #forget(entry: PushEntry): void {
    this.#queue.remove(entry);
    this.#entries.delete(entry.key);
    const others = this.#ofTask.get(entry.taskId);
    others?.delete(entry);
    if (others?.size === 0) this.#ofTask.delete(entry.taskId);
  }

  #warn(message: string, error: unknown): void {
    this.#options.logger.warn(message, { error: errorText(error) });
  }
}

/** What comes after an attempt: nothing before a hint, nothing ever, or another one at a time. */
type Next = 'idle' | 'gone' | { readonly at: number; readonly isHeld?: boolean };

function endsTask({ body }: TaskEvent): boolean {
  return body.type === 'run-end' && isTerminal(body.state);
}
