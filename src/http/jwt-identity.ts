import { isLangoError } from '../core/errors.js';
import type { Caller } from '../core/identity.js';
import type { JwtKeys } from './jwt-keys.js';
import { MAX_NAME_LENGTH, bearerToken, noBearer, type Verifier } from './verifiers.js';

export interface JwtRules {
  readonly issuer: string;
  readonly audience: readonly string[];
  readonly algorithms: readonly string[];
  readonly clockSkewSeconds: number;
  readonly requiredClaims: readonly string[]; // Claims that a token must have, with any value.
  readonly ownerClaim: string;
  readonly tenantClaim?: string; // Undefined: all callers belong to one tenant.
  readonly scopeClaim: string;
}

type Claims = Readonly<Record<string, unknown>>;

/** The claim that some issuers use for scopes instead of the one of RFC 8693. */
const OTHER_SCOPE_CLAIM = 'scp';

/** Makes the verifier of signed tokens from one issuer, which name the caller (RFC 7519, RFC 9068). */
export function createJwtVerifier(rules: JwtRules, keys: JwtKeys): Verifier {
  const { ownerClaim, tenantClaim } = rules;
  const requiredClaims = ['exp', ownerClaim, ...(tenantClaim ? [tenantClaim] : []), ...rules.requiredClaims];
  const options = {
    issuer: rules.issuer,
    audience: [...rules.audience],
    algorithms: [...rules.algorithms],
    clockTolerance: rules.clockSkewSeconds,
    requiredClaims,
  };
  return async ({ authorization }) => {
    const token = bearerToken(authorization);
    if (token === undefined) throw noBearer();
    // Loaded on first use, so that the server starts faster.
    const { jwtVerify } = await import('jose');
    try {
      const { payload } = await jwtVerify(token, keys.find, options);
      return callerOf(payload, rules);
    } catch (error) {
      throw isLangoError(error) ? error : noBearer(reasonOf(error));
    }
  };
}

/** Reads the caller from the claims of a token. Throws `unauthenticated` when a name is missing. */
export function callerOf(payload: Claims, rules: JwtRules): Caller {
  const { ownerClaim, tenantClaim, scopeClaim } = rules;
  const scopes = scopesIn(payload[scopeClaim] ?? payload[OTHER_SCOPE_CLAIM]);
  return {
    // The prefix keeps owners of different auth modes apart.
    owner: `user:${nameIn(payload, ownerClaim)}`,
    tenant: tenantClaim === undefined ? '' : nameIn(payload, tenantClaim),
    scopes,
  };
}

function nameIn(payload: Claims, claim: string): string {
  const value = payload[claim];
  if (typeof value === 'string' && value !== '' && value.length <= MAX_NAME_LENGTH) return value;
  throw noBearer(`The claim ${claim} is not a name.`);
}

export function scopesIn(claim: unknown): ReadonlySet<string> {
  const words: readonly unknown[] =
    typeof claim === 'string' ? claim.split(' ') : Array.isArray(claim) ? claim : [];
  return new Set(words.filter((word) => typeof word === 'string' && word !== '') as string[]);
}

const REFUSALS: Readonly<Record<string, string>> = {
  ERR_JWT_EXPIRED: 'The token has expired.',
  ERR_JOSE_ALG_NOT_ALLOWED: 'The algorithm of the token is not accepted.',
  ERR_JWKS_NO_MATCHING_KEY: 'The token was not signed with a known key.',
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: 'The token was not signed with a known key.',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'The signature of the token is wrong.',
};

/** Says why a token is refused, without quoting it. */
export function reasonOf(error: unknown): string {
  const { code, claim } = (error ?? {}) as { readonly code?: unknown; readonly claim?: unknown };
  if (code === 'ERR_JWT_CLAIM_VALIDATION_FAILED') return wrongClaim(String(claim));
  return REFUSALS[String(code)] ?? 'The token is not a signed JWT.';
}

export const wrongClaim = (claim: string): string => `The claim ${claim} is missing or not what it must be.`;
