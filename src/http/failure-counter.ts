const WINDOW_MS = 60_000;
const FAILURES_PER_WINDOW = 20;
const ADDRESSES = 1_000;

/** Failures of each address in its current minute; the oldest address is forgotten when there are too many. */
export class FailureCounter {
  readonly #windows = new Map<string, { readonly since: number; count: number }>();

  /** How long the address has to wait, in milliseconds; undefined when it may try. */
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
    if (this.#windows.size >= ADDRESSES) {
      const oldest = this.#windows.keys().next();
      if (!oldest.done) this.#windows.delete(oldest.value);
    }
    this.#windows.set(address, { since: Date.now(), count: 1 });
  }
}
