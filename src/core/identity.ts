import type { ErrorCode } from './errors.js';
import type { Scope } from './task.js';

/** The authenticated party behind a request: what its data is filed under. */
export interface Caller extends Scope {
  /** What its token allows; undefined when callers are not told apart by scopes. */
  readonly scopes?: ReadonlySet<string>;
}

/** What a request says of who sent it, whatever transport brought it. */
export interface Credentials {
  /** The `Authorization` header, or the metadata entry of that name. */
  readonly authorization: string | undefined;
  /** Where it came from: failures are counted by it. */
  readonly address: string;
  /** Of the connection; asked for only where certificates count. */
  certificate(): ClientCertificate | undefined;
}

/** What a client showed during the TLS handshake. */
export interface ClientCertificate {
  /** Why it is not trusted ("CERT_HAS_EXPIRED"); undefined when it is. */
  readonly problem: string | undefined;
  /** By attribute: `CN`, `O`; a list where one stands several times. */
  readonly subject: Readonly<Record<string, string | readonly string[]>>;
  /** "DNS:a.example, URI:spiffe://b", or empty. */
  readonly alternativeNames: string;
}

/** Says who sends a request. */
export interface Authenticator {
  /**
   * Rejects with `unauthenticated`, with `too-many` after many failures from one address or requests of one caller,
   * and with `unavailable` when nobody can be known now. The error's `headers` hold the challenge.
   */
  authenticate(credentials: Credentials): Promise<Caller>;
  /** Counts a request that nobody needs to be known for. Throws `too-many`. */
  admitAnyone(address: string): void;
}

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
