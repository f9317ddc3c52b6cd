import type { TaskRecord } from '../core/task.js';

/** A task with spans to export. */
export interface DueTrace {
  readonly id: string;
  /** Undefined for a damaged record. */
  readonly task: TaskRecord | undefined;
  /** The number of the newest entry whose spans were exported. */
  readonly exported: number;
}

/** Notes how far the spans of each task were exported. The rules of `TaskStore` hold. */
export interface TraceStore {
  /**
   * Lists tasks of all owners, in the order of their creation: those that ended since their last export, and those that run
   * for longer than `TRACE_AFTER_MS` and have a quarter more entries than at their last export.
   */
  listDue(limit: number): Promise<readonly DueTrace[]>;
  /** Leases the export to `worker` for `EXPORT_LEASE_MS`. False while another process of the database has the lease. */
  claim(worker: string): Promise<boolean>;
  /** Ends the lease of `worker`. */
  release(worker: string): Promise<void>;
  /** Notes that the spans of these tasks are exported, as far as their records go. */
  noteExported(traces: readonly DueTrace[]): Promise<void>;
}

/** A task that runs for longer is exported in parts. */
export const TRACE_AFTER_MS = 60_000;

/** Longer than the longest request to a collector, by the store's clock. */
export const EXPORT_LEASE_MS = 30_000;
