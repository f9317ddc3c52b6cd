import { describe, expect, it } from '@jest/globals';
import { describeConfig } from '../../src/config/describe.js';
import { readEnv } from '../../src/config/env.js';
import { loadConfig, shippedSchema } from '../../src/config/load.js';
import { leavesOf } from '../../src/config/schema.js';
import { newFolder, write } from './folder.js';

describe('describeConfig', () => {
  it('gives each key its value and where it came from', async () => {
    const home = newFolder();
    write(
      home,
      'config.yaml',
      'server: { port: 1, allowedHosts: [a] }\na2a: { remoteAgents: [{ name: far, url: "https://far.example", token: abcd }] }',
    );
    const env = readEnv({ LANGO_HOME: home, LANGO_LOG_LEVEL: 'warn', ANTHROPIC_API_KEY: 'k' });
    const rows = describeConfig(await loadConfig({ env, overrides: { host: '::1' } }));
    const row = (key: string) => rows.find((one) => one.key === key);
    expect(row('server.port')).toMatchObject({ value: 1, origin: 'file' });
    expect(row('server.allowedHosts')).toMatchObject({ value: ['a'], origin: 'file' });
    expect(row('server.host')).toMatchObject({ value: '::1', origin: 'flag' });
    expect(row('logging.level')).toMatchObject({ value: 'warn', origin: 'env' });
    expect(row('logging.format')).toMatchObject({ value: 'auto', origin: 'default' });
    expect(row('model.provider')).toMatchObject({ value: 'anthropic', origin: 'default' });
    expect(row('model.apiKey')).toMatchObject({ value: 'set', origin: 'env' });
    expect(row('auth.token')).toMatchObject({ value: 'not set', origin: 'default' });
    expect(row('a2a.remoteAgents[0].url')).toMatchObject({ value: 'https://far.example', origin: 'file' });
    expect(row('a2a.remoteAgents[0].token')).toMatchObject({ value: 'set', origin: 'file' });
    expect(row('a2a.remoteAgents[0].allowPrivate')).toMatchObject({ value: false, origin: 'default' });
    expect(row('a2a.remoteAgents')).toBeUndefined();
  });

  it('leaves no key out', async () => {
    const rows = describeConfig(await loadConfig({ env: readEnv({ LANGO_HOME: newFolder() }) }));
    const keys = leavesOf(shippedSchema().json).flatMap(({ key }) =>
      /\[\]|\.NAME\./.test(key) ? [] : [key],
    );
    expect(rows.map(({ key }) => key)).toEqual(keys);
  });
});
