import type { Grant } from '../core/task.js';

/**
 * The places for runs: so many at each level of delegation. A run that waits for a task below it keeps its place, and
 * what it waits for has its place at the next level, so that no number of waiting parents can keep their children out.
 */
export class Places {
  readonly #each: number;
  readonly #taken = new Map<number, number>();
  /** Levels that were full since their places were last offered: somebody may wait there. */
  readonly #sought = new Set<number>();

  constructor(each: number) {
    this.#each = each;
  }

  free(level: number): number {
    return Math.max(0, this.#each - this.#takenAt(level));
  }

  /** The free places, for those who wait. */
  offer(level: number): number {
    const free = this.free(level);
    if (free > 0) this.#sought.delete(level);
    return free;
  }

  /** Also when there is none: a run that goes on at once keeps its place by taking it again before it gives it back. */
  take(level: number): void {
    this.#taken.set(level, this.#takenAt(level) + 1);
    if (this.free(level) === 0) this.#sought.add(level);
  }

  /** True when somebody may wait for it. */
  giveBack(level: number): boolean {
    this.#taken.set(level, this.#takenAt(level) - 1);
    return this.#sought.has(level);
  }

  #takenAt(level: number): number {
    return this.#taken.get(level) ?? 0;
  }
}

/** How many delegations a task stands below a person's own one. */
export function levelOf(grant: Grant): number {
  return grant.chain.length;
}
