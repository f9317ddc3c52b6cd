import { scopeKey, type Scope } from '../core/task.js';

/** An owner may have so many times the free slots: all of a few, and seven eighths of many when alone. */
const SHARE = 7;

interface Level {
  taken: number;
  readonly owners: Map<string, OwnerRuns>;
  /** The level was full at some time since the last claim: tasks may wait there. */
  isContended: boolean;
}

interface OwnerRuns {
  readonly scope: Scope;
  taken: number;
  /** The owner had no room at some time since the last claim: tasks may wait. */
  isContended: boolean;
}

/**
 * A semaphore for runs, with `size` slots at each level of delegation. A run keeps its slot while it waits for a child
 * task, and the child takes a slot of the next level. So waiting parents can never block their children. An owner gets
 * only a part of the slots (at most `perOwner`), so that the others find one free.
 */
export class RunSlots {
  readonly #size: number;
  readonly #perOwner: number;
  readonly #levels = new Map<number, Level>();

  constructor(size: number, perOwner = Infinity) {
    this.#size = size;
    this.#perOwner = perOwner;
  }

  free(level: number): number {
    return Math.max(0, this.#size - this.#level(level).taken);
  }

  /** Whether the owner may have one more slot. */
  hasRoom(level: number, scope: Scope): boolean {
    return this.#mayTake(this.#level(level).owners.get(scopeKey(scope))?.taken ?? 0, this.free(level));
  }

  /** Whether a new task of the owner may start: there is room, and no task waits for it. */
  isOpen(level: number, scope: Scope): boolean {
    const { isContended, owners } = this.#level(level);
    return !isContended && !owners.get(scopeKey(scope))?.isContended && this.hasRoom(level, scope);
  }

  /** Call it for a task that has to wait for a claim. */
  addWaiting(level: number, scope: Scope): void {
    if (this.free(level) === 0) this.#level(level).isContended = true;
    else this.#ownerOf(level, scope).isContended = true;
  }

  /** The free slots, for a claim that takes as many waiting tasks, but none of owners that are `full`. */
  freeForClaim(level: number): number {
    const free = this.free(level);
    const of = this.#level(level);
    if (free > 0) of.isContended = false;
    for (const [key, owner] of of.owners) {
      if (this.#mayTake(owner.taken, free)) owner.isContended = false;
      if (owner.taken === 0 && !owner.isContended) of.owners.delete(key);
    }
    return free;
  }

  /** Call it before a look whether any task waits: where slots are free, only those wait that it finds. */
  beforeLook(): void {
    for (const level of this.#levels.keys()) this.freeForClaim(level);
  }

  /** The owners that have no room once a task of each in `claimed` has started. */
  full(level: number, claimed: readonly Scope[]): readonly Scope[] {
    const taken = new Map<string, { readonly scope: Scope; taken: number }>();
    for (const [key, owner] of this.#level(level).owners) taken.set(key, { ...owner });
    for (const scope of claimed) {
      const before = taken.get(scopeKey(scope))?.taken ?? 0;
      taken.set(scopeKey(scope), { scope, taken: before + 1 });
    }
    const free = this.free(level) - claimed.length;
    return [...taken.values()].filter((owner) => !this.#mayTake(owner.taken, free)).map(({ scope }) => scope);
  }

  /** Always succeeds, also when all slots are taken: a run that continues acquires its slot again before it releases it. */
  acquire(level: number, scope: Scope): void {
    const of = this.#level(level);
    const owner = this.#ownerOf(level, scope);
    of.taken += 1;
    owner.taken += 1;
    const free = this.free(level);
    if (free === 0) of.isContended = true;
    else if (!this.#mayTake(owner.taken, free)) owner.isContended = true;
  }

  /** True when a task may wait for the slot. */
  release(level: number, scope: Scope): boolean {
    const of = this.#level(level);
    const owner = this.#ownerOf(level, scope);
    of.taken -= 1;
    owner.taken -= 1;
    if (owner.taken === 0 && !owner.isContended) of.owners.delete(scopeKey(scope));
    if (of.isContended) return true;
    const free = this.free(level);
    return [...of.owners.values()].some((one) => one.isContended && this.#mayTake(one.taken, free));
  }

  #mayTake(taken: number, free: number): boolean {
    return free > 0 && taken < Math.min(this.#perOwner, SHARE * free);
  }

  #level(level: number): Level {
    const known = this.#levels.get(level) ?? { taken: 0, owners: new Map(), isContended: false };
    this.#levels.set(level, known);
    return known;
  }

  #ownerOf(level: number, scope: Scope): OwnerRuns {
    const { owners } = this.#level(level);
    const known = owners.get(scopeKey(scope)) ?? { scope, taken: 0, isContended: false };
    owners.set(scopeKey(scope), known);
    return known;
  }
}
