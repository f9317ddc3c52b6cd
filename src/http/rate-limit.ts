import { LangoError } from '../core/errors.js';

export interface Rate {
  readonly perSecond: number;
  /** What may come at once after a pause. */
  readonly burst: number;
}

/** More are forgotten, the oldest first: a bucket that is gone counts as full. */
const MAX_BUCKETS = 10_000;

interface Bucket {
  tokens: number;
  at: number;
}

/** A bucket of tokens for each key, filled at a steady rate. Memory is bounded. */
export class RateLimit {
  readonly #rate: Rate;
  readonly #name: string;
  readonly #buckets = new Map<string, Bucket>();

  /** `name` tells clients which limit it was. */
  constructor(name: string, rate: Rate) {
    this.#name = name;
    this.#rate = rate;
  }

  /** Takes one token. Throws `too-many` with the time after which there is one again. */
  take(key: string): void {
    const now = performance.now();
    const { perSecond, burst } = this.#rate;
    const bucket = this.#buckets.get(key) ?? this.#add(key, now);
    bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) * perSecond) / 1_000);
    bucket.at = now;
    if (bucket.tokens < 1) throw this.#tooMany(((1 - bucket.tokens) / perSecond) * 1_000);
    bucket.tokens -= 1;
  }

  #add(key: string, now: number): Bucket {
    if (this.#buckets.size >= MAX_BUCKETS) {
      const oldest = this.#buckets.keys().next();
      if (oldest.done !== true) this.#buckets.delete(oldest.value);
    }
    const bucket = { tokens: this.#rate.burst, at: now };
    this.#buckets.set(key, bucket);
    return bucket;
  }

  #tooMany(retryAfterMs: number): LangoError {
    const { perSecond, burst } = this.#rate;
    const seconds = Math.max(1, Math.ceil(retryAfterMs / 1_000));
    const window = Math.max(1, Math.ceil(burst / perSecond));
    return new LangoError('too-many', 'Too many requests.', {
      hint: `At most ${perSecond} a second are taken.`,
      retryable: true,
      retryAfterMs,
      headers: {
        'RateLimit-Policy': `"${this.#name}";q=${burst};w=${window}`,
        RateLimit: `"${this.#name}";r=0;t=${seconds}`,
      },
    });
  }
}
