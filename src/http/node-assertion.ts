import type { JWTPayload, JWTVerifyGetKey } from 'jose';
import type { SigningKey } from '../core/card.js';
import { codeOf, isLangoError, LangoError } from '../core/errors.js';
import type { Caller } from '../core/identity.js';
import { newId } from '../core/ids.js';
import type { JsonObject } from '../core/json.js';
import { reasonOf, scopesIn } from './jwt-identity.js';
import type { JwtKeys } from './jwt-keys.js';
import type { Verifier } from './verifiers.js';
import { MAX_NAME_LENGTH, bearerToken, noBearer } from './verifiers.js';

/** The `typ` of a token with which one node asks another on behalf of somebody (RFC 7523; RFC 8725 section 3.11). */
export const ASSERTION_TYPE = 'lango-node+jwt';

const LIFETIME_SECONDS = 60;
const SKEW_SECONDS = 30;
const ALGORITHMS = ['EdDSA', 'ES256', 'RS256', 'PS256'];
/** The most tokens of two minutes that are remembered: beyond, the oldest are forgotten. */
const MAX_USED = 100_000;
/** How a node names itself by its key (RFC 9278). */
const THUMBPRINT = 'urn:ietf:params:oauth:jwk-thumbprint:sha-256:';
/** The longest header of a JWT that is looked at, in characters. */
const MAX_HEADER = 1_000;

export interface AssertionFacts {
  readonly key: Pick<SigningKey, 'kid'>;
  /** The node that is asked. */
  readonly audience: string;
  readonly caller: Caller;
  /** The task that delegates. */
  readonly task: string | undefined;
}

/** The claims of a token for one request. */
export function assertionClaims({ key, audience, caller, task }: AssertionFacts): JsonObject {
  const { owner, tenant, scopes } = caller;
  const now = Math.floor(Date.now() / 1_000);
  return {
    ...{ iss: THUMBPRINT + key.kid, aud: audience, sub: owner, tenant },
    ...(scopes && { scope: [...scopes] }),
    ...(task !== undefined && { task }),
    ...{ jti: newId(), iat: now, exp: now + LIFETIME_SECONDS },
  };
}

/** The right to do all that the owners of a node may do themselves. */
const MAY_ACT = 'act';

/** A node of ours, and what it may do for every owner. */
interface TrustedNode {
  readonly name: string;
  readonly keys: JwtKeys;
  readonly may: readonly string[];
}

/** Whose keys are trusted to say who asks, and what their tokens must name as their audience. */
export interface TrustedNodes {
  readonly nodes: readonly TrustedNode[];
  readonly audience: string;
  /** The right with which a node may ask for a path, also without `MAY_ACT`; undefined for all other paths. */
  readonly rightFor: (path: string) => string | undefined;
}

/** Takes each token of trusted nodes once, and leaves all other credentials to `others`. */
export function createNodeVerifier({ nodes, audience, rightFor }: TrustedNodes, others: Verifier): Verifier {
  const options = {
    ...{ audience, algorithms: ALGORITHMS, typ: ASSERTION_TYPE, clockTolerance: SKEW_SECONDS },
    maxTokenAge: LIFETIME_SECONDS,
    requiredClaims: ['iss', 'exp', 'jti', 'sub', 'tenant'],
  };
  const used = new UsedTokens();
  return async (credentials) => {
    const token = bearerToken(credentials.authorization);
    if (token === undefined || typeOf(token) !== ASSERTION_TYPE) return others(credentials);
    const { jwtVerify } = await import('jose');
    const verified = nodes.map(async ({ name, may, keys }) => {
      const findKey: JWTVerifyGetKey = (header, input) => keys.find(header, input);
      const known = await jwtVerify(token, findKey, options);
      return { ...known, node: { name, may } };
    });
    try {
      const { payload, protectedHeader, node } = await Promise.any(verified).catch(mainReason);
      if (payload.iss !== `${THUMBPRINT}${protectedHeader.kid}`)
        throw noBearer('The token names another node.');
      const caller = callerIn(payload);
      if (!used.add(`${payload.iss} ${payload.jti}`)) throw noBearer('The token was used before.');
      const right = credentials.path === undefined ? undefined : rightFor(credentials.path);
      if (!node.may.includes(MAY_ACT) && (right === undefined || !node.may.includes(right))) {
        const text = `The node ${node.name} may not do this here; it may: ${node.may.join(', ')}.`;
        throw new LangoError('forbidden', text, { hint: 'auth.nodes of this server says what it may do.' });
      }
      return { ...caller, node };
    } catch (error) {
      throw isLangoError(error) ? error : noBearer(reasonOf(error));
    }
  };
}

/**
 * Throws the error that says most: of the node that has the key of the token, else of a node whose keys cannot be read
 * now, as it may be the one that signed.
 */
function mainReason({ errors }: AggregateError): never {
  const reasons = errors as readonly unknown[];
  const isUnknownKey = (reason: unknown) => codeOf(reason) === 'ERR_JWKS_NO_MATCHING_KEY';
  throw (
    reasons.find((reason) => !isUnknownKey(reason) && !isLangoError(reason)) ??
    reasons.find((reason) => isLangoError(reason)) ??
    reasons[0]
  );
}

/** The ids of the tokens that were used, for as long as they would be accepted again. */
class UsedTokens {
  /** When each may be forgotten, the oldest first. */
  readonly #until = new Map<string, number>();

  /** Returns false for an id that was added before. */
  add(id: string): boolean {
    const now = performance.now();
    for (const [known, until] of this.#until) {
      if (until > now && this.#until.size < MAX_USED) break;
      this.#until.delete(known);
    }
    if (this.#until.has(id)) return false;
    this.#until.set(id, now + 1_000 * (LIFETIME_SECONDS + 2 * SKEW_SECONDS));
    return true;
  }
}

/** The `typ` of a JWT; undefined for any other token. */
function typeOf(token: string): unknown {
  const [head = ''] = token.split('.', 1);
  if (head === token || head.length > MAX_HEADER) return undefined;
  try {
    return (JSON.parse(Buffer.from(head, 'base64url').toString()) as { readonly typ?: unknown } | null)?.typ;
  } catch {
    return undefined;
  }
}

/** The owner as the other node knows them: the nodes of one stack share their owners. */
function callerIn({ sub = '', tenant, scope }: JWTPayload): Caller {
  if (
    sub === '' ||
    sub.length > MAX_NAME_LENGTH ||
    typeof tenant !== 'string' ||
    tenant.length > MAX_NAME_LENGTH
  )
    throw noBearer('The token names no owner.');
  return { owner: sub, tenant, ...(scope !== undefined && { scopes: scopesIn(scope) }) };
}
