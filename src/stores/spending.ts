import type { DailySpending } from '../core/agent.js';
import type { UsageRow } from '../core/model.js';
import type { Scope } from '../core/task.js';

/** Stores the cost of each owner's models by day, by the store's clock. The rules of `TaskStore` apply. */
export interface SpendingStore extends DailySpending {
  /** Counts a model call that no task made: on the bill and, by its cost, as spent. Its node is this one. */
  addBackground(scope: Scope, row: UsageRow): Promise<void>;
  /** Reads the bill of the model calls that no task made. */
  readBackground(scope: Scope): Promise<readonly Omit<BillRow, 'node'>[]>;
}

/** A row of an owner's bill. */
interface BillRow extends UsageRow {
  /** The day of the work, in UTC: "2026-11-23". Of a task, that on which its state was last set. */
  readonly day: string;
}
