import { expect } from '@jest/globals';
import { readEnv } from '../../../src/config/env.js';
import { resolveConfig } from '../../../src/config/load.js';
import { newId } from '../../../src/core/ids.js';
import { silentLogger } from '../../../src/core/logger.js';
import { createEgress } from '../../../src/http/egress.js';
import { createProxyChoice } from '../../../src/http/proxy.js';
import type { ServerOptions } from '../../../src/index.js';
import { RecordingProxy } from '../../support/recording-proxy.js';
import { events, ScriptedServer, status } from '../../support/scripted-server.js';
import { sendText, withServer, type TestServer } from '../../support/server.js';
import type { Quirk } from '../quirk.js';
import { MODEL_WIRES, streamOf, type ModelWireName } from '../vendor-streams.js';

type Settings = NonNullable<ServerOptions['settings']>;

/** Machines that reach the world through a proxy or a gateway, and the keys in its addresses. */

const ENVIRONMENT = { class: 18, wire: 'environment' } as const;
const KEY = 'vendor-key-0123456789';

function modelAt(wire: ModelWireName, origin: string): NonNullable<Settings['model']> {
  const common = { name: 'm', apiKey: KEY, maxRetries: 0 };
  if (wire === 'Messages') return { ...common, provider: 'anthropic', baseUrl: origin };
  return {
    ...common,
    provider: 'openai',
    baseUrl: `${origin}/v1`,
    api: wire === 'Responses' ? 'responses' : 'chat',
  };
}

interface Stage {
  readonly server: TestServer;
  readonly proxy: RecordingProxy;
  readonly vendor: ScriptedServer;
}

interface Staging {
  readonly wire?: ModelWireName;
  readonly origin?: string;
  readonly refuses?: number;
  readonly egress?: (proxy: RecordingProxy) => NonNullable<Settings['egress']>;
  readonly settings?: Settings;
}

/** A server behind a proxy, which leads every name to one vendor. */
async function behindProxy(staging: Staging, use: (stage: Stage) => Promise<void>): Promise<void> {
  const { wire = 'Chat Completions', origin = 'http://model.invalid', refuses, settings } = staging;
  await using vendor = await ScriptedServer.open();
  vendor.willAlwaysReply(events(streamOf(wire, { text: 'Through.' })));
  const target = Number(new URL(vendor.url).port);
  await using proxy = await RecordingProxy.open({ target, ...(refuses && { refuses }) });
  const egress = staging.egress?.(proxy) ?? { proxy: `http://me:p%40ss-word@${proxy.host}` };
  const all: Settings = {
    ...{ server: { port: 0, allowRisks: ['plainHttpToken'] }, egress },
    ...{ agent: { multiAgent: false }, model: modelAt(wire, origin) },
    ...settings,
  };
  await withServer({ settings: all }, (server) => use({ server, proxy, vendor }));
}

const linesOf = ({ seen }: RecordingProxy): readonly string[] => seen.map(({ line }) => line);

const MODELS: readonly Quirk[] = MODEL_WIRES.map((wire) => ({
  ...{ ...ENVIRONMENT, id: `proxy-${wire}`, wire, vendor: 'squid', source: 'openclaw/openclaw#20549' },
  quirk: 'Only a proxy reaches the vendor, and only the proxy can look up its name.',
  right: 'Requests to an http address go to the proxy with its user name and password, which no log shows.',
  async check() {
    await behindProxy({ wire }, async ({ server, proxy }) => {
      const { end } = await sendText(server, 'hello');
      expect([end.state, end.text]).toEqual(['completed', 'Through.']);
      const [first] = proxy.seen;
      expect(first?.line).toMatch(
        /^POST http:\/\/model\.invalid\/(v1\/)?(chat\/completions|responses|v1\/messages|messages)/,
      );
      expect(first?.login).toBe('me:p@ss-word');
      expect(server.log.lines.join('\n')).toContain(`https: ${proxy.host}, http: ${proxy.host}`);
      expect(server.log.lines.join('\n')).not.toMatch(/p@ss-word|p%40ss-word/);
    });
  },
}));

