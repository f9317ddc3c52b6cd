import type { JsonObject } from '../../core/json.js';
import type { SigningKey } from '../../core/card.js';

/** A JSON Web Token in its compact form (RFC 7519). */
export function signJwt(key: SigningKey, claims: JsonObject): string {
  const head = encode({ alg: key.publicJwk.alg, kid: key.kid, typ: 'JWT' });
  const bytes = `${head}.${encode(claims)}`;
  return `${bytes}.${key.sign(bytes)}`;
}

export interface DetachedSignature {
  readonly protected: string;
  readonly signature: string;
}

/** A JSON Web Signature whose payload travels apart from it (RFC 7515 appendix F). */
export function signDetached(key: SigningKey, payload: string): DetachedSignature {
  const head = encode({ alg: key.publicJwk.alg, kid: key.kid, typ: 'JOSE' });
  return { protected: head, signature: key.sign(`${head}.${Buffer.from(payload).toString('base64url')}`) };
}

function encode(value: JsonObject): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
