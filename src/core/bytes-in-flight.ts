import { LangoError } from './errors.js';
import { Timer } from './time.js';

/** An answer whose size is not known yet counts as this part of all bytes. */
const ANSWER_PART = 16;
/** The least and the most that a waiting request takes: Node has read the beginning of its body. */
const LEAST_WAITING_BYTES = 8 * 1024;
const MOST_WAITING_BYTES = 128 * 1024;
const LONGEST_WAIT_MS = 10_000;
const RETRY_AFTER_MS = 2_000;

interface Waiter {
  readonly bytes: number;
  readonly begin: () => void;
}

interface Wait {
  readonly bytes: number;
  /** The bytes that have not arrived yet, of which the waiting request takes a part. */
  readonly coming: number;
  /** Called once: without an error when the bytes are counted. */
  readonly onEnd: (error?: LangoError) => void;
}

interface Account {
  readonly key: string;
  bytes: number;
  /** The bytes that the waiting requests take. */
  waitingBytes: number;
  /** The requests that wait, the oldest first. */
  readonly waiting: Set<Waiter>;
}

/**
 * Limits the bytes of all requests and responses that the server holds at once. A caller may hold as much as is left free
 * for the others: half of all when alone, a third beside another such caller. What does not fit waits, and the callers take turns.
 */
export class BytesInFlight {
  readonly #limit: number;
  readonly #accounts = new Map<string, Account>();
  /** The accounts with waiting requests, in the order of their turns. */
  readonly #queue = new Set<Account>();
  #bytes = 0;
  #waitingBytes = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The most that a body counts before it is there, so that a larger one, or one of unknown length, leaves room for others. */
  get largestBody(): number {
    return Math.floor(this.#limit / 2);
  }

  /** The bytes that an answer counts until its size is known. */
  get unknownAnswer(): number {
    return Math.floor(this.#limit / ANSWER_PART);
  }

  /** Counts `bytes`, if there is room and none of the caller's requests waits. */
  tryAdd(key: string, bytes: number): boolean {
    const account = this.#accounts.get(key);
    if (account?.waiting.size || !this.#fits(account?.bytes ?? 0, bytes)) return false;
    this.add(key, bytes);
    return true;
  }

  /** Counts `bytes`, which may be negative, in any case. */
  add(key: string, bytes: number): void {
    const account = this.#accountOf(key);
    account.bytes += bytes;
    this.#bytes += bytes;
    this.#forget(account);
    if (bytes < 0 && this.#queue.size > 0) this.#serve();
  }

  /**
   * Counts `bytes` once there is room. Ends with `unavailable` when that takes too long or too many wait. Returns a function
   * that ends the wait without a call.
   */
  wait(key: string, { bytes, coming, onEnd }: Wait): () => void {
    const account = this.#accountOf(key);
    const taken = Math.min(Math.max(coming, LEAST_WAITING_BYTES), MOST_WAITING_BYTES);
    // Shared like bytes: the requests of one caller may take as much as they leave free for those of others.
    if (account.waitingBytes + taken > this.#limit - this.#waitingBytes) {
      this.#forget(account);
      onEnd(this.#full());
      return () => undefined;
    }
    const leave = (): void => {
      timer.cancel();
      if (!account.waiting.delete(waiter)) return;
      this.#countWaiting(account, -taken);
      this.#forget(account);
    };
    const timer = new Timer(LONGEST_WAIT_MS, () => (leave(), onEnd(this.#full())), { ref: false });
    const begin = (): void => {
      leave();
      this.add(key, bytes);
      onEnd();
    };
    const waiter = { bytes, begin };
    account.waiting.add(waiter);
    this.#countWaiting(account, taken);
    return leave;
  }

  #countWaiting(account: Account, bytes: number): void {
    account.waitingBytes += bytes;
    this.#waitingBytes += bytes;
    if (account.waiting.size > 0) this.#queue.add(account);
    else this.#queue.delete(account);
  }

  #accountOf(key: string): Account {
    const known = this.#accounts.get(key);
    if (known) return known;
    const account = { key, bytes: 0, waitingBytes: 0, waiting: new Set<Waiter>() };
    this.#accounts.set(key, account);
    return account;
  }

  #forget({ key, bytes, waiting }: Account): void {
    if (bytes === 0 && waiting.size === 0) this.#accounts.delete(key);
  }

  #fits(own: number, more: number): boolean {
    const free = this.#limit - this.#bytes;
    return this.#bytes === 0 || (more <= free && (own === 0 || own + more <= free));
  }

  /** Lets the callers begin in turns, each with its oldest request, while one fits. */
  #serve(): void {
    for (let tries = this.#queue.size; tries > 0 && this.#bytes < this.#limit; tries -= 1) {
      const [account] = this.#queue as Iterable<Account>;
      const [oldest] = account!.waiting;
      this.#queue.delete(account!);
      this.#queue.add(account!);
      if (!this.#fits(account!.bytes, oldest!.bytes)) continue;
      oldest!.begin();
      tries = this.#queue.size + 1;
    }
  }

  #full(): LangoError {
    const share = `The requests and responses of one caller may take half of ${this.#limit} bytes at once`;
    return new LangoError('unavailable', 'The server has no memory for this request at present.', {
      hint: `Try again. ${share}, less beside others (server.limits.bytesInFlight).`,
      retryable: true,
      retryAfterMs: RETRY_AFTER_MS,
    });
  }
}

/** The bytes that one request holds of the limit, for one caller. */
export class HeldBytes {
  readonly #all: BytesInFlight;
  readonly #key: string;
  #bytes = 0;
  #isReleased = false;
  #cancel: (() => void) | undefined;

  constructor(all: BytesInFlight, key: string) {
    this.#all = all;
    this.#key = key;
  }

  /**
   * Holds further bytes. Returns a promise if they have to wait: it rejects with `unavailable`, and with `canceled` at the
   * release. `coming`: those that have not arrived yet.
   */
  add(size: number, coming = size): Promise<void> | undefined {
    if (size === 0 || this.#isReleased) return undefined;
    const bytes = Math.min(size, this.#all.largestBody);
    if (this.#all.tryAdd(this.#key, bytes)) {
      this.#bytes += bytes;
      return undefined;
    }
    return new Promise<void>((resolve, reject) => {
      const onEnd = (error?: LangoError): void => {
        if (error) return reject(error);
        this.#bytes += bytes;
        resolve();
      };
      const leave = this.#all.wait(this.#key, { bytes, coming, onEnd });
      this.#cancel = () => (leave(), reject(new LangoError('canceled', 'The client went away.')));
    });
  }

  /** Holds further bytes for an answer like `add`; without `bytes` for one of unknown size. */
  addAnswer(bytes = this.#all.unknownAnswer): Promise<void> | undefined {
    return this.add(bytes, 0);
  }

  /** Holds these bytes alone from now on, also when there is no room: they are in memory already. */
  set(bytes: number): void {
    if (this.#isReleased || bytes === this.#bytes) return;
    this.#all.add(this.#key, bytes - this.#bytes);
    this.#bytes = bytes;
  }

  /** Holds nothing from now on, and ends a wait. */
  release(): void {
    this.set(0);
    this.#isReleased = true;
    this.#cancel?.();
  }
}
