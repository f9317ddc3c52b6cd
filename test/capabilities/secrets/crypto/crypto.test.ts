import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createDecipheriv, createPrivateKey } from 'node:crypto';
import type { Json, JsonObject } from '../../../../src/core/json.js';
import type { Tool } from '../../../../src/core/tool.js';
import { createCryptoTools } from '../../../../src/capabilities/secrets/crypto/index.js';
import type { TestVault } from '../../../support/open-vault.js';
import { openTestVault } from '../../../support/open-vault.js';
import { callerOf, toolContext, toolNamed } from '../../../support/tool-call.js';

const ALICE = { tenant: '', owner: 'alice' };

let vault: TestVault;
let tools: readonly Tool[];
let call: (name: string, input: unknown, key?: string) => Promise<JsonObject>;

beforeAll(async () => {
  vault = await openTestVault();
  tools = createCryptoTools(vault.vault, vault.secrets);
  const caller = callerOf(tools);
  let calls = 0;
  call = async (name, input, key) => {
    calls += 1;
    const context = { key: key ?? calls.toString(16).padStart(64, '0'), owner: ALICE.owner };
    return (await caller(name, input, context)).content as JsonObject;
  };
});

afterAll(() => vault.close());

describe('crypto_hash', () => {
  // FIPS 180-4 and FIPS 202, the example "abc".
  it.each([
    ['sha256', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
    [
      'sha384',
      'cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7',
    ],
    [
      'sha512',
      'ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f',
    ],
    ['sha3-256', '3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532'],
    [
      'sha3-512',
      'b751850b1a57168a5693cd924b6b096e08f621827444f70d884f5d0240d2712e10e116e9192af3c91a7ec57647e3934057340b4cf408d5a56592f8274eec53f0',
    ],
  ])('computes the %s of the standard example', async (algorithm, expected) => {
    expect(await call('crypto_hash', { text: 'abc', algorithm })).toEqual({
      algorithm,
      hash: expected,
      bytes: 3,
    });
    expect(await call('crypto_hash', { text: 'YWJj', algorithm, encoding: 'base64' })).toMatchObject({
      hash: expected,
    });
  });

  it('refuses invalid base64 and unknown algorithms', async () => {
    await expect(call('crypto_hash', { text: 'a b!', encoding: 'base64' })).rejects.toThrow(
      'text: it is not valid base64',
    );
    await expect(call('crypto_hash', { text: 'a', algorithm: 'md5' })).rejects.toThrow();
  });
});

describe('signatures', () => {
  it('follow RFC 8032 (7.1, test 2) for Ed25519', async () => {
    const seed = '4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb';
    const value = Buffer.from(`302e020100300506032b657004220420${seed}`, 'hex');
    const metadata = { algorithm: 'ed25519', call: 'x' };
    await vault.vault.put(ALICE, { kind: 'key', name: 'rfc8032', value, metadata });
    const { signature } = await call('crypto_sign', { text: 'r', key: 'rfc8032' });
    expect(Buffer.from(text(signature), 'base64').toString('hex')).toBe(
      '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
    );
  });

  it.each([
    [
      'ES256 (RFC 7515, A.3)',
      {
        kty: 'EC',
        crv: 'P-256',
        x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
        y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
      },
      'eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q',
    ],
    [
      'EdDSA (RFC 8037, A.4)',
      { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' },
      'eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg',
    ],
  ])('verify the published example of %s, and not a changed one', async (_name, jwk, jws) => {
    const publicKey = JSON.stringify(jwk);
    expect(await call('crypto_verify', { signature: jws, publicKey })).toMatchObject({ valid: true });
    const changed = jws.replace('.RXhh', '.RXhi').replace('.eyJpc3', '.eyJpc4');
    expect(await call('crypto_verify', { signature: changed, publicKey })).toMatchObject({ valid: false });
    expect(await call('crypto_verify', { signature: jws, text: 'other', publicKey })).toMatchObject({
      valid: false,
    });
  });

  it.each(['ed25519', 'p256'])('verify for their text and key only, with %s keys', async (algorithm) => {
    const name = `sign-${algorithm}`;
    const { created } = await call('crypto_create_key', { name, algorithm });
    await call('crypto_create_key', { name: `${name}-other`, algorithm });
    const { publicKey, jwk } = created as JsonObject;
    for (const format of ['detached', 'jws']) {
      const { signature } = await call('crypto_sign', { text: 'hello ä', key: name, format });
      const asked = { signature, text: 'hello ä' };
      for (const by of [{ key: name }, { publicKey }, { publicKey: JSON.stringify(jwk) }]) {
        expect(await call('crypto_verify', { ...asked, ...by })).toMatchObject({ valid: true, algorithm });
      }
      expect(await call('crypto_verify', { ...asked, text: 'hello', key: name })).toMatchObject({
        valid: false,
      });
      expect(await call('crypto_verify', { ...asked, key: `${name}-other` })).toMatchObject({
        valid: false,
      });
    }
    expect(await call('crypto_verify', { signature: 'AAAA', text: 'x', key: name })).toMatchObject({
      valid: false,
    });
  });

  it('fail with the reason for an unsuitable key', async () => {
    await call('crypto_create_key', { name: 'box1', algorithm: 'aes256' });
    const cases = [
      ['crypto_sign', { text: 'a', key: 'nothing' }, 'there is no key "nothing"'],
      ['crypto_sign', { text: 'a', key: 'box1' }, 'is for encryption'],
      ['crypto_verify', { signature: 'a', text: 'a' }, 'give exactly one of the two'],
      ['crypto_verify', { signature: 'AAAA', key: 'sign-p256' }, 'text: it is required'],
      ['crypto_verify', { signature: 'a', text: 'a', publicKey: 'nonsense' }, 'publicKey: it must be'],
      ['crypto_encrypt', { text: 'a', key: 'sign-p256' }, 'is for signatures'],
    ] as const;
    for (const [name, input, problem] of cases) await expect(call(name, input)).rejects.toThrow(problem);
  });
});

describe('keys', () => {
  it('are created once for one call, also when it is repeated, and never overwritten', async () => {
    const key = 'f'.repeat(64);
    const first = await call('crypto_create_key', { name: 'once' }, key);
    expect(await call('crypto_create_key', { name: 'once' }, key)).toEqual(first);
    await expect(call('crypto_create_key', { name: 'once' })).rejects.toMatchObject({ code: 'conflict' });
    expect(first).toMatchObject({ created: { name: 'once', algorithm: 'ed25519' } });
  });

  it('show their public part and never the private one, to their owner only', async () => {
    await call('crypto_create_key', { name: 'shown', algorithm: 'p256' });
    const told = JSON.stringify(await call('crypto_keys', {}));
    const entry = await vault.vault.get(ALICE, 'key', 'shown');
    const { d = '' } = createPrivateKey({
      key: Buffer.from(entry!.value),
      format: 'der',
      type: 'pkcs8',
    }).export({ format: 'jwk' });
    expect(d).toHaveLength(43);
    expect(told).not.toContain(d);
    expect(told).not.toContain('PRIVATE');
    expect(told).toContain('-----BEGIN PUBLIC KEY-----');
    const bob = await toolNamed(tools, 'crypto_keys').execute({}, toolContext({ owner: 'bob' }));
    expect(bob.content).toBe('There are no keys.');
  });
});

describe('encryption', () => {
  it('produces a JWE that AES-256-GCM alone opens, and refuses a changed one', async () => {
    await call('crypto_create_key', { name: 'box2', algorithm: 'aes256' });
    const { ciphertext } = await call('crypto_encrypt', { text: 'meet at noon', key: 'box2' });
    const [head = '', none, iv = '', body = '', tag = ''] = text(ciphertext).split('.');
    expect(JSON.parse(Buffer.from(head, 'base64url').toString())).toEqual({
      alg: 'dir',
      enc: 'A256GCM',
      kid: 'box2',
    });
    expect(none).toBe('');
    const entry = await vault.vault.get(ALICE, 'key', 'box2');
    const decipher = createDecipheriv('aes-256-gcm', entry!.value, Buffer.from(iv, 'base64url'));
    decipher.setAAD(Buffer.from(head)).setAuthTag(Buffer.from(tag, 'base64url'));
    const plain = Buffer.concat([decipher.update(Buffer.from(body, 'base64url')), decipher.final()]);
    expect(plain.toString()).toBe('meet at noon');
    for (const wrong of [text(ciphertext).replace(/.$/, 'x').replace('..', '..A'), 'a.b.c.d.e', 'nonsense']) {
      await expect(call('crypto_decrypt', { ciphertext: wrong, key: 'box2' })).rejects.toThrow(
        'ciphertext: it is not a compact JWE',
      );
    }
  });

  it('stores decrypted text as a new secret, once for one call, and never returns the text', async () => {
    await call('crypto_create_key', { name: 'box3', algorithm: 'aes256' });
    const { ciphertext } = await call('crypto_encrypt', { text: 'the old mill', key: 'box3' });
    const key = 'e'.repeat(64);
    const first = await call('crypto_decrypt', { ciphertext, key: 'box3' }, key);
    expect(first).toMatchObject({ decrypted: `{{secret:decrypted-${'e'.repeat(12)}}}` });
    expect(JSON.stringify(first)).not.toContain('mill');
    expect(await call('crypto_decrypt', { ciphertext, key: 'box3' }, key)).toEqual(first);
    expect(vault.secrets.scrubber(ALICE).text('at the old mill')).toBe(`at ${text(first['decrypted'])}`);
    const short = await call('crypto_encrypt', { text: 'hi', key: 'box3' });
    await expect(call('crypto_decrypt', { ciphertext: short['ciphertext'], key: 'box3' })).rejects.toThrow(
      'at least 6 characters',
    );
  });
});

function text(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}
