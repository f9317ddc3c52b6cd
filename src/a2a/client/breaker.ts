import { pause } from '../../core/time.js';

/** Failures of the connection in a row after which no new work goes to a peer. */
const FAILURES_TO_OPEN = 3;
/** Milliseconds without work for a peer before one try; doubled each time that the try fails. */
const FIRST_REST_MS = 1_000;
const LONGEST_REST_MS = 60_000;
/** The pause between two probes for work that waits. */
const PROBE_MS = 1_000;

export interface BreakerOptions {
  readonly onChange: () => void;
  /** Called when the peer begins to refuse the credential of requests, with its reason, and when it accepts one again. */
  readonly onRefusal: (reason: string | undefined) => void;
  /** Reads the card of the peer, and notes the outcome. Never rejects. */
  readonly probe: () => Promise<unknown>;
  /** The time that work waits for the peer. */
  readonly waitMs: number;
}

/**
 * A circuit breaker for one peer. It opens after some failures of the connection in a row: new work for the peer waits.
 * After a rest the peer gets one try, and a response of any kind closes the breaker. Tasks that the peer already has are
 * followed in every state.
 */
export class Breaker {
  readonly #options: BreakerOptions;
  #failures = 0;
  #restMs = FIRST_REST_MS;
  #openedAt: number | undefined;
  #reason: string | undefined;
  #refusal: string | undefined;
  #hasAccepted = false;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#openedAt !== undefined;
  }

  /** Why the last call failed, or was refused; undefined after any other response. */
  get reason(): string | undefined {
    return this.#reason ?? this.#refusal;
  }

  /** Whether the peer refuses the credential of requests. */
  get isRefused(): boolean {
    return this.#refusal !== undefined;
  }

  /** Whether the peer has accepted a credential of ours: when it refuses one, the next one may be on its way. */
  get hasAccepted(): boolean {
    return this.#hasAccepted;
  }

  /** Waits a limited time until the peer gets work again, and resolves with whether it does. Ends when `signal` aborts. */
  async closes(signal: AbortSignal): Promise<boolean> {
    const { probe, waitMs } = this.#options;
    const until = performance.now() + waitMs;
    while (this.isOpen && performance.now() < until) {
      if (!(await pause(PROBE_MS, { signal }))) break;
      if (this.isOpen) await probe();
    }
    return !this.isOpen;
  }

  /** Call it when the peer responded, also with an error. */
  responded(): void {
    if (this.#failures === 0) return;
    this.#failures = 0;
    this.#restMs = FIRST_REST_MS;
    this.#reason = undefined;
    this.#set(undefined);
  }

  /** Call it when the peer refused the credential of a request. It gets further work: the next credential may be right. */
  refused(reason: string): void {
    this.responded();
    const isNew = this.#refusal === undefined;
    this.#refusal = reason;
    if (isNew) this.#options.onRefusal(reason);
  }

  /** Call it when the peer accepted a request. */
  accepted(): void {
    this.responded();
    this.#hasAccepted = true;
    if (this.#refusal === undefined) return;
    this.#refusal = undefined;
    this.#options.onRefusal(undefined);
  }

  /** Call it when the peer could not be reached, or its connection broke. */
  failed(reason: string): void {
    this.#failures += 1;
    this.#reason = reason;
    if (this.#failures >= FAILURES_TO_OPEN) this.#set(performance.now());
  }

  /** Call it when the card of the peer could be read. After its rest the peer gets one try. */
  probed(): void {
    if (this.#openedAt === undefined || performance.now() - this.#openedAt < this.#restMs) return;
    this.#restMs = Math.min(2 * this.#restMs, LONGEST_REST_MS);
    this.#failures = FAILURES_TO_OPEN - 1;
    this.#set(undefined);
  }

  #set(openedAt: number | undefined): void {
    const wasOpen = this.isOpen;
    this.#openedAt = openedAt;
    if (wasOpen !== this.isOpen) this.#options.onChange();
  }
}
