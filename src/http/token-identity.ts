import { hash, timingSafeEqual } from 'node:crypto';
import type { Caller, Credentials } from '../core/identity.js';
import { bearerToken, noBearer } from './bearer.js';
import type { Verifier } from './verifier.js';

/** One secret for everybody: whoever has it is `caller`. */
export function createTokenVerifier(token: string, caller: Caller): Verifier {
  const expected = digest(token);
  return ({ authorization }: Credentials) => {
    const given = bearerToken(authorization);
    if (given === undefined) throw noBearer();
    // Hashing first makes both sides the same length, so that the comparison tells nothing.
    if (!timingSafeEqual(digest(given), expected)) throw noBearer('The token is wrong.');
    return caller;
  };
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
