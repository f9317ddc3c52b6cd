import type { JWTPayload, JWTVerifyGetKey } from 'jose';
import { isLangoError } from '../core/errors.js';
import type { Caller } from '../core/identity.js';
import { bearerToken, noBearer } from './bearer.js';
import type { Verifier } from './verifier.js';
import type { JwtKeys } from './jwt-keys.js';
import { MAX_NAME_LENGTH } from './verifier.js';

export interface JwtRules {
  readonly issuer: string;
  readonly audience: readonly string[];
  readonly algorithms: readonly string[];
  readonly clockSkewSeconds: number;
  /** Claims that must be there, whatever they say. */
  readonly requiredClaims: readonly string[];
  readonly ownerClaim: string;
  /** Undefined: everybody is of one tenant. */
  readonly tenantClaim?: string;
  readonly scopeClaim: string;
}

/** Some issuers write the scopes here, whatever RFC 8693 says. */
const OTHER_SCOPE_CLAIM = 'scp';

/** Callers are known by a signed token of one issuer (RFC 7519, RFC 9068). */
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
  const findKey: JWTVerifyGetKey = (header, input) => keys.find(header, input);
  return async ({ authorization }) => {
    const token = bearerToken(authorization);
    if (token === undefined) throw noBearer();
    // Loaded on first use: a start without it is faster.
    const { jwtVerify } = await import('jose');
    try {
      const { payload } = await jwtVerify(token, findKey, options);
      return callerOf(payload, rules);
    } catch (error) {
      throw isLangoError(error) ? error : noBearer(reasonOf(error));
    }
  };
}

function callerOf(payload: JWTPayload, rules: JwtRules): Caller {
  const { ownerClaim, tenantClaim, scopeClaim } = rules;
  const scopes = scopesIn(payload[scopeClaim] ?? payload[OTHER_SCOPE_CLAIM]);
  return {
    // A name of its own kind: the owner of one mode is never that of another.
    owner: `user:${nameIn(payload, ownerClaim)}`,
    tenant: tenantClaim === undefined ? '' : nameIn(payload, tenantClaim),
    scopes,
  };
}

function nameIn(payload: JWTPayload, claim: string): string {
  const value = payload[claim];
  if (typeof value === 'string' && value !== '' && value.length <= MAX_NAME_LENGTH) return value;
  throw noBearer(`The claim ${claim} is not a name.`);
}

function scopesIn(claim: unknown): ReadonlySet<string> {
  const words: readonly unknown[] =
    typeof claim === 'string' ? claim.split(' ') : Array.isArray(claim) ? claim : [];
  return new Set(words.filter((word) => typeof word === 'string' && word !== '') as string[]);
}

/** What is wrong with a token, without anything that stands in it. */
function reasonOf(error: unknown): string {
  const { code, claim } = (error ?? {}) as { readonly code?: unknown; readonly claim?: unknown };
  switch (code) {
    case 'ERR_JWT_EXPIRED':
      return 'The token has expired.';
    case 'ERR_JWT_CLAIM_VALIDATION_FAILED':
      return `The claim ${String(claim)} is missing or not what it must be.`;
    case 'ERR_JOSE_ALG_NOT_ALLOWED':
      return 'The algorithm of the token is not accepted.';
    case 'ERR_JWKS_NO_MATCHING_KEY':
    case 'ERR_JWKS_MULTIPLE_MATCHING_KEYS':
      return 'The token was not signed with a known key.';
    case 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED':
      return 'The signature of the token is wrong.';
    default:
      return 'The token is not a signed JWT.';
  }
}
