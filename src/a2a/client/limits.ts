/** The limits for following one task. The watch ends with the reason when one is reached. */
export interface WatchLimits {
  /** The most stream events and snapshots. */
  readonly events: number;
  /** The most characters of text, files and ids, which the reader keeps. */
  readonly characters: number;
  /** The most requests: the message, subscriptions and polls. */
  readonly requests: number;
  /** Milliseconds that the task may take between new events. Heartbeats and repeated states are not new. */
  readonly idleMs: number;
}

/** For a person's client: the person decides how long to watch. */
export const CLIENT_LIMITS: WatchLimits = {
  events: 100_000,
  characters: 16 * 1024 * 1024,
  requests: Infinity,
  idleMs: Infinity,
};

/** For an agent of another server, which may be hostile. */
export const REMOTE_LIMITS: WatchLimits = {
  events: 20_000,
  characters: 4 * 1024 * 1024,
  requests: 2_000,
  idleMs: 600_000,
};
