import { LangoError } from '../../core/errors.js';
import type { Scope } from '../../core/task.js';
import type { StreamLimits } from './stream-limits.js';

const RETRY_AFTER_MS = 1_000;

type PlaceLimits = Pick<StreamLimits, 'streams' | 'streamsPerCaller'>;

/** How many streams a node, and each caller of it, has open at the same time, over all transports. */
export class StreamPlaces {
  readonly #limits: PlaceLimits;
  readonly #openOf = new Map<string, number>();
  #open = 0;

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
  }

  /** Does the work in a free place. Rejects with `too-many` when there is none. */
  async hold<T>({ tenant, owner }: Scope, work: () => Promise<T>): Promise<T> {
    const caller = `${tenant}\n${owner}`;
    this.#take(caller);
    try {
      return await work();
    } finally {
      this.#giveBack(caller);
    }
  }

  #take(caller: string): void {
    const own = this.#openOf.get(caller) ?? 0;
    if (this.#open >= this.#limits.streams) throw tooMany('this server has as many open streams as it takes');
    if (own >= this.#limits.streamsPerCaller) throw tooMany('one caller may not have more open streams');
    this.#open += 1;
    this.#openOf.set(caller, own + 1);
  }

  #giveBack(caller: string): void {
    this.#open -= 1;
    const left = (this.#openOf.get(caller) ?? 1) - 1;
    if (left === 0) this.#openOf.delete(caller);
    else this.#openOf.set(caller, left);
  }
}

function tooMany(message: string): LangoError {
  return new LangoError('too-many', message, { retryable: true, retryAfterMs: RETRY_AFTER_MS });
}
