import type { ErrorCode } from './errors.js';
import type { Caller } from './identity.js';

/** Who did what. It never holds content, nor anything that gives access. */
export interface AuditEntry {
  /** An operation of the protocol, or `Authenticate`. */
  readonly operation: string;
  readonly outcome: 'ok' | ErrorCode;
  /** Undefined when nobody was known. */
  readonly caller?: Pick<Caller, 'owner' | 'tenant'>;
  /** The client's address; absent inside the process. */
  readonly from?: string;
  readonly agent?: string;
  readonly task?: string;
  /** Of the trace that the request is part of. */
  readonly traceId?: string;
  /** Why it was refused, in our own words. */
  readonly reason?: string;
}

/** Writes one line. Never throws. */
export type Audit = (entry: AuditEntry) => void;

export const noAudit: Audit = () => {};
