import { BoundedCache } from '../core/bounded-cache.js';
import { LangoError } from '../core/errors.js';
import { pause } from '../core/time.js';

export interface Rate {
  readonly perSecond: number;
  readonly burst: number; // Requests that are accepted at once after a pause.
}

/** Beyond this number, the oldest bucket is dropped to limit memory; its key starts with a full bucket again. */
const MAX_BUCKETS = 10_000;

/** A token bucket for each key, filled at a steady rate. */
export class RateLimit {
  readonly #rate: Rate;
  readonly #name: string;
  readonly #buckets = new BoundedCache<string, { tokens: number; at: number }>(MAX_BUCKETS);

  /** `name` tells clients which limit refused them. */
  constructor(name: string, rate: Rate) {
    this.#name = name;
    this.#rate = rate;
  }

  /** Takes one token. Throws `too-many` with the time until the next one. */
  take(key: string): void {
    const now = performance.now();
    const { perSecond, burst } = this.#rate;
    let bucket = this.#buckets.get(key);
    if (!bucket) this.#buckets.set(key, (bucket = { tokens: burst, at: now }));
    bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) * perSecond) / 1_000);
    bucket.at = now;
    if (bucket.tokens < 1) throw this.#tooMany(((1 - bucket.tokens) / perSecond) * 1_000);
    bucket.tokens -= 1;
  }

  #tooMany(retryAfterMs: number): LangoError {
    const { perSecond, burst } = this.#rate;
    const seconds = Math.max(1, Math.ceil(retryAfterMs / 1_000));
    const window = Math.max(1, Math.ceil(burst / perSecond));
    return new LangoError('too-many', 'Too many requests.', {
      hint: `At most ${perSecond} requests a second are accepted. Wait, then try again.`,
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
const MAX_ADDRESSES = 10_000;
/** The delay of each attempt from a slowed address before its credentials are checked. */
const SLOWED_MS = 2_000;
/** Maximum waiting attempts of one slowed address. Together with `SLOWED_MS` it limits how fast the address can guess. */
const SLOWED_AT_ONCE = 32;

/**
 * Counts the failed authentications of each address, in windows of one minute. An address with many failures is slowed
 * down until its window ends. It is never blocked, because other clients may share it.
 */
export class FailureCounter {
  readonly #windows = new BoundedCache<string, { readonly since: number; failures: number; waiting: number }>(
    MAX_ADDRESSES,
  );

  /** The milliseconds for which the address stays slowed; undefined when it is not slowed. */
  slowedFor(address: string): number | undefined {
    if (this.#windows.size === 0) return undefined;
    const window = this.#windows.get(address);
    if (!window) return undefined;
    const left = window.since + WINDOW_MS - Date.now();
    if (left > 0) return window.failures >= FAILURES_PER_WINDOW ? left : undefined;
    this.#windows.take(address);
    return undefined;
  }

  /** Delays one attempt of a slowed address. Rejects with `too-many` when too many attempts wait. */
  async waitSlowed(address: string): Promise<void> {
    const window = this.#windows.get(address);
    if (!window) return;
    if (window.waiting >= SLOWED_AT_ONCE) throw tooManyFailures(SLOWED_MS);
    window.waiting += 1;
    await pause(SLOWED_MS);
    window.waiting -= 1;
  }

  add(address: string): void {
    const window = this.#windows.get(address);
    if (window) window.failures += 1;
    else this.#windows.set(address, { since: Date.now(), failures: 1, waiting: 0 });
  }
}

export function tooManyFailures(retryAfterMs: number): LangoError {
  return new LangoError('too-many', 'Too many failed authentications.', { retryable: true, retryAfterMs });
}

/** Returns an IPv4 address, or the /64 network of an IPv6 address, because one host may use all addresses of its network. */
export function networkOf(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address;
  const [head = '', tail] = address.split('%', 1)[0]!.split('::');
  const groups = head.split(':').filter((group) => group !== '');
  if (tail === undefined) return groups.slice(0, 4).join(':');
  const rest = tail.split(':').filter((group) => group !== '');
  const zeros = Array<string>(Math.max(0, 8 - groups.length - rest.length)).fill('0');
  return [...groups, ...zeros, ...rest].slice(0, 4).join(':');
}
