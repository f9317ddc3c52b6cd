import { KEYS_PATH } from '../../core/card.js';
import type { HttpRoute } from '../../core/http.js';
import type { ReadKeys } from '../../core/keys.js';
import { answerDocument } from './discovery.js';
import { Shelf } from './shelf.js';

const TYPE = 'application/jwk-set+json';

/** The public keys, for everybody: those that sign now, and those of before that may still be met. */
export function createKeyRoute(keys: ReadKeys): HttpRoute {
  const shelf = new Shelf();
  return async (exchange) => {
    if (exchange.path !== KEYS_PATH) return false;
    exchange.anyone();
    const { published } = await keys();
    const body = JSON.stringify({ keys: published.map(({ publicJwk }) => publicJwk) });
    answerDocument(exchange, { type: TYPE, document: shelf.get(KEYS_PATH, body, () => body) });
    return true;
  };
}
