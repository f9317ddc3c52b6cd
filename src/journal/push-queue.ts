/** One receiver of one task's news, in memory. */
export interface PushEntry {
  readonly key: string;
  readonly taskId: string;
  readonly host: string;
}

/** Who is next: in turn, so many at once, and so many for one host. */
export class PushQueue {
  readonly #places: number;
  readonly #placesOfHost: number;
  readonly #ready = new Set<PushEntry>();
  readonly #busy = new Set<PushEntry>();
  readonly #busyOfHost = new Map<string, number>();
  /** Became ready again while they were at work. */
  readonly #again = new Set<PushEntry>();

  constructor(places: number, placesOfHost: number) {
    this.#places = places;
    this.#placesOfHost = placesOfHost;
  }

  add(entry: PushEntry): void {
    if (this.#busy.has(entry)) this.#again.add(entry);
    else this.#ready.add(entry);
  }

  isReady(entry: PushEntry): boolean {
    return this.#ready.has(entry);
  }

  remove(entry: PushEntry): void {
    this.#ready.delete(entry);
    this.#again.delete(entry);
  }

  /** The next one there is a place for; it holds the place until `done`. */
  take(): PushEntry | undefined {
    if (this.#busy.size >= this.#places) return undefined;
    for (const entry of this.#ready) {
      const busy = this.#busyOfHost.get(entry.host) ?? 0;
      if (busy >= this.#placesOfHost) continue;
      this.#ready.delete(entry);
      this.#busy.add(entry);
      this.#busyOfHost.set(entry.host, busy + 1);
      return entry;
    }
    return undefined;
  }

  done(entry: PushEntry): void {
    this.#busy.delete(entry);
    const busy = (this.#busyOfHost.get(entry.host) ?? 1) - 1;
    if (busy === 0) this.#busyOfHost.delete(entry.host);
    else this.#busyOfHost.set(entry.host, busy);
    if (this.#again.delete(entry)) this.#ready.add(entry);
  }
}
