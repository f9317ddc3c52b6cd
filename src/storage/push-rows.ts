import type { PushConfig, PushDelivery } from '../core/push.js';
import type { Trace } from '../core/trace.js';

/** A row of `push_configs`; the column names are the same in every database. */
export interface PushRow {
  readonly key: string;
  readonly tenant: string;
  readonly owner: string;
  readonly task: string;
  readonly id: string;
  readonly url: string;
  readonly scheme: string | null;
  readonly sealed: string | null;
  readonly version: PushConfig['version'];
  readonly created_at: number;
  readonly cursor: number;
  readonly up_to: number;
  readonly attempts: number;
  readonly next_at: number;
  readonly lease_by: string | null;
  readonly lease_until: number;
  readonly state: 'active' | 'given-up';
  /** Why the last attempt failed. */
  readonly reason: string | null;
}

/** A push config with columns of its task. */
export interface PushWorkRow extends PushRow {
  readonly agent: string;
  readonly context: string;
  /** A `Trace` as JSON. */
  readonly trace: string | null;
}

/** How long the row of a given-up config is kept, in milliseconds. */
export const GIVEN_UP_KEPT_MS = 7 * 24 * 60 * 60 * 1_000;

export function toPushConfig(row: PushRow): PushConfig {
  return {
    id: row.id,
    taskId: row.task,
    url: row.url,
    scheme: row.scheme ?? undefined,
    sealed: row.sealed ?? undefined,
    version: row.version,
    createdAt: row.created_at,
  };
}

export function toPushWork(row: PushWorkRow): PushDelivery {
  return {
    ...toPushConfig(row),
    key: row.key,
    agent: row.agent,
    contextId: row.context,
    trace: row.trace === null ? undefined : (JSON.parse(row.trace) as Trace),
    cursor: row.cursor,
    upTo: row.up_to,
    attempts: row.attempts,
    nextAt: row.next_at,
  };
}
