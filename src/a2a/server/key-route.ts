import { KEYS_PATH } from '../../core/card.js';
import type { HttpExchange } from '../../core/http.js';
import type { ReadKeys } from '../../core/card.js';
import { answerDocument } from './discovery.js';
import type { Shelf } from './shelf.js';

const TYPE = 'application/jwk-set+json';

/** Serves the public keys: those that sign now, and earlier ones whose signatures may still be in use. */
export async function answerKeys(exchange: HttpExchange, keys: ReadKeys, shelf: Shelf): Promise<void> {
  const { published } = await keys();
  const body = JSON.stringify({ keys: published.map(({ publicJwk }) => publicJwk) });
  answerDocument(exchange, { type: TYPE, document: shelf.get(KEYS_PATH, body, () => body) });
}
