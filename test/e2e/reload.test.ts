import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'node:tls';
import { createApp } from '../../src/app.js';
import { readEnv } from '../../src/config/env.js';
import type { LoadedConfig } from '../../src/config/load.js';
import { resolveConfig } from '../../src/config/load.js';
import type { ServerOptions } from '../../src/index.js';
import { certificate, writePair } from '../support/certificates.js';
import { freePort } from '../support/free-port.js';
import { RecordingLogger } from '../support/recording-logger.js';
import { followOrders, scriptedAgent } from '../support/scripted-agent.js';
import { ScriptedModel, ask, call, resultsIn, say } from '../support/scripted-model.js';
import type { TestServer } from '../support/server.js';
import { beginTask, sendText, startServer, withServer, withoutTools } from '../support/server.js';

type Settings = NonNullable<ServerOptions['settings']>;

const started: TestServer[] = [];
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'lango-reload-'));
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((server) => server.stop()));
  await rm(folder, { recursive: true, force: true });
});

/** A node whose one agent follows orders. */
async function startFar(token: string, options: ServerOptions = {}): Promise<TestServer> {
  const far = await startServer({
    agents: [scriptedAgent('weather')],
    model: new ScriptedModel({}),
    ...options,
    settings: { ...options.settings, auth: { token } },
  });
  started.push(far);
  return far;
}

/** A model that runs "NAME ORDER": it delegates the order to the agent of that name, if it exists. */
function delegatingModel(): ScriptedModel {
  return new ScriptedModel({
    orchestrator: [
      ({ messages, functions }) => {
        const [, name = '', order = ''] = /"text":"(\w+) ([\w ]+)"/.exec(JSON.stringify(messages)) ?? [];
        return JSON.stringify(functions).includes(name) ? call(ask(name, order, true)) : say(`no ${name}`);
      },
      (request) => say(resultsIn(request).join()),
    ],
  });
}

function entry(name: string, { address }: Pick<TestServer, 'address'>, token = address.token!) {
  return { name, url: `${address.origin}/agents/weather`, token, allowPrivate: true };
}

function knowing(...remoteAgents: readonly object[]): Settings {
  return { server: { port: 0 }, a2a: { enabled: true, remoteAgents } } as Settings;
}

async function peersOf(server: TestServer): Promise<Record<string, string>> {
  const { peers } = (await (await server.fetch('/lango/agents')).json()) as {
    peers: { name: string; kind: string; state: string }[];
  };
  const remote = peers.filter(({ kind }) => kind === 'remote');
  return Object.fromEntries(remote.map(({ name, state }) => [name, state]));
}

