import { hash } from 'node:crypto';
import { BoundedCache } from '../core/bounded-cache.js';
import { LangoError, isLangoError } from '../core/errors.js';
import type { Caller } from '../core/identity.js';
import { isJsonObject, type JsonObject } from '../core/json.js';
import { callerOf, wrongClaim, type JwtRules } from './jwt-identity.js';
import { bearerToken, noBearer, type Verifier } from './verifiers.js';

export interface IntrospectionOptions {
  /** The introspection endpoint of the issuer (RFC 7662). */
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Time for which a response of the issuer is reused, at most until the token expires. */
  readonly cacheSeconds: number;
  /** Whether signed tokens are introspected too, so that revoked ones are refused. */
  readonly always: boolean;
  readonly fetch: typeof fetch;
}

const MAX_CACHED = 10_000;
const MAX_CONCURRENT = 100;
const TOKEN_MAX_LENGTH = 16 * 1024;
const SIGNED = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** `life.until` is known once the issuer has responded. */
type CachedCaller = Readonly<{ caller: Promise<Caller>; life: { until: number } }>;

/** Asks the issuer about tokens that are not signed, and with `always` also about signed ones that `verifySigned` accepts. */
export function createIntrospectionVerifier(
  options: IntrospectionOptions,
  rules: JwtRules,
  verifySigned: Verifier,
): Verifier {
  const cached = new BoundedCache<string, CachedCaller>(MAX_CACHED);
  let running = 0;

  const introspectCaller = async (token: string, life: CachedCaller['life']): Promise<Caller> => {
    if (running >= MAX_CONCURRENT) throw unavailable('too many tokens are being checked');
    running += 1;
    try {
      const facts = await introspect(token, options);
      const left = secondsLeft(facts);
      const seconds = left > 0 ? Math.min(options.cacheSeconds, left) : options.cacheSeconds;
      life.until = performance.now() + 1_000 * seconds;
      return callerIn(facts, rules);
    } finally {
      running -= 1;
    }
  };
  const cachedCaller = (token: string): Promise<Caller> => {
    const key = hash('sha256', token, 'base64');
    const known = cached.get(key);
    if (known && performance.now() < known.life.until) return known.caller;
    const life = { until: Infinity };
    const own = { life, caller: introspectCaller(token, life) };
    cached.set(key, own);
    own.caller.catch((error: unknown) => {
      // If the issuer did not respond, the next request asks again.
      if (!isLangoError(error, 'unauthenticated') && cached.get(key) === own) cached.take(key);
    });
    return own.caller;
  };
  return async (credentials) => {
    const token = bearerToken(credentials.authorization);
    if (token === undefined || token.length > TOKEN_MAX_LENGTH) throw noBearer();
    if (!SIGNED.test(token)) return cachedCaller(token);
    const caller = await verifySigned(credentials);
    return options.always ? cachedCaller(token) : caller;
  };
}

async function introspect(token: string, options: IntrospectionOptions): Promise<JsonObject> {
  const { url, clientId, clientSecret, fetch: send } = options;
  const pair = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`;
  const response = await send(url, {
    method: 'POST',
    headers: {
      accept: 'application/json',
      authorization: `Basic ${Buffer.from(pair).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({ token, token_type_hint: 'access_token' }).toString(),
  }).catch((cause: unknown) => {
    throw unavailable('their issuer cannot be reached', cause);
  });
  const facts: unknown = response.ok ? await response.json().catch(() => undefined) : undefined;
  if (!response.ok) await response.body?.cancel();
  if (isJsonObject(facts) && typeof facts['active'] === 'boolean') return facts;
  throw unavailable('the response of their issuer does not follow RFC 7662');
}

/** Reads the caller from a response. Applies the rules of signed tokens, apart from the signature. Throws `unauthenticated`. */
function callerIn(facts: JsonObject, rules: JwtRules): Caller {
  if (facts['active'] !== true) throw noBearer('The token is not active.');
  const { iss, aud, exp } = facts;
  if (exp !== undefined && typeof exp !== 'number') throw noBearer(wrongClaim('exp'));
  if (secondsLeft(facts) <= 0) throw noBearer('The token has expired.');
  if (iss !== undefined && iss !== rules.issuer) throw noBearer(wrongClaim('iss'));
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  if (!audiences.some((one) => rules.audience.includes(String(one)))) throw noBearer(wrongClaim('aud'));
  const absent = rules.requiredClaims.find((claim) => facts[claim] === undefined);
  if (absent !== undefined) throw noBearer(wrongClaim(absent));
  return callerOf(facts, rules);
}

/** The seconds until the token expires; `Infinity` for a token that does not expire. */
const secondsLeft = ({ exp }: JsonObject) => (typeof exp === 'number' ? exp - Date.now() / 1_000 : Infinity);

function unavailable(why: string, cause?: unknown): LangoError {
  return new LangoError('unavailable', `Tokens cannot be checked now: ${why}.`, { retryable: true, cause });
}
