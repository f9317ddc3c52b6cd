import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../../src/core/json.js';
import type { Tool } from '../../../../src/core/tool.js';
import { createCryptoTools } from '../../../../src/capabilities/secrets/crypto/index.js';
import { createSecretsTools } from '../../../../src/capabilities/secrets/secrets-tools.js';
import { flat } from '../../../support/agent-fixtures.js';
import { MemoryRun } from '../../../support/memory-run.js';
import type { TestVault } from '../../../support/open-vault.js';
import { openTestVault } from '../../../support/open-vault.js';
import { call, say } from '../../../support/scripted-model.js';

const OWNER = { tenant: '', owner: 'owner' };

let vault: TestVault;
let tools: readonly Tool[];

beforeEach(async () => {
  vault = await openTestVault();
  tools = [...createSecretsTools(vault.secrets), ...createCryptoTools(vault.vault, vault.secrets)];
});

afterEach(() => vault.close());

/** The outputs of the tool in the order of the calls, with a crash after each event of a whole run. */
async function afterEachCrash(step: readonly [string, JsonObject]): Promise<readonly string[]> {
  const { agent } = flat([call(step), say('Done.')], { tools, approval: 'none' });
  const whole = MemoryRun.of('lango-agent', 'do it');
  expect(await whole.perform(agent)).toEqual({ state: 'completed' });
  const seen = [answer(whole)];
  const length = whole.events.findLastIndex(({ body }) => body.type === 'run-end');
  // From the first event of the call on: the effect has happened, and its result may be lost.
  const begun = whole.events.findIndex(({ body }) => body.type === 'tool-call') + 1;
  for (let count = begun; count <= length; count += 1) {
    const resumed = whole.resumed(count);
    expect(await resumed.perform(agent)).toEqual({ state: 'completed' });
    seen.push(answer(resumed));
  }
  return seen;
}

function answer(run: MemoryRun): string {
  const [result] = run.bodies('tool-result');
  return `${result?.result.isError ? 'error: ' : ''}${result?.result.content ?? ''}`;
}

describe('a vault tool after a crash at any moment', () => {
  it('creates a key once', async () => {
    const seen = await afterEachCrash(['crypto_create_key', { name: 'release' }]);
    expect(new Set(seen).size).toBe(1);
    expect(seen[0]).toContain('BEGIN PUBLIC KEY');
    expect(await vault.vault.list(OWNER, 'key')).toMatchObject([{ name: 'release', version: 1 }]);
  });

  it('stores a secret once', async () => {
    const seen = await afterEachCrash(['secrets_store', { name: 'fish', value: 'swordfish-9000' }]);
    expect(new Set(seen).size).toBe(1);
    expect(seen[0]).not.toContain('error');
    expect(await vault.secrets.list(OWNER)).toMatchObject([{ name: 'fish', version: 1 }]);
  });

  it('deletes a secret once, and reports that', async () => {
    const permission = { places: [], hosts: [] };
    await vault.secrets.store(OWNER, {
      name: 'fish',
      value: 'swordfish-9000',
      ...permission,
      replace: false,
    });
    const seen = await afterEachCrash(['secrets_delete', { name: 'fish' }]);
    expect(new Set(seen)).toEqual(new Set(['{"deleted":"fish"}']));
  });

  it('decrypts a text into one secret', async () => {
    const { agent } = flat(
      [
        call(['crypto_create_key', { name: 'box', algorithm: 'aes256' }]),
        call(['crypto_encrypt', { text: 'the old mill', key: 'box' }]),
        say('Done.'),
      ],
      { tools },
    );
    const run = MemoryRun.of('lango-agent', 'encrypt');
    await run.perform(agent);
    const { ciphertext } = JSON.parse(run.bodies('tool-result')[1]!.result.content) as { ciphertext: string };
    const seen = await afterEachCrash(['crypto_decrypt', { ciphertext, key: 'box' }]);
    expect(new Set(seen).size).toBe(1);
    expect(await vault.secrets.list(OWNER)).toHaveLength(1);
  });
});
