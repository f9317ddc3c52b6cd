import type { Audit, AuditEntry, Authenticator, Caller, Credentials } from '../core/identity.js';
import { LangoError, isLangoError, rejected } from '../core/errors.js';
import type { Logger } from '../core/logger.js';
import type { Scope } from '../core/task.js';
import { createIntrospectionVerifier, type IntrospectionOptions } from './introspection.js';
import { createJwtVerifier, type JwtRules } from './jwt-identity.js';
import type { JwtKeys } from './jwt-keys.js';
import { createNodeVerifier, type TrustedNodes } from './node-assertion.js';
import { FailureCounter, RateLimit, networkOf, tooManyFailures, type Rate } from './rate-limit.js';
import type { CertificateName, Verifier } from './verifiers.js';
import { createCertificateVerifier, createTokenVerifier } from './verifiers.js';

export interface AuthenticatorOptions {
  readonly mode: 'token' | 'jwt' | 'mtls' | 'none';
  /** Required in mode `token`. */
  readonly token?: string;
  /** Required in mode `jwt`. */
  readonly jwt?: {
    readonly rules: JwtRules;
    readonly keys: JwtKeys;
    /** Default: signed tokens only. */
    readonly introspection?: IntrospectionOptions | undefined;
  };
  /** In mode `mtls`. Default: `cn`. */
  readonly certificateName?: CertificateName;
  /** The nodes that are trusted to name the owner of a request. Default: none. */
  readonly nodes?: TrustedNodes | undefined;
  /** The owner of all data in the modes `token` (default: 'default') and `none` (default: 'local'). */
  readonly owner?: string;
  /** Whether a caller is an operator of this server, who may read the data of all owners. Default: no caller is. */
  readonly isOperator?: (caller: Caller) => boolean;
  /** The request rates of a caller, and of an address without authentication. Default: no limits. */
  readonly rates?: { readonly caller: Rate; readonly address: Rate };
  readonly audit?: Audit;
  readonly logger: Logger;
}

/** The owner of all data in the modes with a single owner. */
const ONLY_OWNER = { none: 'local', token: 'default' } as const;

/** The settings that say who an operator is. */
export interface OperatorSettings {
  readonly mode: AuthenticatorOptions['mode'];
  readonly jwt: { readonly operatorScope: string };
}

/** The right of a trusted node to act for operators. */
const MAY_OPERATE = 'operate';

/**
 * Whether a caller is an operator: the only owner in the modes `none` and `token`, or a caller with the scope
 * `auth.jwt.operatorScope`. In mode `mtls` there are no operators. What a trusted node says of an owner makes no
 * operator, unless the node has that right too.
 */
export function isOperator({ mode, jwt }: OperatorSettings, { owner, scopes, node }: Named): boolean {
  if (node && !node.may.includes(MAY_OPERATE)) return false;
  if (scopes) return new Set(scopes).has(jwt.operatorScope);
  return mode !== 'mtls' && Object.values<string>(ONLY_OWNER).includes(owner);
}

type Named = Pick<Caller, 'owner' | 'node'> & { readonly scopes?: Iterable<string> | undefined };

/** Advice for a caller who is not an operator. */
export function howToOperate({ mode, jwt }: OperatorSettings): string {
  return mode === 'jwt'
    ? `It takes a token with the scope ${jwt.operatorScope}.`
    : 'List remote agents in a2a.remoteAgents of the configuration.';
}

/** The owner of the server's own token, or of everything where nobody needs one. */
export function ownOwner({ mode }: Pick<OperatorSettings, 'mode'>): Scope {
  return { tenant: '', owner: mode === 'none' ? ONLY_OWNER.none : ONLY_OWNER.token };
}

/** Creates the authenticator. Throws `invalid-config` when an option that the mode requires is missing. */
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { nodes } = options;
  const verifier = verifierOf(options);
  return new LimitingAuthenticator(nodes ? createNodeVerifier(nodes, verifier) : verifier, options);
}

function verifierOf(options: AuthenticatorOptions): Verifier {
  switch (options.mode) {
    case 'none': {
      const caller: Caller = { owner: options.owner ?? ONLY_OWNER.none, tenant: '' };
      return () => caller;
    }
    case 'token':
      if (!options.token) throw new LangoError('invalid-config', 'The authentication token is missing.');
      return createTokenVerifier(options.token, { owner: options.owner ?? ONLY_OWNER.token, tenant: '' });
    case 'jwt': {
      if (!options.jwt) throw new LangoError('invalid-config', 'The rules for tokens are missing.');
      const { rules, keys, introspection } = options.jwt;
      const signed = createJwtVerifier(rules, keys);
      return introspection ? createIntrospectionVerifier(introspection, rules, signed) : signed;
    }
    case 'mtls':
      return createCertificateVerifier(options.certificateName ?? 'cn');
  }
}

