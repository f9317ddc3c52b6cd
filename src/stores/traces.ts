import type { TaskRecord } from '../core/task.js';

export interface DueTrace {
  readonly id: string;
  /** Undefined for a damaged record. */
  readonly task: TaskRecord | undefined;
  /** The number of the newest entry whose spans were exported. */
  readonly exported: number;
}

/** Stores the progress of the export of spans. The rules of `TaskStore` apply. */
export interface TraceStore {
  /**
   * Lists tasks of all owners, in the order of their creation: those that ended since their last export, and those that run
   * for longer than `TRACE_AFTER_MS` and have a quarter more entries than at their last export.
   */
  listDue(limit: number): Promise<readonly DueTrace[]>;
  /** Leases the export to `worker` for `EXPORT_LEASE_MS`. False while another process of the database has the lease. */
  claim(worker: string): Promise<boolean>;
  release(worker: string): Promise<void>;
  /** Records that the spans of these tasks are exported up to the heads in their records. */
  noteExported(traces: readonly DueTrace[]): Promise<void>;
}

/** A task that runs for longer than this is exported in parts. */
export const TRACE_AFTER_MS = 60_000;

/** Longer than the longest request to a collector, by the store's clock. */
export const EXPORT_LEASE_MS = 30_000;
