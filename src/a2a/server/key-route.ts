import type { HttpRoute } from '../../core/http.js';
import type { ReadKeys } from '../../core/keys.js';
import { answerDocument } from './discovery.js';

/** Where receivers of push notifications and readers of cards find this node's public keys. */
export const KEYS_PATH = '/.well-known/jwks.json';

const TYPE = 'application/jwk-set+json';

/** The public keys, for everybody: those that sign now, and those of before that may still be met. */
export function createKeyRoute(keys: ReadKeys): HttpRoute {
  return async (exchange) => {
    if (exchange.path !== KEYS_PATH) return false;
    const { published } = await keys();
    answerDocument(exchange, TYPE, { keys: published.map(({ publicJwk }) => publicJwk) });
    return true;
  };
}
