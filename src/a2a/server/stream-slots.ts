import { LangoError } from '../../core/errors.js';
import { scopeKey, type Scope } from '../../core/task.js';

export interface StreamLimits {
  /** Open streams of all agents of the node. */
  readonly streams: number;
  /** Open streams of one caller. */
  readonly streamsPerCaller: number;
  /** The most bytes that one stream may buffer for a slow reader. */
  readonly streamBufferBytes: number;
  /** Seconds between the heartbeats of an idle stream, so that no proxy closes it. */
  readonly heartbeatSeconds: number;
}

const RETRY_AFTER_MS = 1_000;
const STALLED_HEARTBEATS = 2;

/** The time in milliseconds after which a stream is cut when its reader has taken nothing from the buffer. */
export function stallMs({ heartbeatSeconds }: Pick<StreamLimits, 'heartbeatSeconds'>): number {
  return heartbeatSeconds * 1_000 * STALLED_HEARTBEATS;
}

type SlotLimits = Pick<StreamLimits, 'streams' | 'streamsPerCaller'>;

/** A semaphore for open streams of all transports, with one limit for the node and one for each caller. */
export class StreamSlots {
  readonly #limits: SlotLimits;
  readonly #openOf = new CountByKey();
  #open = 0;

  constructor(limits: SlotLimits) {
    this.#limits = limits;
  }

  get open(): number {
    return this.#open;
  }

  /** Holds a slot while the work lasts. Rejects with `too-many` when none is free. */
  async hold<T>(scope: Scope, work: () => Promise<T>): Promise<T> {
    using _ = this.take(scope);
    return await work();
  }

  /** Takes a slot until the disposal. Throws `too-many` when none is free. */
  take(scope: Scope): Disposable {
    const caller = scopeKey(scope);
    if (this.#open >= this.#limits.streams)
      throw tooMany('This server has reached its limit of open streams.', 'streams');
    if (this.#openOf.get(caller) >= this.#limits.streamsPerCaller)
      throw tooMany('This caller has reached its limit of open streams.', 'streamsPerCaller');
    this.count(caller, 1);
    return new Slot(this, caller);
  }

  count(caller: string, change: number): void {
    this.#open += change;
    this.#openOf.add(caller, change);
  }
}

class Slot implements Disposable {
  readonly #slots: StreamSlots;
  readonly #caller: string;

  constructor(slots: StreamSlots, caller: string) {
    this.#slots = slots;
    this.#caller = caller;
  }

  [Symbol.dispose](): void {
    this.#slots.count(this.#caller, -1);
  }
}

/** A number for each key. Keys whose number is 0 take no memory. */
export class CountByKey {
  readonly #counts = new Map<string, number>();

  get(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  add(key: string, change: number): void {
    const count = this.get(key) + change;
    if (count === 0) this.#counts.delete(key);
    else this.#counts.set(key, count);
  }
}

function tooMany(message: string, limit: keyof SlotLimits): LangoError {
  return new LangoError('too-many', message, {
    hint: `Close a stream, or raise server.limits.${limit} on the server.`,
    retryable: true,
    retryAfterMs: RETRY_AFTER_MS,
  });
}
