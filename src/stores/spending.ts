import type { DailySpending } from '../core/agent.js';
import type { UsageRow } from '../core/model.js';
import type { Scope } from '../core/task.js';

/** Stores the cost of each owner's models by day, by the store's clock. The rules of `TaskStore` apply. */
export interface SpendingStore extends DailySpending {
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
