import type { UsageRow } from '../core/model.js';
import type { Scope } from '../core/task.js';

/** Stores the cost of each owner's models by day (UTC, by the store's clock). The rules of `TaskStore` apply. */
export interface SpendingStore {
  /** Reserves up to `amount` of what `limit` leaves today, in place of an earlier reservation of the call; resolves with the amount. */
  reserve(scope: Scope, call: { key: string; amount: number; limit: number }): Promise<number>;
  /** Ends the reservation of a call and counts its cost on the day of the reservation. Does nothing without one. */
  settle(scope: Scope, key: string, amount: number): Promise<void>;
  /** Resolves with what `limit` leaves to the owner today, without what is reserved. */
  left(scope: Scope, limit: number): Promise<number>;
  /** Counts a model call that no task made: on the bill and, by its cost, as spent. Its node is this one. */
  addBackground(scope: Scope, row: UsageRow): Promise<void>;
  /** Reads the bill of the model calls that no task made. */
  readBackground(scope: Scope): Promise<readonly BackgroundRow[]>;
}

/** The use of a model by an agent's work in the background, in one day. */
export interface BackgroundRow extends Omit<UsageRow, 'node'> {
  /** In UTC: "2026-11-23". */
  readonly day: string;
}
