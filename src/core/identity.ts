import { LangoError, type ErrorCode } from './errors.js';
import type { Scope } from './task.js';

/** The authenticated party behind a request. Its data is stored under this scope. */
export interface Caller extends Scope {
  /** The scopes of the token; undefined when the mode of authentication has none. */
  readonly scopes?: ReadonlySet<string>;
  readonly views?: Scope; // The owner whose data an operator asked to read instead of the operator's own.
  /** The trusted node (`auth.nodes`) that sent the request for the owner. Undefined for the owner's own token. */
  readonly node?: { readonly name: string; readonly may: readonly string[] };
}

/** The error for an operator's request that would change data of another person. */
export function readingOnly({ owner }: Scope): LangoError {
  return new LangoError('forbidden', `The data of ${owner} is read, and not changed, by an operator.`);
}

/** The parts of a request that identify its sender, on any transport. */
export interface Credentials {
  /** The `Authorization` header, or the metadata entry of that name. */
  readonly authorization: string | undefined;
  readonly views?: string; // The header `Lango-Owner`: see `Caller.views`.
  readonly path?: string; // The path of the request; absent over gRPC.
  /** The client's address, by which failures are counted. */
  readonly address: string;
  /** The client's own connection; absent where a proxy may share one among clients. */
  readonly connection?: object;
  /** The client's certificate. Called in modes that use certificates, and for failed requests without a token. */
  certificate(): ClientCertificate | undefined;
}

export interface ClientCertificate {
  /** Why the certificate is not trusted ("CERT_HAS_EXPIRED"); undefined when it is trusted. */
  readonly problem: string | undefined;
  /** By attribute (`CN`, `O`); a list for an attribute that occurs several times. */
  readonly subject: Readonly<Record<string, string | readonly string[]>>;
  /** "DNS:a.example, URI:spiffe://b", or empty. */
  readonly alternativeNames: string;
}

export interface Authenticator {
  /**
   * Rejects with `unauthenticated`, with `too-many` after many failures of an address or requests of a caller, and with
   * `unavailable` when authentication does not work now. The error's `headers` hold the challenge. Returns the caller at once
   * when nothing had to be waited for.
   */
  authenticate(credentials: Credentials): Caller | Promise<Caller>;
  /** Counts a request that needs no caller. Throws `too-many`. */
  admitAnyone(address: string): void;
}

/** One line of the audit log: a caller and an operation. It holds no content and no credentials. */
export interface AuditEntry {
  /** An operation of the protocol, or `Authenticate`. */
  readonly operation: string;
  readonly outcome: 'ok' | ErrorCode;
  /** Undefined when the caller is not known. */
  readonly caller?: Pick<Caller, 'owner' | 'tenant'>;
  readonly by?: string | undefined; // The operator or the trusted node that acts for `caller`.
  readonly subject?: string; // The subject of the operation, such as a secret and its use.
  /** The client's address; absent for calls inside the process. */
  readonly from?: string | undefined;
  readonly agent?: string;
  readonly task?: string | undefined;
  readonly traceId?: string | undefined;
  /** Why the request was refused; holds no text of the client. */
  readonly reason?: string;
}

/** Writes an entry. Never throws. */
export type Audit = (entry: AuditEntry) => void;

/** The address of an issuer's metadata (OpenID Connect Discovery 1.0, section 4). */
export const discoveryUrl = (issuer: string): string =>
  `${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`;
