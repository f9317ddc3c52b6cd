import { hash } from 'node:crypto';
import { LangoError, isLangoError } from '../core/errors.js';
import type { Caller } from '../core/identity.js';
import type { JsonObject } from '../core/json.js';
import { isJsonObject } from '../core/json.js';
import { callerOf, type JwtRules } from './jwt-identity.js';
import type { Verifier } from './verifiers.js';
import { bearerToken, noBearer } from './verifiers.js';

export interface IntrospectionOptions {
  /** The introspection endpoint of the issuer (RFC 7662). */
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** How long an answer is used, at most until the token ends. */
  readonly cacheSeconds: number;
  /** Whether signed tokens are asked about too, so that a revoked one is refused. */
  readonly always: boolean;
  readonly fetch: typeof fetch;
}

const MAX_ANSWERS = 10_000;
const MAX_QUESTIONS = 100;
const LONGEST_TOKEN = 16 * 1024;
const SIGNED = /^[\w-]+\.[\w-]+\.[\w-]+$/;

interface Answer {
  readonly caller: Promise<Caller>;
  until: number;
}

/**
 * Asks the issuer about tokens that are not signed, and with `always` about signed ones that `verifySigned` accepts. An
 * answer is kept for `cacheSeconds`; it counts for the same token only.
 */
export function createIntrospectionVerifier(
  options: IntrospectionOptions,
  rules: JwtRules,
  verifySigned: Verifier,
): Verifier {
  const answers = new Map<string, Answer>();
  let questions = 0;

  const ask = async (token: string, answer: Answer): Promise<Caller> => {
    if (questions >= MAX_QUESTIONS) throw unavailable('too many tokens are being checked');
    questions += 1;
    try {
      const facts = await introspect(token, options);
      const left = secondsLeft(facts);
      const seconds = left > 0 ? Math.min(options.cacheSeconds, left) : options.cacheSeconds;
      answer.until = performance.now() + 1_000 * seconds;
      return callerIn(facts, rules);
    } finally {
      questions -= 1;
    }
  };
  const find = (token: string): Promise<Caller> => {
    const key = hash('sha256', token, 'base64');
    const known = answers.get(key);
    if (known && performance.now() < known.until) return known.caller;
    const { promise, resolve } = Promise.withResolvers<Caller>();
    const answer: Answer = { caller: promise, until: Infinity };
    answers.delete(key);
    if (answers.size >= MAX_ANSWERS) answers.delete(answers.keys().next().value!);
    answers.set(key, answer);
    resolve(ask(token, answer));
    promise.catch((error: unknown) => {
      // Without an answer of the issuer the next request asks again.
      if (!isLangoError(error, 'unauthenticated') && answers.get(key) === answer) answers.delete(key);
    });
    return promise;
  };
  return async (credentials) => {
    const token = bearerToken(credentials.authorization);
    if (token === undefined || token.length > LONGEST_TOKEN) throw noBearer();
    if (!SIGNED.test(token)) return find(token);
    const caller = await verifySigned(credentials);
    return options.always ? find(token) : caller;
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
    throw unavailable('their issuer cannot be asked', cause);
  });
  const facts: unknown = response.ok ? await response.json().catch(() => undefined) : undefined;
  if (!response.ok) await response.body?.cancel();
  if (isJsonObject(facts) && typeof facts['active'] === 'boolean') return facts;
  throw unavailable('their issuer does not answer as RFC 7662 says');
}

/** Keeps the rules of signed tokens, apart from the signature. Throws `unauthenticated`. */
function callerIn(facts: JsonObject, rules: JwtRules): Caller {
  if (facts['active'] !== true) throw noBearer('The token is not active.');
  if (secondsLeft(facts) <= 0) throw noBearer('The token has expired.');
  const { iss, aud } = facts;
  if (iss !== undefined && iss !== rules.issuer) throw missing('iss');
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  if (!audiences.some((one) => rules.audience.includes(String(one)))) throw missing('aud');
  const absent = rules.requiredClaims.find((claim) => facts[claim] === undefined);
  if (absent !== undefined) throw missing(absent);
  return callerOf(facts, rules);
}

function missing(claim: string): LangoError {
  return noBearer(`The claim ${claim} is missing or not what it must be.`);
}

/** Until the end of the token; without one, forever. */
function secondsLeft({ exp }: JsonObject): number {
  return typeof exp === 'number' ? exp - Date.now() / 1_000 : Infinity;
}

function unavailable(why: string, cause?: unknown): LangoError {
  return new LangoError('unavailable', `Tokens cannot be checked now: ${why}.`, { retryable: true, cause });
}
