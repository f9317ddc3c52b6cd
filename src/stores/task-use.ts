import type { Scope } from '../core/task.js';

/** Stores what the tasks of each owner take in the database, in bytes of their events. The rules of `TaskStore` apply. */
export interface TaskUseStore {
  /** Resolves with the bytes of an owner; 0 for one that is not known. */
  of(scope: Scope): Promise<number>;
  /** Adds bytes and resolves with the sum. The removal of tasks subtracts them. */
  add(scope: Scope, bytes: number): Promise<number>;
}
