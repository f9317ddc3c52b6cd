import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { SettingsInput } from '../../src/index.js';
import type { Stranger } from './stranger.js';

const ISSUER = 'https://issuer.example';
const AUDIENCE = 'abuse';
const TOKEN_SECONDS = 7_200;
const { publicKey, privateKey } = await generateKeyPair('ES256');

/** The key set of the issuer of `sign`, which a stranger has at `/jwks`. */
export const KEYS = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256' }] };
/** Accepts tokens of that issuer; the keys are still to be named. */
export const JWT = { issuer: ISSUER, audience: [AUDIENCE] };

/** Signs a token with these claims, which may be wrong. */
export function sign(claims: object): Promise<string> {
  return new SignJWT({ iss: ISSUER, aud: AUDIENCE, exp: Date.now() / 1_000 + TOKEN_SECONDS, ...claims })
    .setProtectedHeader({ alg: 'ES256', kid: 'k' })
    .sign(privateKey);
}

/** A server of several persons, whose issuer the stranger is. */
export const withPersons = ({ url }: Stranger): SettingsInput => ({
  approval: { policy: 'none' },
  auth: { mode: 'jwt', jwt: { ...JWT, jwksUrl: `${url}/jwks` } },
  egress: { allowPrivate: [new URL(url).host] },
  tools: { secrets: { enabled: true } },
});
