import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { isJsonObject } from '../../src/core/json.js';
import type { Json, JsonObject } from '../../src/core/json.js';
import type { Tool } from '../../src/core/tool.js';
import { openFourFamilies, type FourFamilies } from '../support/four-families.js';
import { argumentsIn, OFFLINE_ROWS } from '../support/offline-rows.js';
import { toolNamed } from '../support/tool-call.js';

/** A valid input of each tool of the vault and the navigator, from which a test makes invalid ones. */
const PAYEE = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC';
const GOOD: Readonly<Record<string, JsonObject>> = {
  secrets_store: { name: 'fish', value: 'swordfish', for: ['exec'], hosts: ['a.example'], replace: true },
  secrets_get: { name: 'fish' },
  secrets_list: {},
  secrets_delete: { name: 'fish' },
  crypto_hash: { text: 'hello', algorithm: 'sha256', encoding: 'utf8' },
  crypto_create_key: { name: 'release', algorithm: 'p256' },
  crypto_keys: {},
  crypto_sign: { text: 'hello', key: 'release', format: 'jws' },
  crypto_verify: { signature: 'AAAA', text: 'hello', key: 'release' },
  crypto_encrypt: { text: 'hello', key: 'box' },
  crypto_decrypt: { ciphertext: 'a..b.c.d', key: 'box', saveAs: 'letter' },
  payment_balance: {},
  payment_send: { to: PAYEE, amount: '0.50', purpose: 'tea' },
  payment_history: { limit: 5 },
  payment_limits: {},
  payment_wallet_info: {},
  payment_create_wallet: {},
  payment_x402_fetch: {
    url: 'https://a.example/',
    maxAmount: '0.01',
    payTo: PAYEE,
    method: 'POST',
    body: 'x',
  },
  browser_navigate: { url: 'https://example.com/' },
  browser_search: { query: 'oranges' },
  browser_observe: {},
  browser_extract: { mode: 'text' },
  browser_act: { ref: 'p1e1', action: 'type', value: 'x' },
  browser_screenshot: { fullPage: true },
  browser_close: {},
};
const LONGEST_CALL_MS = 15 * 60_000;
/** Longer than any text that an argument may be. */
const HUGE = 'a'.repeat(2 * 1024 * 1024);

let families: FourFamilies;
beforeAll(async () => void (families = await openFourFamilies()));
afterAll(() => families.close());

const takes = (tool: Tool, input: JsonObject): boolean => tool.schema.safeParse(input).success;

function propertiesOf(tool: Tool): readonly (readonly [string, JsonObject])[] {
  const { properties } = z.toJSONSchema(tool.schema, { io: 'input' }) as unknown as JsonObject;
  return Object.entries(isJsonObject(properties) ? properties : {}).flatMap(([name, schema]) =>
    isJsonObject(schema as Json) ? [[name, schema as JsonObject] as const] : [],
  );
}

/** Values of every other kind than the schema's. */
function wrongKinds({ type }: JsonObject): readonly Json[] {
  const kinds = { string: 'x', number: 1.5, boolean: true, array: [[]], object: { a: 1 }, null: null };
  return Object.entries(kinds).flatMap(([kind, value]) =>
    kind === type || (kind === 'number' && type === 'integer') ? [] : [value],
  );
}

describe('the tools of the vault and the navigator', () => {
  it('are the expected ones', () => {
    expect(families.tools.map(({ name }) => name).sort()).toEqual(Object.keys(GOOD).sort());
  });

  it.each(Object.entries(GOOD))('%s accepts valid arguments, and no unknown ones', (name, good) => {
    const tool = toolNamed(families.tools, name);
    expect(takes(tool, good)).toBe(true);
    expect(takes(tool, { ...good, sudo: true })).toBe(false);
    for (const [property, schema] of propertiesOf(tool)) {
      for (const wrong of wrongKinds(schema)) {
        expect({ property, wrong, taken: takes(tool, { ...good, [property]: wrong }) }).toMatchObject({
          taken: false,
        });
      }
    }
  });

  it.each(Object.entries(GOOD))(
    '%s bounds every text, list and number and its time, and has a description',
    (name, good) => {
      const tool = toolNamed(families.tools, name);
      for (const [property, { type }] of propertiesOf(tool)) {
        const worse: Json =
          type === 'array' ? Array.from({ length: 1_000 }, () => 'exec') : type === 'integer' ? 1e9 : HUGE;
        if (type === 'boolean') continue;
        expect({ property, taken: takes(tool, { ...good, [property]: worse }) }).toMatchObject({
          taken: false,
        });
      }
      const ms = tool.timeoutMs(tool.schema.parse(good));
      expect(ms).toBeGreaterThan(0);
      expect(ms).toBeLessThanOrEqual(LONGEST_CALL_MS);
      expect(OFFLINE_ROWS.some((row) => row.tool === name)).toBe(true);
      expect(Object.keys(tool.schema.shape)).toEqual(expect.arrayContaining([...argumentsIn(name)]));
    },
  );
});
