import { LangoError } from '../core/errors.js';

export interface Rate {
  readonly perSecond: number;
  /** Requests that are taken at once after a pause. */
  readonly burst: number;
}

/** Memory is bounded: beyond this the oldest bucket is dropped, which counts as full again. */
const MAX_BUCKETS = 10_000;

interface Bucket {
  tokens: number;
  at: number;
}

/** A token bucket for each key, filled at a steady rate. */
export class RateLimit {
  readonly #rate: Rate;
  readonly #name: string;
  readonly #buckets = new Map<string, Bucket>();

  /** `name` tells clients which limit refused them. */
  constructor(name: string, rate: Rate) {
    this.#name = name;
    this.#rate = rate;
  }

  /** Takes one token. Throws `too-many` with the time until the next one. */
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
    dropOldest(this.#buckets, MAX_BUCKETS);
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

const WINDOW_MS = 60_000;
const FAILURES_PER_WINDOW = 20;
const MAX_ADDRESSES = 1_000;

/** Counts failed authentications of each address, in windows of one minute. */
export class FailureCounter {
  readonly #windows = new Map<string, { readonly since: number; count: number }>();

  /** How long the address must wait, in milliseconds; undefined when it may try again. */
  waitOf(address: string): number | undefined {
    const window = this.#windows.get(address);
    if (!window) return undefined;
    const age = Date.now() - window.since;
    if (age < WINDOW_MS) return window.count >= FAILURES_PER_WINDOW ? WINDOW_MS - age : undefined;
    this.#windows.delete(address);
    return undefined;
  }

  add(address: string): void {
    const window = this.#windows.get(address);
    if (window) {
      window.count += 1;
      return;
    }
    dropOldest(this.#windows, MAX_ADDRESSES);
    this.#windows.set(address, { since: Date.now(), count: 1 });
  }
}

/** Makes room for one more entry in a map of at most `max`. */
function dropOldest(map: Map<string, unknown>, max: number): void {
  if (map.size < max) return;
  const oldest = map.keys().next();
  if (oldest.done !== true) map.delete(oldest.value);
}
