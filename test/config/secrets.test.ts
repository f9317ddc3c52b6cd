import { describe, expect, it } from '@jest/globals';
import { describeConfig } from '../../src/config/describe.js';
import { readEnv } from '../../src/config/env.js';
import { resolveConfig, shippedSchema } from '../../src/config/load.js';
import { secretValues } from '../../src/config/secrets.js';
import { leavesOf } from '../../src/config/schema.js';
import { errorOf } from './folder.js';

describe('the secrets of a configuration', () => {
  const loaded = resolveConfig({
    env: readEnv({ LANGO_HOME: '/h' }),
    settings: {
      auth: {
        token: 'SECRET-token-5b0e7d92fc',
        introspection: { clientSecret: 'SECRET-introspection' },
      },
      vault: { passphrase: 'SECRET-passphrase' },
      storage: { url: 'SECRET-database' },
      metrics: { token: 'SECRET-metrics' },
      egress: {
        proxy: 'http://me:SECRET-proxy@proxy:3128',
        httpProxy: 'me:SECRET-proxy-http@proxy:3129',
      },
      model: {
        ...{ provider: 'anthropic', apiKey: 'SECRET-key' },
        ...{ apiKeys: { openai: 'SECRET-openai', anthropic: 'SECRET-key' } },
        secretOptions: { accessKeyId: 'SECRET-option' },
        fallbacks: [
          'claude-b',
          { baseUrl: 'https://b.example', name: 'b', apiKey: 'SECRET-fallback' },
          { provider: 'ai-sdk', package: 'p', name: 'n', secretOptions: { key: 'SECRET-option-fallback' } },
        ],
      },
      agent: {
        models: {
          planner: { provider: 'openai', name: 'p', apiKey: 'SECRET-planner' },
          vault: {
            provider: 'ai-sdk',
            package: 'p',
            name: 'n',
            secretOptions: { key: 'SECRET-option-agent' },
          },
        },
      },
      embedding: { provider: 'voyage', apiKey: 'SECRET-embedding' },
      webSearch: { provider: 'brave', apiKey: 'SECRET-web' },
      telemetry: { otlp: { headers: { authorization: 'Bearer SECRET-otlp' } } },
      a2a: {
        remoteAgents: [
          { name: 'far', url: 'https://far.example', token: 'SECRET-far' },
          { name: 'near', url: 'https://near.example' },
          ...Object.entries({
            b: { bearer: 'SECRET-peer-bearer' },
            k: { apiKey: { header: 'X-Key', value: 'SECRET-peer-key' } },
            p: { basic: { user: 'me', password: 'SECRET-peer-password' } },
            o: { oauth2: { issuer: 'https://i.example', clientId: 'c', clientSecret: 'SECRET-peer-client' } },
          }).map(([name, auth]) => ({ name, url: `https://${name}.example`, auth })),
        ],
      },
      mcp: {
        servers: {
          files: { command: 'files', env: { KEY: 'SECRET-variable', SHORT: '1' } },
          oauth: {
            url: 'https://o.example',
            oauth2: { issuer: 'https://i.example', clientId: 'c', clientSecret: 'SECRET-oauth' },
          },
          person: { url: 'https://p.example', login: { clientId: 'c', clientSecret: 'SECRET-login' } },
          web: { url: 'https://web.example', token: 'SECRET-mcp', headers: { key: 'SECRET-header' } },
        },
      },
    },
  });

  it('are in Secrets, and nowhere in values that can be logged', () => {
    const values = [
      ...[
        'database',
        'embedding',
        'fallback',
        'far',
        'header',
        'introspection',
        'key',
        'login',
        'mcp',
        'metrics',
        'oauth',
        'openai',
        'option',
        'option-agent',
        'option-fallback',
        'otlp',
        'passphrase',
        'peer-bearer',
        'peer-client',
        'peer-key',
        'peer-password',
        'planner',
        'proxy',
        'proxy-http',
        'token-5b0e7d92fc',
        'variable',
        'web',
      ],
    ].map((name) => `SECRET-${name}`);
    expect([...new Set(secretValues(loaded.secrets))].sort()).toEqual(values);
    expect(loaded.secrets.remotes.get('far')?.bearer).toBe('SECRET-far');
    expect(JSON.stringify(loaded.config)).not.toContain('SECRET');
    expect(JSON.stringify(describeConfig(loaded))).not.toContain('SECRET');
  });

  it('are all covered by the test above', () => {
    const marked = leavesOf(shippedSchema().json).flatMap(({ key, schema }) =>
      schema.writeOnly ? [key] : [],
    );
    expect(marked.toSorted()).toEqual([
      'a2a.remoteAgents[].auth.apiKey.value',
      'a2a.remoteAgents[].auth.basic.password',
      'a2a.remoteAgents[].auth.bearer',
      'a2a.remoteAgents[].auth.oauth2.clientSecret',
      'a2a.remoteAgents[].token',
      'agent.models.NAME.apiKey',
      'agent.models.NAME.secretOptions',
      'auth.introspection.clientSecret',
      'auth.token',
      'egress.httpProxy',
      'egress.proxy',
      'embedding.apiKey',
      'mcp.servers.NAME.env',
      'mcp.servers.NAME.headers',
      'mcp.servers.NAME.login.clientSecret',
      'mcp.servers.NAME.oauth2.clientSecret',
      'mcp.servers.NAME.token',
      'metrics.token',
      'model.apiKey',
      'model.apiKeys.anthropic',
      'model.apiKeys.openai',
      'model.fallbacks[].apiKey',
      'model.fallbacks[].secretOptions',
      'model.secretOptions',
      'storage.url',
      'telemetry.otlp.headers',
      'vault.passphrase',
      'webSearch.apiKey',
    ]);
  });

  it('are read from the environment only when the file has none', () => {
    const env = readEnv({ LANGO_TOKEN: 'from-env-7c2e91d8a4f6' });
    expect(resolveConfig({ env }).secrets.token).toBe('from-env-7c2e91d8a4f6');
    expect(
      resolveConfig({ env, settings: { auth: { token: 'from-file-1d93be72c5a8' } } }).secrets.token,
    ).toBe('from-file-1d93be72c5a8');
  });

  it('are refused by the name of their variable when no header can carry them', async () => {
    const error = await errorOf(() => resolveConfig({ env: readEnv({ LANGO_TOKEN: 'two words' }) }));
    expect(error.message).toContain('LANGO_TOKEN: auth.token must be printable ASCII');
    expect(error.message).not.toContain('two words');
  });
});