const EVERYWHERE: Quirk = {
  ...{ ...ENVIRONMENT, id: 'proxy-everywhere', vendor: 'squid', source: 'n8n-io/n8n#16171' },
  quirk: 'Only a proxy leads out of the network.',
  right: 'MCP servers, remote agents, vendors over https and webhooks are reached through it.',
  async check() {
    const settings: Settings = {
      mcp: { servers: { far: { url: 'http://tools.invalid/mcp' } } },
      a2a: { enabled: true, remoteAgents: [{ name: 'peer', url: 'http://peer.invalid' }] },
    };
    await behindProxy(
      { origin: 'https://model.invalid', refuses: 503, settings },
      async ({ server, proxy }) => {
        const taskPushNotificationConfig = { url: 'https://hook.invalid/x', token: 't' };
        const message = { messageId: newId(), role: 'ROLE_USER', parts: [{ text: 'hello' }] };
        const configuration = { taskPushNotificationConfig, returnImmediately: false };
        await server.fetch('/message:send', {
          method: 'POST',
          body: JSON.stringify({ message, configuration }),
          headers: { 'a2a-version': '1.0' },
        });
        const hosts = () => new Set(linesOf(proxy).map((line) => /\w+\.invalid(:443)?/.exec(line)?.[0]));
        for (let round = 0; round < 100 && hosts().size < 4; round += 1)
          await new Promise((resolve) => setTimeout(resolve, 20));
        expect([...hosts()].sort()).toEqual([
          'hook.invalid:443',
          'model.invalid:443',
          'peer.invalid',
          'tools.invalid',
        ]);
      },
    );
  },
};

const REFUSED: readonly Quirk[] = [
  { refuses: 407, origin: 'http://model.invalid', said: /wants another user name and password \(HTTP 407\)/ },
  {
    refuses: 407,
    origin: 'https://model.invalid',
    said: /wants another user name and password \(HTTP 407\)/,
  },
  {
    refuses: 403,
    origin: 'https://model.invalid',
    said: /opens no connection to model\.invalid:443 \(HTTP 403\)/,
  },
].map(({ refuses, origin, said }) => ({
  ...{
    ...ENVIRONMENT,
    id: `proxy-refuses-${refuses}-${origin}`,
    vendor: 'squid',
    source: 'fastagent-sh/fastagent#474',
  },
  quirk: `The proxy responds with ${refuses}.`,
  right: 'The reason names the proxy and what it said, and not the vendor.',
  async check() {
    await behindProxy({ refuses, origin }, async ({ server, proxy }) => {
      const { end } = await sendText(server, 'hello');
      expect(end.state).toBe('failed');
      expect(end.text).toMatch(said);
      expect(end.text).toContain(`The proxy ${proxy.host}`);
    });
  },
}));

const DIRECT: readonly Quirk[] = [
  { id: 'loopback', noProxy: [], host: '' },
  { id: 'direct', proxy: 'direct', noProxy: [], host: '' },
].map(({ id, noProxy, proxy: address }) => ({
  ...{ ...ENVIRONMENT, id: `proxy-not-for-${id}`, vendor: 'Ollama', source: 'ollama/ollama#2168' },
  quirk: 'The model runs on this machine, and the variables name a proxy.',
  right: 'Programs on this machine are reached directly.',
  async check() {
    await using vendor = await ScriptedServer.open();
    vendor.willAlwaysReply(events(streamOf('Chat Completions', { text: 'Near.' })));
    const egress = (proxy: RecordingProxy) => ({ proxy: address ?? `http://${proxy.host}`, noProxy });
    await behindProxy({ origin: vendor.url, egress }, async ({ server, proxy }) => {
      const { end } = await sendText(server, 'hello');
      expect([end.text, linesOf(proxy)]).toEqual(['Near.', []]);
    });
  },
}));

