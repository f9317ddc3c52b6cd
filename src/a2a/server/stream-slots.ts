import { LangoError } from '../../core/errors.js';
import type { Scope } from '../../core/task.js';

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
  readonly #openOf = new Map<string, number>();
  #open = 0;

  constructor(limits: SlotLimits) {
    this.#limits = limits;
  }

  get open(): number {
    return this.#open;
  }

  /** Holds a slot while the work lasts. Rejects with `too-many` when none is free. */
  async hold<T>({ tenant, owner }: Scope, work: () => Promise<T>): Promise<T> {
    const caller = `${tenant}\n${owner}`;
    this.#acquire(caller);
    try {
      return await work();
    } finally {
      this.#release(caller);
    }
  }

  #acquire(caller: string): void {
    const own = this.#openOf.get(caller) ?? 0;
    if (this.#open >= this.#limits.streams)
      throw tooMany('This server has reached its limit of open streams.', 'streams');
    if (own >= this.#limits.streamsPerCaller)
      throw tooMany('This caller has reached its limit of open streams.', 'streamsPerCaller');
    this.#open += 1;
    this.#openOf.set(caller, own + 1);
  }

  #release(caller: string): void {
    this.#open -= 1;
    const left = (this.#openOf.get(caller) ?? 1) - 1;
    if (left === 0) this.#openOf.delete(caller);
    else this.#openOf.set(caller, left);
  }
}

function tooMany(message: string, limit: keyof SlotLimits): LangoError {
  return new LangoError('too-many', message, {
    hint: `Close a stream, or raise server.limits.${limit} on the server.`,
    retryable: true,
    retryAfterMs: RETRY_AFTER_MS,
  });
}
