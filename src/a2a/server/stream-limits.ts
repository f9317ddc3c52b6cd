export interface StreamLimits {
  /** Streams at the same time, of all agents of the node. */
  readonly streams: number;
  /** Of one caller. */
  readonly streamsPerCaller: number;
  /** What one stream may hold for a reader that is behind. */
  readonly streamBufferBytes: number;
  /** A stream with nothing to say gives a sign of life this often, so that no proxy takes it for dead. */
  readonly heartbeatSeconds: number;
}

const STALLED_HEARTBEATS = 2;

/** A reader that has taken nothing of what is held for it for so many milliseconds is cut. */
export function stallMs({ heartbeatSeconds }: Pick<StreamLimits, 'heartbeatSeconds'>): number {
  return heartbeatSeconds * 1_000 * STALLED_HEARTBEATS;
}
