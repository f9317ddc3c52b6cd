import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Tool, ToolContext, ToolOutput } from '../../../src/core/tool.js';
import { createSecretsTools } from '../../../src/capabilities/secrets/secrets-tools.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import type { TestVault } from '../../support/open-vault.js';
import { openTestVault } from '../../support/open-vault.js';
import { callerOf, toolContext, toolNamed } from '../../support/tool-call.js';

const ALICE = { tenant: '', owner: 'alice' };
const BOB = { tenant: '', owner: 'bob' };
const VALUE = 'swordfish-9000';

let vault: TestVault;
let tools: readonly Tool[];
let log: RecordingLogger;

beforeEach(async () => {
  log = new RecordingLogger();
  vault = await openTestVault(log);
  tools = createSecretsTools(vault.secrets);
});

afterEach(() => vault.close());

function call(name: string, input: unknown, context: Partial<ToolContext> = {}): Promise<ToolOutput> {
  return callerOf(tools)(name, input, context);
}

describe('the secret tools', () => {
  it('return references and never a value', async () => {
    const outputs = [
      await call('secrets_store', {
        name: 'fish',
        value: VALUE,
        for: ['exec', 'http'],
        hosts: ['API.example.com'],
      }),
      await call('secrets_get', { name: 'fish' }),
      await call('secrets_list', {}),
    ];
    for (const { content } of outputs) {
      expect(JSON.stringify(content)).toContain('{{secret:fish}}');
      expect(JSON.stringify(content)).not.toContain(VALUE);
    }
    expect(outputs[1]?.content).toMatchObject({
      allowed: 'exec, http',
      hosts: ['api.example.com'],
      version: 1,
    });
    expect(log.lines.join()).not.toContain(VALUE);
  });

  it('store once for one call, and keep the old value unless asked to replace it', async () => {
    const first = await call('secrets_store', { name: 'fish', value: VALUE });
    expect(await call('secrets_store', { name: 'fish', value: VALUE })).toEqual(first);
    const again = call('secrets_store', { name: 'fish', value: 'other-value' }, { key: 'b'.repeat(64) });
    await expect(again).rejects.toMatchObject({ code: 'conflict' });
    expect(await vault.secrets.get(ALICE, 'fish')).toMatchObject({ version: 1 });
    const input = { name: 'fish', value: 'other-value', replace: true };
    expect(toolNamed(tools, 'secrets_store').danger(input)).toBe('dangerous');
    await call('secrets_store', input, { key: 'c'.repeat(64) });
    expect(await vault.secrets.get(ALICE, 'fish')).toMatchObject({ version: 2 });
  });

  it('refuse values and names that cannot be kept safe', async () => {
    for (const value of ['abc', '     a', 'x'.repeat(16 * 1024 + 1)]) {
      await expect(call('secrets_store', { name: 'fish', value })).rejects.toThrow();
    }
    await expect(call('secrets_store', { name: 'a b', value: VALUE })).rejects.toThrow('must be a letter');
    await expect(call('secrets_store', { name: 'fish', value: VALUE, hosts: ['http://x'] })).rejects.toThrow(
      'is not a host name',
    );
    expect((await call('secrets_list', {})).content).toBe('There are no secrets.');
  });

  it('delete a secret, and know after a crash whether they did', async () => {
    await call('secrets_store', { name: 'fish', value: VALUE });
    const tool = toolNamed(tools, 'secrets_delete');
    expect(tool.effect).toBe('queryable');
    expect(await tool.settle?.({ name: 'fish' }, toolContext())).toBeUndefined();
    expect((await call('secrets_delete', { name: 'fish' })).content).toEqual({ deleted: 'fish' });
    expect(await tool.settle?.({ name: 'fish' }, toolContext())).toEqual({ content: { deleted: 'fish' } });
    await expect(call('secrets_delete', { name: 'fish' })).rejects.toMatchObject({ code: 'not-found' });
  });

  it('keep owners apart: names, values, permission and scrubbing', async () => {
    await call('secrets_store', { name: 'fish', value: VALUE, for: ['exec'] });
    await expect(call('secrets_get', { name: 'fish' }, { owner: 'bob' })).rejects.toMatchObject({
      code: 'not-found',
    });
    await expect(call('secrets_delete', { name: 'fish' }, { owner: 'bob' })).rejects.toThrow();
    await expect(
      vault.secrets.resolve(BOB, '{{secret:fish}}', { tool: 'exec', place: 'exec' }),
    ).rejects.toThrow('There is no secret "fish"');
    expect(vault.secrets.scrubber(BOB).text(`it is ${VALUE}`)).toBe(`it is ${VALUE}`);
    expect(vault.secrets.scrubber(ALICE).text(`it is ${VALUE}`)).toBe('it is {{secret:fish}}');
    expect(vault.secrets.everywhere.text(`it is ${VALUE}`)).toBe('it is {{secret:fish}}');
  });
});

describe('a reference', () => {
  it('is resolved in the places and for the hosts that were allowed, and nowhere else', async () => {
    const hosts = ['api.example.com'];
    await vault.secrets.store(ALICE, { name: 'web', value: VALUE, places: ['http'], hosts, replace: false });
    await vault.secrets.store(ALICE, {
      name: 'cmd',
      value: 'other-value',
      places: ['exec'],
      hosts: [],
      replace: false,
    });
    const http = { tool: 'x', place: 'http' as const };
    const resolve = (text: string, use: object) => vault.secrets.resolve(ALICE, text, { ...http, ...use });
    expect(await resolve('Bearer {{secret:web}}!', { host: 'API.example.com' })).toBe(`Bearer ${VALUE}!`);
    expect(await resolve('{{secret:cmd}}{{secret:cmd}}', { place: 'exec' })).toBe('other-valueother-value');
    expect(await resolve('nothing {{secret:}} {{secret:a b}}', {})).toBe(
      'nothing {{secret:}} {{secret:a b}}',
    );
    const refused = [
      {},
      { host: 'evil.example' },
      { host: 'example.com' },
      { host: 'x.api.example.com' },
      { place: 'exec' },
    ];
    for (const use of [...refused, { place: 'browser', host: 'api.example.com' }]) {
      await expect(resolve('{{secret:web}}', use)).rejects.toMatchObject({ code: 'forbidden' });
    }
    await expect(resolve('{{secret:cmd}}', { host: 'api.example.com' })).rejects.toMatchObject({
      code: 'forbidden',
      hint: 'Its owner allows that with: lango secrets allow cmd --for exec --for http --host api.example.com',
    });
  });

  it('replaces a value that is the name of another secret, and does not grow when scrubbed again', async () => {
    const store = (name: string, value: string) =>
      vault.secrets.store(ALICE, { name, value, places: [], hosts: [], replace: false });
    await store('one', 'my-two-secret');
    await store('my-two-secret', 'another-one');
    const scrubber = vault.secrets.scrubber(ALICE);
    const once = scrubber.text('my-two-secret and another-one');
    expect(once).not.toContain('my-two-secret');
    expect(scrubber.text(once)).toBe(once);
  });
});