const EXCEPTIONS: readonly Quirk[] = ['model.invalid', '.invalid', '*.invalid', 'invalid:80', '*'].map(
  (entry) => ({
    ...{
      ...ENVIRONMENT,
      id: `no-proxy-${entry}`,
      vendor: 'curl',
      source: 'curl: the environment variable no_proxy',
    },
    quirk: `NO_PROXY holds "${entry}".`,
    right: 'The host is reached without the proxy.',
    async check() {
      const egress = (proxy: RecordingProxy) => ({ proxy: `http://${proxy.host}`, noProxy: [entry] });
      await behindProxy({ egress }, async ({ server, proxy }) => {
        // The name does not exist.
        expect((await sendText(server, 'hello')).end.state).toBe('failed');
        expect(linesOf(proxy)).toEqual([]);
      });
    },
  }),
);

const PRIVATE: Quirk = {
  ...{
    ...ENVIRONMENT,
    id: 'proxy-private',
    vendor: 'squid',
    source: 'OWASP: Server-Side Request Forgery Prevention',
  },
  quirk: 'A proxy would reach addresses of the private network for anybody who can name them.',
  right: 'Private addresses and local names are refused before the proxy is asked.',
  async check() {
    await behindProxy({}, async ({ server, proxy }) => {
      for (const url of ['https://10.0.0.7/x', 'https://db.internal/x', 'https://host.example:5432/x']) {
        const config = { taskPushNotificationConfig: { url, token: 't' } };
        const message = { messageId: newId(), role: 'ROLE_USER', parts: [{ text: 'hello' }] };
        const body = JSON.stringify({ message, configuration: config });
        const answer = await server.fetch('/message:send', {
          ...{ method: 'POST', body },
          headers: { 'a2a-version': '1.0' },
        });
        expect([url, answer.status]).toEqual([url, 400]);
      }
      const proxyFor = createProxyChoice({ proxy: proxy.host });
      const send = createEgress({ allowPrivate: [], timeoutMs: 5_000, logger: silentLogger, proxyFor });
      for (const url of ['http://10.0.0.7/x', 'https://db.internal/x', 'http://metadata/x'])
        await expect(send(url)).rejects.toThrow('has a private or loopback address');
      await expect(send('http://host.example:5432/')).rejects.toThrow('does not speak HTTP');
      expect(linesOf(proxy)).toEqual([]);
    });
  },
};

const configOf = (variables: Record<string, string>, settings: Settings = {}) =>
  resolveConfig({ env: readEnv(variables), overrides: { home: '/nowhere' }, settings });

