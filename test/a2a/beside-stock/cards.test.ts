import { CARD_PATH } from '../../../src/core/card.js';
import type { JsonObject } from '../../../src/core/json.js';
import { besideStock } from './compare.js';
import type { Side } from './sides.js';

/** Lines 1 to 4 of table 3.1: the card, as it is served and signed. */

async function cardOf(side: Side): Promise<JsonObject> {
  return JSON.parse((await side.http(CARD_PATH)).text) as JsonObject;
}

besideStock('a served agent card', [
  {
    line: '3.1 #1 a card names its security schemes by the members of the protocol',
    ask: async (side) => Object.values((await cardOf(side))['securitySchemes']!).flatMap(Object.keys),
    ours: ['httpAuthSecurityScheme'],
    stock: ['scheme'],
  },
  {
    line: '3.1 #2 the signature of a card fails once its security members are stripped',
    async ask(side) {
      const card = await cardOf(side);
      const { securitySchemes: _, securityRequirements: __, ...stripped } = card;
      return { whole: await side.cards.verifies(card), stripped: await side.cards.verifies(stripped) };
    },
    ours: { whole: true, stripped: false },
    stock: { whole: true, stripped: true },
  },
  {
    line: '3.1 #2 the signed text of a card holds a security requirement without scopes',
    async ask({ cards }) {
      const requirements = { securityRequirements: [{ schemes: { bearer: {} } }] };
      return cards.canonical({ name: 'a', ...requirements }).includes('bearer');
    },
    ours: true,
    stock: false,
  },
  {
    line: '3.1 #3 the signed text of a card holds its required members even when they are empty',
    async ask({ cards }) {
      const signed = JSON.parse(
        cards.canonical({ name: 'a', description: '', version: '1', skills: [] }),
      ) as object;
      return { description: 'description' in signed, skills: 'skills' in signed };
    },
    ours: { description: true, skills: true },
    stock: { description: false, skills: false },
  },
  {
    line: '3.1 #3 a card verifies with a signature that names no type',
    ask: ({ cards }) => cards.takesUntyped({ name: 'a', description: 'b' }),
    ours: true,
    stock: false,
  },
  {
    line: '3.1 #4 a card is not sent again to a client that has its ETag',
    async ask(side) {
      const etag = (await side.http(CARD_PATH)).headers.get('etag')!;
      return (await side.http(CARD_PATH, { headers: { 'If-None-Match': etag } })).status;
    },
    ours: 304,
    stock: 200,
  },
]);
