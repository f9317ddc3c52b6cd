import { expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createApp } from '../../src/app.js';
import { CAPABILITIES } from '../../src/capabilities/index.js';
import type { Config } from '../../src/config/config.js';
import { readEnv } from '../../src/config/env.js';
import { resolveConfig, shippedSchema } from '../../src/config/load.js';
import { leavesOf } from '../../src/config/schema.js';
import { silentLogger } from '../../src/core/logger.js';
import { connect, textPart } from '../../src/index.js';

/** Keys that a node does not read from its configuration, each with the code that reads it. */
const READ_ELSEWHERE: Readonly<Record<string, string>> = {
  'model.apiKey': 'config/secrets.ts, which keeps secrets out of the configuration',
  'model.apiKeys.anthropic': 'config/models.ts, for config/secrets.ts',
  'model.apiKeys.openai': 'config/models.ts',
  'model.secretOptions': 'config/models.ts',
  'model.baseUrls.anthropic': 'config/models.ts',
  'model.baseUrls.openai': 'config/models.ts',
  'egress.proxy': 'app/node.ts, which reads it with its password in the settings',
  'egress.httpProxy': 'app/node.ts',
  'egress.noProxy': 'app/node.ts',
  'a2a.catalogs': 'cli/agents.ts',
  capabilities: 'config/load.ts',
  'auth.introspection.clientSecret': 'config/secrets.ts',
  'auth.token': 'config/secrets.ts',
  'metrics.token': 'config/secrets.ts',
  'storage.url': 'config/secrets.ts',
  'telemetry.otlp.headers': 'config/secrets.ts',
  'logging.level': 'cli/serve.ts, before the node is made',
  'logging.format': 'cli/serve.ts',
};

/** A configuration that records the keys that are read from it in `read`. */
function watched<Part extends object>(part: Part, read: Set<string>, above = ''): Part {
  return new Proxy(part, {
    get(target, name, receiver) {
      const value: unknown = Reflect.get(target, name, receiver);
      if (typeof name !== 'string') return value;
      const key = above === '' ? name : `${above}.${name}`;
      read.add(key);
      const isGroup = typeof value === 'object' && value !== null && !Array.isArray(value);
      return isGroup ? watched(value, read, key) : value;
    },
  });
}

/** Whether a key belongs to a capability: the server itself reads its own keys from the configuration. */
function isOfCapability(key: string): boolean {
  const places = CAPABILITIES.flatMap(({ settings = {} }) => Object.keys(settings));
  return places.some((place) => key === place || key.startsWith(`${place}.`));
}

const home = mkdtempSync(path.join(tmpdir(), 'lango-wiring-'));
const jwksFile = path.join(home, 'jwks.json');
writeFileSync(jwksFile, '{"keys":[]}');
const key = 'k'.repeat(40);

const away = { url: 'https://127.0.0.1:9' };
const SETTINGS = [
  {
    // A model that responds to nothing: this server gets no message.
    auth: {
      mode: 'jwt',
      audience: 'here',
      jwt: { issuer: 'https://issuer.example', audience: ['lango'], jwksFile },
    },
    model: {
      ...{
        provider: 'ai-sdk',
        package: '@ai-sdk/openai-compatible',
        name: 'm',
        factory: 'createOpenAICompatible',
      },
      ...{ baseUrl: 'http://127.0.0.1:9', options: { name: 'n' }, providerOptions: { n: { user: 'u' } } },
    },
  },
  {
    embedding: { provider: 'local', folder: home, model: 'm' },
    server: { port: 0, grpc: { enabled: true, port: 0 }, limits: { noticeSeconds: 0 } },
  },
  {
    observationalMemory: { enabled: true },
    payment: { enabled: true, rpcUrl: 'http://127.0.0.1:9', network: 'base-sepolia' },
    embedding: { provider: 'openai', apiKey: key, model: 'm' },
    webSearch: { provider: 'brave', apiKey: key },
    console: { oidc: { clientId: 'console' } },
    metrics: { enabled: true },
    storage: { caFile: jwksFile },
    telemetry: { otlp: { url: 'http://127.0.0.1:9/v1/traces' } },
    model: {
      ...{ provider: 'anthropic', apiKey: key, baseUrl: 'http://127.0.0.1:9' },
      ...{ effort: 'low', thinking: 'adaptive', temperature: 1, windowTokens: 100_000 },
    },
    a2a: {
      ...{ enabled: true, remoteAgents: [] },
      keptAt: { secrets: away, skills: away, wallet: away, documents: away },
    },
    auth: {
      mode: 'jwt',
      nodes: [{ name: 'front', keys: jwksFile }],
      audience: 'here',
      jwt: { issuer: 'https://issuer.example', audience: ['lango'], jwksFile, tenantClaim: 'org' },
    },
  },
];

it('a node that starts and works reads every key of the configuration', async () => {
  const read = new Set<string>();
  for (const settings of SETTINGS) {
    const own = { server: { port: 0 }, ...settings } as never;
    const loaded = resolveConfig({ env: readEnv({}), overrides: { home }, settings: own });
    const config: Config = watched(loaded.config, read);
    const ofCapabilities = new Set<string>();
    const watchedSettings = watched(loaded.settings, ofCapabilities);
    const app = createApp({ ...loaded, config, settings: watchedSettings, logger: silentLogger });
    try {
      const { origin, token } = await app.start();
      if (token !== undefined) {
        const client = connect({ url: origin, token });
        await client.card();
        for await (const event of client.send(
          { parts: [textPart('run echo hi')] },
          AbortSignal.timeout(100_000),
        ))
          void event;
      }
    } finally {
      await app.stop();
    }
    for (const one of ofCapabilities) if (isOfCapability(one)) read.add(one);
  }
  rmSync(home, { recursive: true, force: true });
  const unread = leavesOf(shippedSchema().json)
    .map((leaf) => leaf.key)
    .filter((one) => !/\[\]|\.NAME\./.test(one) && !read.has(one));
  expect(unread.sort()).toEqual(Object.keys(READ_ELSEWHERE).sort());
});
