/**
 * A semaphore for runs, with `size` slots at each level of delegation. A run keeps its slot while it waits for a child
 * task, and the child takes a slot of the next level. So waiting parents can never block their children.
 */
export class RunSlots {
  readonly #size: number;
  readonly #taken = new Map<number, number>();
  /** Levels that were full at some time since the last claim: tasks may wait there. */
  readonly #contended = new Set<number>();

  constructor(size: number) {
    this.#size = size;
  }

  free(level: number): number {
    return Math.max(0, this.#size - this.#takenAt(level));
  }

  /** Whether a new task may start: a slot is free, and no task waits for one. */
  isOpen(level: number): boolean {
    return this.free(level) > 0 && !this.#contended.has(level);
  }

  /** The free slots, for a claim that takes as many waiting tasks. */
  freeForClaim(level: number): number {
    const free = this.free(level);
    if (free > 0) this.#contended.delete(level);
    return free;
  }

  /** Always succeeds, also when all slots are taken: a run that continues acquires its slot again before it releases it. */
  acquire(level: number): void {
    this.#taken.set(level, this.#takenAt(level) + 1);
    if (this.free(level) === 0) this.#contended.add(level);
  }

  /** True when a task may wait for the slot. */
  release(level: number): boolean {
    this.#taken.set(level, this.#takenAt(level) - 1);
    return this.#contended.has(level);
  }

  #takenAt(level: number): number {
    return this.#taken.get(level) ?? 0;
  }
}
