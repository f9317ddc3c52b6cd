import { timingSafeEqual } from 'node:crypto';
import type { Caller, Credentials } from '../core/identity.js';
import { bearerToken, noBearer } from './bearer.js';
import type { Verifier } from './verifier.js';

/** One secret for everybody: whoever has it is `caller`. */
export function createTokenVerifier(token: string, caller: Caller): Verifier {
  const isToken = equalityWith(token);
  return ({ authorization }: Credentials) => {
    const given = bearerToken(authorization);
    if (given === undefined) throw noBearer();
    if (!isToken(given)) throw noBearer('The token is wrong.');
    return caller;
  };
}

/** How long it takes tells nothing of what `secret` holds: every byte is compared, whatever was given. */
function equalityWith(secret: string): (given: string) => boolean {
  const expected = Buffer.from(secret);
  const copy = Buffer.alloc(expected.length);
  return (given) => {
    // A longer one is cut, and a shorter one leaves bytes of an earlier one where they are.
    const written = copy.write(given);
    const isEqual = timingSafeEqual(copy, expected);
    return isEqual && written === expected.length && given.length === secret.length;
  };
}