describe('a reload', () => {
  it('X4 adds, changes and removes agents by the list of the configuration, without a restart', async () => {
    const [one, two] = [
      await startFar('one-7Qf2xW9kLr4TzB6vNc8d'),
      await startFar('two-5Hs8yK3mPw7RgD2jXq9n'),
    ];
    const options = { model: delegatingModel(), settings: knowing(entry('alpha', one)) };
    await withServer(options, async (server) => {
      const answer = async (text: string) => (await sendText(server, text)).end.text;
      expect([await answer('alpha say one'), await answer('beta say two')]).toEqual(['one', 'no beta']);

      await server.reload(knowing(entry('alpha', one), entry('beta', two)));
      expect([await answer('alpha say one'), await answer('beta say two')]).toEqual(['one', 'two']);

      await server.reload(knowing(entry('beta', two, 'wrong')));
      expect(await peersOf(server)).toEqual({ beta: 'ready' });
      expect(await answer('alpha say one')).toBe('no alpha');
      expect(await answer('beta say two')).toContain('requires a valid token');

      await server.reload(knowing(entry('beta', two)));
      expect(await answer('beta say two')).toBe('two');

      await server.reload({ ...knowing(entry('beta', two)), a2a: { enabled: false } });
      expect(await peersOf(server)).toEqual({});
      const said = server.log.lines.filter((line) => line.includes('reloaded the configuration'));
      expect(said.map((line) => JSON.parse(line) as object)).toMatchObject([
        { added: ['beta'], removed: [], changed: [] },
        { added: [], removed: ['alpha'], changed: ['beta'] },
        { added: [], removed: [], changed: ['beta'] },
        { added: [], removed: ['beta'], changed: [] },
      ]);
    });
  });

  it('X4 does not load an agent with an unchanged entry again, and allows a private address to its own entry only', async () => {
    let cards = 0;
    const page = createServer((_, response) => {
      cards += 1;
      response.end('no card');
    });
    await once(page.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(page.address() as AddressInfo).port}`;
    const same = { name: 'same', url, allowPrivate: true };
    await withServer({ settings: knowing(same) }, async (server) => {
      await server.log.saying('agent skipped');
      const before = cards;
      expect(before).toBeGreaterThan(0);
      await server.reload(knowing({ name: 'other', url }, same));
      expect(cards).toBe(before);
      await server.log.saying('has a private or loopback address');
      await server.reload(knowing({ ...same, allowPrivate: false }));
      expect(cards).toBe(before);
      await server.reload(knowing(same));
      expect(cards).toBeGreaterThan(before);
    });
    page.close();
  });

  it('X4 skips a new agent with the name of an existing one, and reports no join or leave', async () => {
    const far = await startFar('one-7Qf2xW9kLr4TzB6vNc8d');
    const options = { agents: [scriptedAgent('weather')], model: delegatingModel(), settings: knowing() };
    await withServer(options, async (server) => {
      await server.reload(knowing(entry('weather', far), entry('other', far)));
      expect(await peersOf(server)).toEqual({ weather: 'skipped', other: 'ready' });
      const said = server.log.lines.map((line) => JSON.parse(line) as { level: string; agent?: string });
      expect(said.filter(({ agent, level }) => agent === 'weather' && level !== 'debug')).toMatchObject([
        {
          message: 'agent skipped',
          reason: 'The name weather is taken by another agent.',
          hint: 'Give it another name in its entry of a2a.remoteAgents.',
        },
      ]);
      expect((await sendText(server, 'weather say mine')).end.text).toBe('mine');
      expect((await far.client.list({})).tasks).toEqual([]);
    });
  });

  it('X4 lets the tasks of a removed agent end as before, by a reply or a cancel', async () => {
    const far = await startFar('far-7Qf2xW9kLr4TzB6vNc8d');
    const options = { model: delegatingModel(), settings: knowing(entry('alpha', far)) };
    await withServer(options, async (server) => {
      const asked = await sendText(server, 'alpha ask');
      expect(asked.end.state).toBe('input-required');
      const waiting = await beginTask(server, 'alpha wait');
      await farTask(far, 'working');

      await server.reload(knowing());
      expect((await sendText(server, 'alpha say hi')).end.text).toBe('no alpha');
      const answered = await sendText(server, 'say sunny', { taskId: asked.taskId });
      expect(answered.end).toMatchObject({ state: 'completed', text: 'sunny' });
      await server.client.cancel({ taskId: waiting });
      await farTask(far, 'canceled');
    });
  });

  it('X4 continues the task of an agent with its next token, which the agent accepts first', async () => {
    const home = path.join(folder, 'far');
    const port = await freePort();
    let runs = 0;
    const weather = scriptedAgent('weather', async (run) => {
      runs += 1;
      return followOrders(run, runs === 1 ? 'wait' : 'say sunny');
    });
    const options = { home, agents: [weather], settings: { server: { port } } };
    const before = await startFar('before-7Qf2xW9kLr4TzB6vNc8d', options);
    const settings = knowing(entry('alpha', before));
    await withServer({ model: delegatingModel(), settings }, async (server) => {
      const answer = sendText(server, 'alpha tell');
      await farTask(before, 'working');
      await before.stop();
      const after = await startFar('after-7Qf2xW9kLr4TzB6vNc8d', options);
      while (!after.log.lines.some((line) => line.includes('authentication failed'))) await delay(10);
      await server.reload(knowing(entry('alpha', after)));
      expect((await answer).end).toMatchObject({ state: 'completed', text: 'sunny' });
      expect(runs).toBe(2);
    });
  });

  it('X4 does not repeat a request to one server at another that takes over its entry', async () => {
    const [one, two] = [
      await startFar('one-7Qf2xW9kLr4TzB6vNc8d'),
      await startFar('two-5Hs8yK3mPw7RgD2jXq9n'),
    ];
    const options = { model: delegatingModel(), settings: knowing(entry('alpha', one)) };
    await withServer(options, async (server) => {
      const asked = await sendText(server, 'alpha ask');
      const waiting = sendText(server, 'alpha wait');
      await farTask(one, 'working');

      await server.reload(knowing(entry('alpha', two)));
      const answered = await sendText(server, 'say sunny', { taskId: asked.taskId });
      expect(answered.end).toMatchObject({
        state: 'completed',
        text: expect.stringContaining('There is no task'),
      });
      await one.stop();
      expect((await waiting).end.text).toContain('There is no task');
      expect((await two.client.list({})).tasks).toEqual([]);
      expect((await sendText(server, 'alpha say hello')).end.text).toBe('hello');
    });
  });

  it('X4 may make two servers name each other, and a request that comes back is refused', async () => {
    const model = delegatingModel();
    const [one, two] = [
      await startFar('one-7Qf2xW9kLr4TzB6vNc8d', { model }),
      await startFar('two-5Hs8yK3mPw7RgD2jXq9n', { model }),
    ];
    await one.reload(knowing({ ...entry('bob', two), url: two.address.origin }));
    await two.reload(knowing({ ...entry('alice', one), url: one.address.origin }));
    expect((await sendText(one, 'bob weather say hi')).end.text).toBe('hi');
    expect((await sendText(one, 'bob alice say hi')).end.text).toContain(
      'is in this chain of delegations already',
    );
  });

  it('changes nothing when the configuration or a certificate is invalid, and reports every fault', async () => {
    const far = await startFar('far-7Qf2xW9kLr4TzB6vNc8d');
    const tls = await writePair(folder, 'own', await certificate('first'));
    const settings = (...agents: readonly object[]): Settings => ({
      ...knowing(...agents),
      server: { port: 0, tls },
    });
    await withServer({ settings: settings(entry('alpha', far)) }, async (server) => {
      const { port } = server.address;
      const first = await servedCertificate(port);
      await writePair(folder, 'own', await certificate('second'));
      const wrong = settings({ name: 'Alpha', url: 'far' });
      const words = /remoteAgents\[0\]\.name must be lower-case.*\n.*remoteAgents\[0\]\.url must be an http/;
      await expect(server.reload(wrong)).rejects.toThrow(words);
      expect(await servedCertificate(port)).toBe(first);

      await writeFile(tls.keyFile, 'broken');
      await expect(server.reload(wrong)).rejects.toThrow(
        /remoteAgents\[0\]\.name[^]*TLS: .* holds no private key/,
      );
      await expect(server.reload(settings())).rejects.toThrow(/^TLS: /);
      expect(server.log.lines.join()).not.toContain('reloaded');

      await writePair(folder, 'own', await certificate('third'));
      await server.reload(settings());
      expect(await servedCertificate(port)).not.toBe(first);
      expect(server.log.lines.at(-1)).toContain(
        '"removed":["alpha"],"changed":[],"certificate":"read again"',
      );
    });
  });

  it('names the other changed keys, which need a restart', async () => {
    const settings: Settings = {
      ...knowing(),
      auth: { token: 'one-7Qf2xW9kLr4TzB6vNc8d' },
      server: { port: 0 },
    };
    await withServer({ settings }, async (server) => {
      const restart = () => server.log.lines.filter((line) => line.includes('needs a restart'));
      await server.reload({ ...settings, a2a: { enabled: false } });
      expect(restart()).toEqual([]);
      const ownAgents = [{ name: 'mine', description: 'Mine.', instruction: 'Do it.' }];
      await server.reload({
        ...settings,
        agent: { ownAgents },
        auth: { token: 'two-5Hs8yK3mPw7RgD2jXq9n' },
        server: { port: 4999, allowedHosts: ['a'] },
      });
      const keys = ['agent.ownAgents', 'auth.token', 'server.allowedHosts', 'server.port'];
      const [line = '{}'] = restart();
      expect((JSON.parse(line) as { keys: string[] }).keys.toSorted()).toEqual(keys);
      expect(line).not.toContain('two-5Hs8');
      expect((await server.fetch('/lango/agents')).status).toBe(200);
    });
  });

  it('keeps a new token out of the audit file', async () => {
    const auditFile = path.join(folder, 'audit.log');
    const settings = (...agents: readonly object[]): Settings => ({
      ...knowing(...agents),
      logging: { auditFile },
    });
    const options = { agents: [scriptedAgent('weather')], model: delegatingModel(), settings: settings() };
    await withServer(options, async (server) => {
      await server.reload(settings({ name: 'far', url: 'https://far.invalid', token: 'weather' }));
      await sendText(server, 'say hi', { agent: 'weather' });
    });
    const audit = await readFile(auditFile, 'utf8');
    expect(audit).toContain('"agent":"[redacted]"');
    expect(audit).not.toContain('weather');
  });

  it('applies one configuration after the other, and none once the server stops', async () => {
    const far = await startFar('far-7Qf2xW9kLr4TzB6vNc8d');
    const home = path.join(folder, 'home');
    const load = (...agents: readonly object[]): LoadedConfig =>
      resolveConfig({ env: readEnv({}), overrides: { home }, settings: withoutTools(knowing(...agents)) });
    const logger = new RecordingLogger();
    const app = createApp({ ...load(), logger });
    const before = Promise.withResolvers<LoadedConfig>();
    await app.reload(async () => load(entry('early', far)));
    await app.start();
    const reloads = [
      app.reload(() => before.promise),
      app.reload(async () => load(entry('second', far))),
      app.reload(),
    ];
    before.resolve(load(entry('first', far)));
    await Promise.all(reloads);
    const after = Promise.withResolvers<LoadedConfig>();
    const late = app.reload(() => after.promise);
    const stopped = app.stop();
    after.resolve(load(entry('third', far)));
    await Promise.all([late, stopped, app.reload(() => Promise.reject(new Error('was read')))]);
    const said = logger.lines.filter((line) => line.includes('reloaded the configuration'));
    expect(said.map((line) => JSON.parse(line) as object)).toMatchObject([
      { added: ['first'], removed: [] },
      { added: ['second'], removed: ['first'] },
      { added: [], removed: [] },
    ]);
  });
});

/** Waits until the agent's newest task is in that state. */
async function farTask(far: TestServer, state: string): Promise<void> {
  const request = { agent: 'weather', pageSize: 1 };
  while ((await far.client.list(request)).tasks[0]?.state !== state) await delay(20);
}

/** The fingerprint of the certificate that new connections get. */
async function servedCertificate(port: number): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256;
}
