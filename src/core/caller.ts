import type { IncomingMessage } from 'node:http';

/** The authenticated party behind a request. */
export interface Caller {
  /** What their data is filed under. */
  readonly owner: string;
  readonly tenant: string;
}

/** Tells who sends a request. Throws `LangoError` `unauthenticated` or `forbidden`. */
export type Authenticate = (request: IncomingMessage) => Caller;
