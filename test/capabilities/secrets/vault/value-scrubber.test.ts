import { describe, expect, it } from '@jest/globals';
import { compileValues } from '../../../../src/capabilities/secrets/vault/value-scrubber.js';

describe('a secret that is a JSON object', () => {
  const value = JSON.stringify({
    access_token: 'eyJh-access-4711',
    clientSecret: 'c1ient-5ecret',
    private_key: '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIB1PN\n-----END PRIVATE KEY-----\n',
    token_type: 'Bearer',
    token_uri: 'https://id.example/token',
    private_key_id: 'key-2026',
    password: 'short',
    refresh_token: 4711_4711,
  });
  const scrubber = compileValues([['google', value]]);

  it.each(['eyJh-access-4711', 'c1ient-5ecret', 'MC4CAQAwBQYDK2VwBCIEIB1PN'])(
    'has its member value %s scrubbed by itself',
    (text) => {
      expect(scrubber.text(`it is ${text}.`)).toMatch(
        /^it is (\{\{secret:google\}\}|\[secret google, encoded\])\.$/,
      );
    },
  );

  it('has no other member scrubbed, and its whole value scrubbed as one', () => {
    const ordinary = 'Bearer of https://id.example/token with key-2026, short, 47114711';
    expect(scrubber.text(ordinary)).toBe(ordinary);
    expect(scrubber.text(value)).toBe('{{secret:google}}');
  });
});

it.each(['{broken', '{"password":', '[{"password":"hunter2"}]', '{      }'])(
  'a secret that is no JSON object with text members has none of its parts scrubbed: %j',
  (value) => {
    expect(compileValues([['odd', value]]).text('hunter2')).toBe('hunter2');
  },
);
