import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SERVED_CARDS, ed25519Key } from '../support/served-cards.js';
import { withServer } from '../support/server.js';
import type { JsonObject } from '../../src/core/json.js';
import { LinePeer, folderOf } from './line-peer.js';
import { SDKS } from './sdks.js';

/**
 * Our signed cards in the verifier of the SDK for Python. That of the SDK for JavaScript is in a2a/signed-cards.test.ts;
 * the SDKs for Java, Go and .NET have none.
 */
const PYTHON = SDKS.find(({ folder }) => folder === 'a2a-python')!;
const isThere = folderOf(PYTHON) !== undefined;
if (!isThere)
  console.warn(
    'SKIPPED: a2a-sdk (Python) is not installed: .ci/frameworks FOLDER, LANGO_TEST_FRAMEWORKS=FOLDER',
  );

(isThere ? describe : describe.skip)('the verifier of the SDK for Python', () => {
  let peer: LinePeer;
  beforeAll(() => {
    peer = new LinePeer(PYTHON);
  });
  afterAll(() => peer[Symbol.asyncDispose]());

  it.each(SERVED_CARDS)('accepts the cards of mode %s, for 1.0 and for any version', async (_mode, build) => {
    const key = ed25519Key();
    const jwks = { keys: [{ ...key.publicJwk }] };
    for (const card of build(key)) {
      await expect(peer.do('verify', { card, jwks })).resolves.toEqual({});
      const changed = { ...card, description: 'Another agent.' };
      expect((await peer.tryTo('verify', { card: changed, jwks })).error).toMatch(/InvalidSignatures/);
    }
  });

  it('accepts the cards of a running server', async () => {
    await withServer({}, async ({ address: { origin } }) => {
      const read = async (path: string) => (await (await fetch(origin + path)).json()) as JsonObject;
      const jwks = await read('/.well-known/jwks.json');
      for (const path of ['', '/agents/planner']) {
        const card = await read(`${path}/.well-known/agent-card.json`);
        await expect(peer.do('verify', { card, jwks })).resolves.toEqual({});
      }
    });
  });
});
