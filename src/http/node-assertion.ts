import type { CryptoKey } from 'jose';
import { BoundedCache } from '../core/bounded-cache.js';
import { signJwt, type SigningKey } from '../core/card.js';
import { codeOf, isLangoError, LangoError } from '../core/errors.js';
import type { Caller } from '../core/identity.js';
import { newId } from '../core/ids.js';
import { parseObject } from '../core/json.js';
import { reasonOf, scopesIn } from './jwt-identity.js';
import type { JwtKeys } from './jwt-keys.js';
import { MAX_NAME_LENGTH, bearerToken, noBearer, type Verifier } from './verifiers.js';

/** The `typ` of a token with which one node calls another on behalf of an owner (RFC 7523; RFC 8725 section 3.11). */
const ASSERTION_TYPE = 'lango-node+jwt';

const LIFETIME_SECONDS = 60;
const SKEW_SECONDS = 30;
const ALGORITHMS = ['EdDSA', 'ES256', 'RS256', 'PS256'];
/** Maximum ids of used tokens in memory. Beyond it the oldest are dropped. */
const USED_TOKENS_MAX = 100_000;
/** The start of a node's name; the thumbprint of its key follows (RFC 9278). */
const THUMBPRINT = 'urn:ietf:params:oauth:jwk-thumbprint:sha-256:';
const HEADER_MAX_LENGTH = 1_000;

interface AssertionFacts {
  readonly key: SigningKey;
  readonly audience: string; // The node that is called.
  readonly caller: Caller;
  readonly task: string | undefined; // The task that delegates.
}

/** Returns a token for one request. */
export function signAssertion({ key, audience, caller, task }: AssertionFacts): string {
  const { owner, tenant, scopes } = caller;
  const now = Math.floor(Date.now() / 1_000);
  const claims = {
    ...{ iss: THUMBPRINT + key.kid, aud: audience, sub: owner, tenant },
    ...(scopes && { scope: [...scopes] }),
    ...(task !== undefined && { task }),
    ...{ jti: newId(), iat: now, exp: now + LIFETIME_SECONDS },
  };
  return signJwt(key, claims, ASSERTION_TYPE);
}

/** The right to do everything that the owners of a node may do. */
const MAY_ACT = 'act';

export type TrustedNode = Readonly<{ name: string; keys: JwtKeys; may: readonly string[] }>;

/** The nodes that are trusted to name the owner of a request. */
export interface TrustedNodes {
  readonly nodes: readonly TrustedNode[];
  readonly audience: string;
  /** The right with which a node may ask for a path, also without `MAY_ACT`; undefined for all other paths. */
  readonly rightFor: (path: string) => string | undefined;
}

/** Accepts each token of a trusted node once, and passes all other credentials to `others`. */
export function createNodeVerifier({ nodes, audience, rightFor }: TrustedNodes, others: Verifier): Verifier {
  const options = {
    ...{ audience, algorithms: ALGORITHMS, typ: ASSERTION_TYPE, clockTolerance: SKEW_SECONDS },
    maxTokenAge: LIFETIME_SECONDS,
    requiredClaims: ['iss', 'exp', 'jti', 'sub', 'tenant'],
  };
  /** The ids of used tokens, each with the time at which it may be dropped, the oldest first. */
  const used = new BoundedCache<string, number>(USED_TOKENS_MAX);
  const thumbprints = new WeakMap<CryptoKey, Promise<string>>();
  /** The id of a key in its set is not enough: a node may give its own key the id of another node's key. */
  const thumbprintOf = async (key: CryptoKey): Promise<string> => {
    const { calculateJwkThumbprint } = await import('jose');
    const known = thumbprints.get(key) ?? calculateJwkThumbprint(key);
    thumbprints.set(key, known);
    return known;
  };
  return async (credentials) => {
    const token = bearerToken(credentials.authorization);
    if (token === undefined || typeOf(token) !== ASSERTION_TYPE) return others(credentials);
    const { jwtVerify } = await import('jose');
    const verified = nodes.map(({ keys }) => jwtVerify(token, keys.find, options));
    try {
      const { payload, key } = await Promise.any(verified).catch(mainReason);
      const thumbprint = await thumbprintOf(key);
      if (payload.iss !== THUMBPRINT + thumbprint) throw noBearer('The token names another node.');
      const caller = callerIn(payload);
      if (!isFirstUse(`${payload.iss} ${payload.jti}`, used)) throw noBearer('The token was used before.');
      const right = credentials.path === undefined ? undefined : rightFor(credentials.path);
      const mayAsk = ({ may }: Sender) =>
        may.includes(MAY_ACT) || (right !== undefined && may.includes(right));
      let node = senderOf(nodes, thumbprint);
      if (!mayAsk(node)) {
        // The keys of the node that sent it may still be on their way, while another node publishes the same key.
        await Promise.allSettled(verified);
        node = senderOf(nodes, thumbprint);
      }
      if (!mayAsk(node)) {
        const text = `The node ${node.name} may not do this here; it may: ${node.may.join(', ')}.`;
        throw new LangoError('forbidden', text, { hint: 'auth.nodes of this server says what it may do.' });
      }
      return { ...caller, node };
    } catch (error) {
      throw isLangoError(error) ? error : noBearer(reasonOf(error));
    }
  };
}

type Sender = NonNullable<Caller['node']>;

/**
 * The node that signed with a key. Several nodes may publish the same public key, although one has the private one. So a
 * node loses no right, and gets no other name, when another one publishes its key: all are named, in the order of the
 * configuration, and the key has the rights that each of them has.
 */
function senderOf(nodes: readonly TrustedNode[], thumbprint: string): Sender {
  const senders = nodes.filter(({ keys }) => keys.has(thumbprint));
  return { name: senders.map(({ name }) => name).join(' or '), may: senders.flatMap(({ may }) => may) };
}

/** Throws the error of the node with the key of the token, else that of a node whose keys cannot be read now. */
function mainReason({ errors }: AggregateError): never {
  const reasons = errors as readonly unknown[];
  const isUnknownKey = (reason: unknown) => codeOf(reason) === 'ERR_JWKS_NO_MATCHING_KEY';
  throw (
    reasons.find((reason) => !isUnknownKey(reason) && !isLangoError(reason)) ??
    reasons.find((reason) => isLangoError(reason)) ??
    reasons[0]
  );
}

/** Returns false for the id of a token that was used before. Keeps the id until the token expires. */
function isFirstUse(id: string, used: BoundedCache<string, number>): boolean {
  const now = performance.now();
  for (const [known, until] of used) {
    if (until > now) break;
    used.take(known);
  }
  if (used.get(id) !== undefined) return false;
  used.set(id, now + 1_000 * (LIFETIME_SECONDS + 2 * SKEW_SECONDS));
  return true;
}

/** The `typ` of a JWT; undefined for any other token. */
function typeOf(token: string): unknown {
  const [head = ''] = token.split('.', 1);
  if (head === token || head.length > HEADER_MAX_LENGTH) return undefined;
  return parseObject(Buffer.from(head, 'base64url').toString())?.['typ'];
}

/** Reads the owner from a token. The nodes of one stack have the same owners, so the name needs no prefix. */
function callerIn({ sub: owner, tenant, scope }: Readonly<Record<string, unknown>>): Caller {
  const isName = (value: unknown): value is string =>
    typeof value === 'string' && value.length <= MAX_NAME_LENGTH;
  if (!isName(owner) || owner === '' || !isName(tenant)) throw noBearer('The token names no owner.');
  return { owner, tenant, ...(scope !== undefined && { scopes: scopesIn(scope) }) };
}
