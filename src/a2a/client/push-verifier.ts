import { hash, timingSafeEqual } from 'node:crypto';
import type { RemoteJWKSet } from 'jose';
import { KEYS_PATH } from '../../core/card.js';
import { LangoError, errorText } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';

export interface PushVerifierOptions {
  /** The address of the sending server: the issuer of its signatures, with its keys below that address. */
  readonly issuer: string;
  /** The origin that the webhook was registered with, such as `https://receiver.example`. */
  readonly audience: string;
  /** The token of the push config, if it has one. */
  readonly token?: string;
  readonly fetch: typeof fetch;
}

/** A request as the webhook received it. */
export interface PushRequest {
  /** By lower-case name, as in Node's `IncomingMessage.headers`. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The exact bytes of the body. */
  readonly body: string;
}

export interface PushNotification {
  /** The id of the delivery. A retry has the same id: respond with 200 to an id that was handled before. */
  readonly id: string;
  readonly taskId: string;
  /** The event, a `StreamResponse` of A2A. */
  readonly event: JsonObject;
}

/** Rejects with `forbidden` unless the request is a current delivery of that server for this receiver. */
export type VerifyPush = (request: PushRequest) => Promise<PushNotification>;

const CLOCK_SKEW_SECONDS = 30;
/** Keys are read again when a signature names an unknown key, but not more often than this. */
const COOLDOWN_MS = 10_000;

/** Creates a function that verifies deliveries of push notifications. It reads the keys at the first one and keeps them. */
export function createPushVerifier({ issuer, audience, token, fetch }: PushVerifierOptions): VerifyPush {
  const address = new URL(issuer.replace(/\/+$/, '') + KEYS_PATH);
  let keys: RemoteJWKSet | undefined;
  return async ({ headers, body }) => {
    assertToken(token, single(headers['x-a2a-notification-token']));
    const { createRemoteJWKSet, customFetch, jwtVerify } = await import('jose');
    const times = { cooldownDuration: COOLDOWN_MS, cacheMaxAge: Infinity };
    keys ??= createRemoteJWKSet(address, { ...times, [customFetch]: fetch });
    try {
      const { payload } = await jwtVerify(single(headers['x-a2a-notification-signature']), keys, {
        issuer,
        audience,
        algorithms: ['EdDSA'],
        clockTolerance: CLOCK_SKEW_SECONDS,
        requiredClaims: ['exp', 'jti', 'task_id', 'body_sha256'],
      });
      if (payload['body_sha256'] !== hash('sha256', body, 'base64url'))
        throw new Error('the body was changed');
      return {
        id: String(payload.jti),
        taskId: String(payload['task_id']),
        event: JSON.parse(body) as JsonObject,
      };
    } catch (cause) {
      const text = `The request is not a valid delivery of ${issuer}: ${errorText(cause)}.`;
      throw new LangoError('forbidden', text, { cause });
    }
  };
}

function assertToken(expected: string | undefined, given: string): void {
  if (expected === undefined) return;
  const [a, b] = [hash('sha256', expected, 'buffer'), hash('sha256', given, 'buffer')];
  if (!timingSafeEqual(a, b)) throw new LangoError('forbidden', 'The notification token is wrong.');
}

function single(header: string | readonly string[] | undefined): string {
  return typeof header === 'string' ? header : (header?.[0] ?? '');
}
