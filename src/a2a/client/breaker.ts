/** Failures of the connection in a row after which no new work goes to a peer. */
const FAILURES_TO_OPEN = 3;
/** How long a peer rests before it gets one try; doubled each time that one fails. */
const FIRST_REST_MS = 1_000;
const LONGEST_REST_MS = 60_000;

/**
 * Whether a peer gets new work: it gets none after its connection failed some times in a row ("open"), then one try
 * after a rest ("half open"). An answer of any kind closes it. Tasks that the peer already has are followed regardless.
 */
export class Breaker {
  readonly #onChange: () => void;
  #failures = 0;
  #restMs = FIRST_REST_MS;
  #openedAt: number | undefined;
  #reason: string | undefined;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get isOpen(): boolean {
    return this.#openedAt !== undefined;
  }

  /** Why the last call failed; undefined after an answer. */
  get reason(): string | undefined {
    return this.#reason;
  }

  /** The peer answered, whatever it said. */
  answered(): void {
    if (this.#failures === 0) return;
    this.#failures = 0;
    this.#restMs = FIRST_REST_MS;
    this.#reason = undefined;
    this.#set(undefined);
  }

  /** The peer could not be reached, or its connection broke. */
  failed(reason: string): void {
    this.#failures += 1;
    this.#reason = reason;
    if (this.#failures >= FAILURES_TO_OPEN) this.#set(performance.now());
  }

  /** The card of the peer can be read: after its rest it gets one try. */
  probed(): void {
    if (this.#openedAt === undefined || performance.now() - this.#openedAt < this.#restMs) return;
    this.#restMs = Math.min(2 * this.#restMs, LONGEST_REST_MS);
    this.#failures = FAILURES_TO_OPEN - 1;
    this.#set(undefined);
  }

  #set(openedAt: number | undefined): void {
    const wasOpen = this.isOpen;
    this.#openedAt = openedAt;
    if (wasOpen !== this.isOpen) this.#onChange();
  }
}
