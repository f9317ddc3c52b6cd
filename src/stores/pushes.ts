import type { PushConfigStore, PushDelivery } from '../core/push.js';

export type PushOutcome =
  | { readonly kind: 'delivered'; readonly cursor: number }
  | { readonly kind: 'failed'; readonly nextAt: number; readonly reason: string }
  /** The task has ended and its last event was delivered: the config is removed. */
  | { readonly kind: 'ended' }
  | { readonly kind: 'given-up'; readonly reason: string };

/** The number of push configs of all owners, for the operator. */
export interface PushCounts {
  readonly active: number;
  /** The configs whose last attempt failed. */
  readonly failing: number;
  /** The configs given up in the last days; clients do not see them. */
  readonly givenUp: number;
}

/** The durable state of push notifications. The rules of `TaskStore` apply. */
export interface PushStore extends PushConfigStore {
  /** Lists the active configs after `after`, by key. */
  listActive(after: string, limit: number): Promise<readonly PushDelivery[]>;
  listActiveOf(taskId: string): Promise<readonly PushDelivery[]>;
  getActive(key: string): Promise<PushDelivery | undefined>;
  /** Leases the next delivery, up to `upTo`, for `PUSH_LEASE_MS`. False for a config that is gone, changed or leased. */
  claim(work: PushDelivery, upTo: number, worker: string): Promise<boolean>;
  /** Records the outcome of a claimed delivery. Does nothing when the config was deleted or replaced meanwhile. */
  settle(key: string, worker: string, outcome: PushOutcome): Promise<void>;
  release(worker: string): Promise<void>;
  counts(): Promise<PushCounts>;
  /** Forgets the configs that were given up long ago. */
  purge(): Promise<void>;
  /** Calls `listener` when the deliveries that another process had claimed became free. */
  onFreed(listener: () => void): void;
}

/** The duration of a claim of a delivery by the store's clock. Longer than the longest attempt. */
export const PUSH_LEASE_MS = 60_000;