/** Limits the requests of each caller, delays attempts from addresses with many failures, and audits refusals. */
class LimitingAuthenticator implements Authenticator {
  readonly #verify: Verifier;
  readonly #failures = new FailureCounter();
  /** Requests without credentials. They are not guesses, so they delay nobody; the count limits the log lines. */
  readonly #missing = new FailureCounter();
  /** Whether authentication on a connection succeeded and never failed. Failures of others then do not delay its requests. */
  readonly #isTrusted = new WeakMap<object, boolean>();
  readonly #callers: RateLimit | undefined;
  readonly #addresses: RateLimit | undefined;
  readonly #options: AuthenticatorOptions;

  constructor(verify: Verifier, options: AuthenticatorOptions) {
    const { rates } = options;
    this.#verify = verify;
    this.#options = options;
    this.#callers = rates && new RateLimit('caller', rates.caller);
    this.#addresses = rates && new RateLimit('address', rates.address);
  }

  authenticate(credentials: Credentials): Caller | Promise<Caller> {
    try {
      const known = this.#verified(credentials);
      if (known instanceof Promise) return known.then((caller) => this.#admitted(caller, credentials));
      return this.#admitted(known, credentials);
    } catch (error) {
      return rejected(error);
    }
  }

  #verified(credentials: Credentials): Caller | Promise<Caller> {
    const { connection } = credentials;
    const isTrusted = connection !== undefined && this.#isTrusted.get(connection);
    const slowed = isTrusted ? undefined : this.#waitIfSlowed(credentials);
    try {
      const known = slowed ? slowed.then(() => this.#verify(credentials)) : this.#verify(credentials);
      return known instanceof Promise
        ? known.catch((error: unknown) => this.#refuse(error, credentials))
        : known;
    } catch (error) {
      return this.#refuse(error, credentials);
    }
  }

  #refuse(error: unknown, credentials: Credentials): never {
    if (isLangoError(error, 'unauthenticated')) throw this.#recordFailure(error, credentials);
    if (isLangoError(error, 'forbidden')) this.#record('forbidden', credentials, { reason: error.message });
    throw error;
  }

  #admitted(caller: Caller, credentials: Credentials): Caller {
    const { connection } = credentials;
    if (connection && this.#isTrusted.get(connection) === undefined) this.#isTrusted.set(connection, true);
    try {
      this.#callers?.take(`${caller.tenant}\n${caller.owner}`);
    } catch (error) {
      this.#record('too-many', credentials, { caller });
      throw error;
    }
    return credentials.views ? this.#viewingOwner(credentials.views, caller, credentials) : caller;
  }

  admitAnyone(address: string): void {
    this.#addresses?.take(networkOf(address));
  }

  /** Returns an operator with the owner whose data they read, named by the header `Lango-Owner`: `owner=user%3Aalice&tenant=acme`. */
  #viewingOwner(header: string, caller: Caller, credentials: Credentials): Caller {
    const named = new URLSearchParams(header);
    const views = { tenant: named.get('tenant') ?? '', owner: named.get('owner') ?? '' };
    if (views.owner === '')
      throw new LangoError('invalid-input', 'The header Lango-Owner names no owner.', {
        hint: 'Write it as a query string: owner=user%3Aalice',
      });
    if (this.#options.isOperator?.(caller)) return { ...caller, views };
    this.#record('forbidden', credentials, { caller });
    throw new LangoError('forbidden', 'Only an operator of this server may read the data of other owners.', {
      hint: 'Leave out the header Lango-Owner.',
    });
  }

  /** Delays an attempt from a slowed address, valid or not: without the delay it could guess at full speed. */
  #waitIfSlowed(credentials: Credentials): Promise<void> | undefined {
    const network = networkOf(credentials.address);
    const mayPass = this.#failures.slowedFor(network) === undefined || isMissing(credentials);
    return mayPass ? undefined : this.#failures.waitSlowed(network);
  }

  /** Counts, logs and audits a failed authentication, and returns the error for the response. */
  #recordFailure(error: LangoError, credentials: Credentials): LangoError {
    const { address, connection } = credentials;
    const isGuess = !isMissing(credentials);
    if (connection && isGuess) this.#isTrusted.set(connection, false);
    const counter = isGuess ? this.#failures : this.#missing;
    const network = networkOf(address);
    const slowedMs = counter.slowedFor(network);
    if (slowedMs !== undefined) return isGuess ? tooManyFailures(slowedMs) : error;
    counter.add(network);
    const reason = error.hint ?? error.message;
    this.#options.logger.warn('authentication failed', { address, reason });
    this.#record('unauthenticated', credentials, { reason });
    return error;
  }

  #record(
    outcome: AuditEntry['outcome'],
    { address: from }: Credentials,
    facts: Pick<AuditEntry, 'caller' | 'reason'>,
  ): void {
    this.#options.audit?.({ operation: 'Authenticate', outcome, from, ...facts });
  }
}

/** Whether a request has neither a token nor a certificate. */
function isMissing(credentials: Credentials): boolean {
  return credentials.authorization === undefined && credentials.certificate() === undefined;
}