const VARIABLES: readonly Quirk[] = [
  {
    id: 'proxy-variables',
    quirk: 'The variables are in capitals or not, and one of them may be missing.',
    right: 'Both spellings are read, and a scheme without its variable is reached directly.',
    async check() {
      const upper = { HTTPS_PROXY: 'http://a:1', NO_PROXY: 'one.example, .two.example' };
      expect(configOf(upper).settings.egress).toMatchObject({
        ...{ proxy: 'http://a:1', httpProxy: 'direct' },
        noProxy: ['one.example', '.two.example'],
      });
      expect(configOf({ http_proxy: 'b:2' }).settings.egress).toMatchObject({
        proxy: 'direct',
        httpProxy: 'b:2',
      });
      const own = configOf(upper, { egress: { proxy: 'http://c:3' } }).settings.egress;
      expect([own.proxy, own.httpProxy]).toEqual(['http://c:3', undefined]);
      expect(() => configOf({ HTTPS_PROXY: 'socks5://a:1' })).toThrow('must be direct, or the http');
    },
  },
  {
    id: 'vendor-variables',
    quirk: 'A company sets ANTHROPIC_BASE_URL or OPENAI_BASE_URL to its gateway, with a key of the gateway.',
    right: 'The requests of that vendor go to the gateway, and the start says so.',
    async check() {
      const anthropic = {
        ANTHROPIC_API_KEY: 'k'.repeat(20),
        ANTHROPIC_BASE_URL: 'https://gateway.example/a',
      };
      const { model } = configOf(anthropic).config;
      expect([model.provider, model.baseUrl]).toEqual(['anthropic', 'https://gateway.example/a']);
      expect(model.reason).toContain('ANTHROPIC_BASE_URL sends its requests to gateway.example');
      for (const name of ['OPENAI_BASE_URL', 'OPENAI_API_BASE']) {
        const openai = configOf({ OPENAI_API_KEY: 'k'.repeat(20), [name]: 'https://gateway.example/v1' });
        expect(openai.config.model.baseUrl).toBe('https://gateway.example/v1');
      }
      const embedding = { embedding: { provider: 'openai', model: 'm' } } as const;
      const gateway = { OPENAI_API_KEY: 'k'.repeat(20), OPENAI_BASE_URL: 'https://gateway.example/v1' };
      expect(configOf(gateway, embedding).settings).toMatchObject({
        embedding: { baseUrl: 'https://gateway.example/v1' },
      });
      const fallbacks = [{ provider: 'openai', name: 'gpt-5' }] as const;
      const both = {
        ...anthropic,
        OPENAI_API_KEY: 'o'.repeat(20),
        OPENAI_BASE_URL: 'https://other.example/v1',
      };
      const [next] = configOf(both, { model: { fallbacks: [...fallbacks] } }).config.model.fallbacks;
      expect([next?.provider, next?.baseUrl]).toEqual(['openai', 'https://other.example/v1']);
      const own = configOf(anthropic, { model: { provider: 'anthropic', baseUrl: 'https://own.example' } });
      expect(own.config.model.baseUrl).toBe('https://own.example');
    },
  },
  {
    id: 'key-with-line-break',
    quirk: 'A key ends with a line break, as the file or the secret it comes from does.',
    right: 'The line break is left out.',
    async check() {
      const { secrets } = configOf({ OPENAI_API_KEY: 'sk-0123456789\n' });
      expect(secrets.modelKeys.get('openai')).toBe('sk-0123456789');
      const written = configOf({}, { model: { provider: 'openai', name: 'm', apiKey: 'sk-0123456789\r\n' } });
      expect(written.secrets.modelKeys.get('openai')).toBe('sk-0123456789');
    },
  },
].map((one) => ({ ...ENVIRONMENT, vendor: 'environment', source: 'rossoctl/rossoctl#633', ...one }));

const ADDRESSES: readonly Quirk[] = ['key=querysecret99', 'subscription-token=query%2Dsecret99'].map(
  (query) => ({
    ...{ ...ENVIRONMENT, id: `address-secrets-${query}`, vendor: 'gateways', source: 'DarriEy/Auramaur#406' },
    quirk:
      'A gateway takes its key in the query of its address, and repeats the address in errors and answers.',
    right: 'The key is in no log, reason or answer.',
    async check() {
      await using vendor = await ScriptedServer.open();
      const model = { ...modelAt('Chat Completions', vendor.url), baseUrl: `${vendor.url}/v1?${query}` };
      const hidden = /query(-|%2D)?secret99/i;
      await withServer(
        { settings: { agent: { multiAgent: false }, server: { port: 0 }, model } },
        async (server) => {
          vendor.willReply(status(400, { error: { message: `failed at ${vendor.url}/v1?${query}` } }));
          expect((await sendText(server, 'hello')).end.text).not.toMatch(hidden);
          vendor.willReply((response, { path }) =>
            events(streamOf('Chat Completions', { text: `I am at ${path}` }))(response, {} as never),
          );
          const answered = await sendText(server, 'hello');
          expect(answered.end.state).toBe('completed');
          expect(answered.end.text).toContain('[hidden]');
          expect(vendor.requests.at(-1)?.path).toBe(`/v1/chat/completions?${decodeURIComponent(query)}`);
          expect(JSON.stringify(answered.events)).not.toMatch(hidden);
          expect(server.log.lines.join('\n')).not.toMatch(hidden);
        },
      );
    },
  }),
);

export const NETWORK: readonly Quirk[] = [
  ...[...MODELS, EVERYWHERE, ...REFUSED, ...DIRECT, ...EXCEPTIONS, PRIVATE],
  ...[...VARIABLES, ...ADDRESSES],
];
