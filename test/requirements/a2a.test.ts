import { describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parse } from 'yaml';
import { ClientFactory } from '@a2a-js/sdk/client';
import { readEnv } from '../../src/config/env.js';
import { loadConfig } from '../../src/config/load.js';
import { defineAgent, type Agent, type ServerOptions } from '../../src/index.js';
import { toolNamed } from '../support/agent-fixtures.js';
import { freePort } from '../support/free-port.js';
import { openCardHost } from '../support/card-host.js';
import { ScriptedModel, ask, call, resultsIn, say } from '../support/scripted-model.js';
import type { TestServer } from '../support/server.js';
import { beginTask, doings, sendText, startServer, withServer } from '../support/server.js';

const BARE = { fs: { enabled: false }, exec: { enabled: false } };
const EVERY_ROLE = ['exec_shell', 'browser_open', 'crypto_sign', 'search_web', 'memory_store'];
const TOOLS = EVERY_ROLE.map((name) => toolNamed(name));

describe('X. A2A', () => {
  it('X1 every agent has its own card and its own endpoint, with the text of its card file', async () => {
    const names = [
      ...['lango-orchestrator', 'operator', 'navigator', 'vault', 'librarian', 'planner', 'chronicler'],
    ];
    const model = new ScriptedModel(
      Object.fromEntries(names.map((name) => [name.replace('lango-', ''), [say(`I am ${name}`)]])),
    );
    await withServer({ tools: TOOLS, model }, async (server) => {
      for (const name of names) {
        // This request for a public card sends no token.
        const url = `${server.address.origin}/agents/${name}/.well-known/agent-card.json`;
        const card = (await (await fetch(url)).json()) as Record<string, unknown>;
        const file = JSON.parse(readFileSync(`agent-cards/${name}.json`, 'utf8')) as Record<string, unknown>;
        expect(card).toMatchObject({ name, description: file['description'] });
        expect(card['supportedInterfaces']).toEqual(
          expect.arrayContaining([
            expect.objectContaining({
              url: `${server.address.origin}/agents/${name}`,
              protocolBinding: 'JSONRPC',
            }),
          ]),
        );
        expect((await sendText(server, 'who are you?', { agent: name })).end.text).toBe(`I am ${name}`);
      }
      expect(readdirSync('agent-cards')).toEqual(expect.arrayContaining(names.map((name) => `${name}.json`)));
    });
  });

  it('X1 a card holds the reviewed skills of the tools that are on, and of no other tools', async () => {
    const tools = ['exec_shell', 'skill_x', 'odd_one'].map((name) => toolNamed(name));
    const settings = {
      agent: {
        roster: 'classic' as const,
        ownAgents: [{ name: 'handy', description: 'Handy.', instruction: 'Help.', prefixes: ['exec'] }],
      },
    };
    const { skills } = JSON.parse(readFileSync('agent-cards/executor.json', 'utf8')) as {
      skills: { id: string }[];
    };
    const reviewed = (id: string): object =>
      expect.objectContaining(skills.find((skill) => skill.id === id)!);
    await withServer({ tools, settings, model: new ScriptedModel({}) }, async (server) => {
      expect(await publicCard(server, 'executor')).toMatchObject({
        skills: [reviewed('running-skills'), { id: 'general-actions', name: 'General actions' }],
      });
      expect(await publicCard(server, 'handy')).toMatchObject({
        description: 'Handy. Capabilities: command execution.',
        skills: [reviewed('command-execution')],
      });
    });
  });

  it('X1 an own agent says its version, provider, icon and documentation', async () => {
    const card = {
      version: '2.1.0',
      provider: { organization: 'Example' },
      iconUrl: 'https://example.org/icon.png',
      documentationUrl: 'https://example.org/agent',
    };
    const spoken = { description: 'Mine.', instruction: 'x', card };
    const settings = { agent: { ownAgents: [{ name: 'writer', ...spoken }] } };
    const agents = [defineAgent({ name: 'reader', ...spoken })];
    await withServer({ settings, agents, model: new ScriptedModel({}) }, async (server) => {
      const provider = { organization: 'Example', url: server.address.origin };
      for (const name of ['writer', 'reader'])
        expect(await publicCard(server, name)).toMatchObject({ ...card, provider });
    });
  });

  it('X1 an agent of the configuration or the program has its own card text under any name', async () => {
    const settings = {
      agent: {
        ownAgents: [{ name: 'operator', description: 'Mine.', instruction: 'x', prefixes: ['odd_'] }],
      },
      a2a: { publish: ['lango-orchestrator', 'operator'] },
    };
    const skill = {
      id: 'planning',
      name: 'Mine',
      description: 'Mine.',
      tags: ['mine'],
      examples: ['Plan it.'],
    };
    const planner: Agent = {
      profile: { name: 'planner', description: 'Also mine.', skills: [skill] },
      run: async () => ({ state: 'completed' as const }),
    };
    const parts = {
      tools: [toolNamed('odd_one')],
      settings,
      agents: [planner],
      model: new ScriptedModel({}),
    };
    await withServer(parts, async (server) => {
      const operator = await publicCard(server, 'operator');
      expect(operator).toMatchObject({ description: 'Mine. Capabilities: general actions.' });
      expect(operator['provider']).toBeUndefined();
      expect(await publicCard(server, 'planner')).toMatchObject({
        description: 'Also mine.',
        skills: [skill],
      });
    });
  });

  it('X1 no public card holds prompt text, tool names or paths of this machine', async () => {
    const settings = { server: { port: 0 } };
    await withServer({ tools: TOOLS.slice(1), model: new ScriptedModel({}), settings }, async (server) => {
      const cards = await (await fetch(`${server.address.origin}/.well-known/ai-catalog.json`)).text();
      const all = [cards];
      for (const { name } of await server.client.catalog()) {
        all.push(
          await (await fetch(`${server.address.origin}/agents/${name}/.well-known/agent-card.json`)).text(),
        );
      }
      expect(all.length).toBeGreaterThan(6);
      for (const text of all) {
        expect(text).not.toMatch(/\b(fs|exec|browser|crypto|search|memory)_[a-z]+/);
        expect(text).not.toMatch(/You are the|MUST delegate|constraint/i);
        expect(text).not.toContain(server.home);
        expect(text).not.toMatch(/\/(home|root|tmp|work)\//);
      }
    });
  });

  it('X1 a client of the stock SDK that knows only the host talks to the orchestrator', async () => {
    const model = new ScriptedModel({ orchestrator: [say('Hello!')] });
    await withServer({ model }, async (server) => {
      const authorized: typeof fetch = (input, init) =>
        fetch(input, {
          ...init,
          headers: {
            ...Object.fromEntries(new Headers(init?.headers)),
            authorization: `Bearer ${server.address.token}`,
          },
        });
      const { JsonRpcTransportFactory, RestTransportFactory } = await import('@a2a-js/sdk/client');
      for (const Transport of [JsonRpcTransportFactory, RestTransportFactory]) {
        const factory = new ClientFactory({ transports: [new Transport({ fetchImpl: authorized })] });
        const client = await factory.createFromUrl(server.address.origin);
        const message = {
          messageId: Transport.name,
          role: 1,
          parts: [
            {
              content: { $case: 'text' as const, value: 'hi' },
              metadata: undefined,
              filename: '',
              mediaType: '',
            },
          ],
          contextId: '',
          taskId: '',
          metadata: undefined,
          extensions: [],
          referenceTaskIds: [],
        };
        const task = await client.sendMessage({
          tenant: '',
          message,
          configuration: undefined,
          metadata: undefined,
        });
        expect(JSON.stringify(task)).toContain('Hello!');
      }
    });
  });

  it('X2 a card that cannot be reached, read or verified is skipped with a warning, and the others are used', async () => {
    const dead = await freePort();
    const other = await startServer(remoteNode('never asked'));
    const page = createServer((_, response) => response.end('<html>no card</html>'));
    await once(page.listen(0, '127.0.0.1'), 'listening');
    const { port } = page.address() as AddressInfo;
    const remoteAgents = [
      { name: 'dead', url: `http://127.0.0.1:${dead}`, allowPrivate: true },
      { name: 'private', url: `http://127.0.0.1:${dead}` },
      { name: 'unreadable', url: `http://127.0.0.1:${port}`, allowPrivate: true },
      {
        name: 'unverified',
        url: `${other.address.origin}/agents/weather`,
        allowPrivate: true,
        verify: { hash: '0'.repeat(64) },
      },
    ];
    const model = new ScriptedModel({
      orchestrator: [call(ask('operator', 'go', true))],
      operator: [say('worked')],
    });
    const settings = { server: { port: 0 }, tools: BARE, a2a: { enabled: true, remoteAgents } };
    await withServer({ tools: TOOLS, model, settings }, async (server) => {
      expect((await sendText(server, 'work')).end).toMatchObject({ state: 'completed', text: 'worked' });
      for (const { name } of remoteAgents) {
        const lines = server.log.lines.filter(
          (line) => line.includes(`"${name}"`) && line.includes('"warn"'),
        );
        expect(lines).toHaveLength(1);
        expect(JSON.parse(lines[0]!)).toMatchObject({ reason: expect.any(String), hint: expect.any(String) });
      }
      const instruction = JSON.stringify(model.asked('orchestrator')[0]!.system);
      for (const { name } of remoteAgents) expect(instruction).not.toContain(name);
    });
    page.close();
    await other.stop();
  });

  it('X3 a remote agent of the configuration is a sub-agent, described in the instruction by its own card', async () => {
    const far = await startServer(remoteNode('the weather is fine'));
    try {
      const model = new ScriptedModel({
        orchestrator: [
          call(ask('forecaster', 'weather?')),
          (request) => say(`They say: ${resultsIn(request)[0]}`),
        ],
      });
      await withServer({ tools: TOOLS, model, settings: withRemote(far) }, async (server) => {
        const outcome = await sendText(server, 'how is it outside?');
        expect(outcome.end.text).toBe('They say: the weather is fine');
        expect(doings(outcome)).toContain('forecaster: text "the weather is fine"');
        expect(model.asked('orchestrator')[0]!.system[0]!.text).toMatch(
          /^- forecaster\n {2}Its card says: Foretells the weather\.$/m,
        );
        const [task] = (await far.client.list({ agent: 'weather' })).tasks;
        expect(task).toMatchObject({ state: 'completed' });
      });
    } finally {
      await far.stop();
    }
  });

  it('X3 a2a.enabled: false connects to no remote agent', async () => {
    const far = await startServer(remoteNode('never asked'));
    try {
      const settings = withRemote(far);
      const off = { ...settings, a2a: { ...settings.a2a, enabled: false } };
      const model = new ScriptedModel({ orchestrator: [say('hi')] });
      await withServer({ model, settings: off }, async (server) => {
        await sendText(server, 'hi');
        expect(JSON.stringify(model.requests[0]!.system)).not.toContain('forecaster');
      });
    } finally {
      await far.stop();
    }
  });

  it('X4 a peer joins when it becomes reachable, and leaves when it is gone, without a restart', async () => {
    const port = await freePort();
    const remote = withRemote({
      address: { origin: `http://127.0.0.1:${port}`, token: 'far-7Qf2xW9kLr4TzB6vNc8d' },
    });
    const settings = { ...remote, a2a: { ...remote.a2a, awaySeconds: 0 } };
    const turn = (request: { functions: readonly { parameters: object }[] }) =>
      say(JSON.stringify(request.functions).includes('forecaster') ? 'there' : 'not there');
    const model = new ScriptedModel({ orchestrator: [turn] });
    await withServer({ tools: TOOLS, model, settings }, async (server) => {
      expect((await sendText(server, 'who?')).end.text).toBe('not there');
      const far = await startServer({
        ...remoteNode('here'),
        settings: { server: { port }, tools: BARE, auth: { token: 'far-7Qf2xW9kLr4TzB6vNc8d' } },
      });
      await server.log.saying('agent joined","agent":"forecaster');
      expect((await sendText(server, 'who?')).end.text).toBe('there');
      await far.stop();
      await server.log.saying('agent left","agent":"forecaster');
      expect((await sendText(server, 'who?')).end.text).toBe('not there');
    });
  });

  it('X4 a delegation continues after all nodes were restarted, also when its peer starts last', async () => {
    const [home, farHome] = [
      await mkdtemp(path.join(tmpdir(), 'lango-root-')),
      await mkdtemp(path.join(tmpdir(), 'lango-far-')),
    ];
    const port = await freePort();
    const weather = interruptedWeather();
    const startFar = (): Promise<TestServer> =>
      startServer({
        home: farHome,
        agents: [weather.agent],
        model: new ScriptedModel({}),
        settings: { server: { port }, tools: BARE, auth: { token: 'far-7Qf2xW9kLr4TzB6vNc8d' } },
      });
    const model = new ScriptedModel({ orchestrator: [call(ask('forecaster', 'tomorrow?', true))] });
    const settings = {
      ...withRemote({ address: { origin: `http://127.0.0.1:${port}`, token: 'far-7Qf2xW9kLr4TzB6vNc8d' } }),
      auth: { token: 'near-5Hs8yK3mPw7RgD2jXq9n' },
    };
    const startRoot = (): Promise<TestServer> => startServer({ home, model, settings });

    const before = [await startFar(), await startRoot()] as const;
    const task = await beginTask(before[1], 'rain?');
    while (weather.begun() === 0) await delay(20);
    await Promise.all(before.map((node) => node.stop()));

    const near = await startRoot();
    await delay(1_500);
    const far = await startFar();
    try {
      const states = await near.fetch(`/tasks/${task}:subscribe`);
      expect(await states.text()).toMatch(/sunny[\s\S]*TASK_STATE_COMPLETED/);
      expect(weather.begun()).toBe(2);
    } finally {
      await Promise.all([near.stop(), far.stop()]);
      await Promise.all([home, farHome].map((folder) => rm(folder, { recursive: true })));
    }
  });

  it('X4 a delegation continues when its peer returns with another address on its card', async () => {
    const home = await mkdtemp(path.join(tmpdir(), 'lango-far-'));
    const [port, ...grpcPorts] = [await freePort(), await freePort(), await freePort()];
    const weather = interruptedWeather();
    const startFar = (grpcPort: number): Promise<TestServer> =>
      startServer({
        home,
        agents: [weather.agent],
        model: new ScriptedModel({}),
        settings: {
          server: { port, grpc: { enabled: true, port: grpcPort } },
          ...{ tools: BARE, auth: { token: 'far-7Qf2xW9kLr4TzB6vNc8d' } },
        },
      });
    await using cards = await openCardHost(`http://127.0.0.1:${port}`);
    const model = new ScriptedModel({ orchestrator: [call(ask('forecaster', 'tomorrow?', true))] });
    const remote = withRemote({ address: { origin: cards.url, token: 'far-7Qf2xW9kLr4TzB6vNc8d' } });
    const settings = { ...remote, a2a: { ...remote.a2a, awaySeconds: 0 } };
    let far = await startFar(grpcPorts[0]);
    try {
      await withServer({ model, settings }, async (server) => {
        const answer = sendText(server, 'rain?');
        while (weather.begun() === 0) await delay(20);
        await far.stop();
        await server.log.saying('agent left","agent":"forecaster');
        far = await startFar(grpcPorts[1]);
        expect((await answer).end.text).toBe('sunny');
        expect(weather.begun()).toBe(2);
      });
    } finally {
      await far.stop();
      await rm(home, { recursive: true });
    }
  });

  it.each([true, false])(
    'X1 a2a.publish may name only an agent of the program (multiAgent: %s)',
    async (multiAgent) => {
      const agents = ['weather', 'tides'].map((name): Agent => ({
        profile: { name, description: 'Foretells.', skills: [] },
        run: async () => ({ state: 'completed' as const }),
      }));
      const settings = { server: { port: 0 }, agent: { multiAgent }, a2a: { publish: ['weather'] } };
      await withServer({ agents, settings, model: new ScriptedModel({}) }, async (server) => {
        expect(server.address).toMatchObject({ agents: ['weather'], root: 'weather' });
        expect(await publicCard(server, 'weather')).toMatchObject({ name: 'weather' });
        expect((await sendText(server, 'hello')).end.state).toBe('completed');
      });
    },
  );

  it('X6 the compose file starts nodes that differ by their configuration, which is valid', async () => {
    const compose = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as {
      services: Record<string, { image: string; environment: Record<string, string> }>;
    };
    const services = Object.entries(compose.services).filter(([, { image }]) =>
      /^lango(-full)?:/.test(image),
    );
    const published = services.map(async ([name, { environment }]) => {
      const configFile = environment['LANGO_CONFIG']!.replace('/etc/lango', 'deploy/nodes');
      const { LANGO_AGENT, LANGO_BASE_URL } = environment;
      const isFront = LANGO_AGENT === undefined;
      const env = readEnv({ LANGO_HOME: '/data', ...(!isFront && { LANGO_AGENT, LANGO_BASE_URL }) });
      const { config } = await loadConfig({ env, overrides: { configFile } });
      expect(config.a2a.remoteAgents.map((agent) => agent.name)).toEqual(isFront ? SUB_AGENTS : []);
      return [name, ...config.a2a.publish!];
    });
    expect(await Promise.all(published)).toEqual([
      ['orchestrator-1', 'lango-orchestrator'],
      ['orchestrator-2', 'lango-orchestrator'],
      ...SUB_AGENTS.map((name) => [name, name]),
    ]);
  });
});

const SUB_AGENTS = ['operator', 'navigator', 'vault', 'librarian', 'planner', 'chronicler'];

/** An agent whose first run works until its node stops, and whose later runs respond. */
function interruptedWeather(): { readonly agent: Agent; readonly begun: () => number } {
  let begun = 0;
  const agent: Agent = {
    profile: { name: 'weather', description: 'Foretells the weather.', skills: [] },
    async run(run) {
      begun += 1;
      if (begun === 1) await once(run.signal, 'abort');
      run.emit({ type: 'text-delta', artifactId: 'answer', text: 'sunny', replace: true });
      return { state: 'completed' };
    },
  };
  return { agent, begun: () => begun };
}

async function publicCard({ address }: TestServer, name: string): Promise<Record<string, unknown>> {
  const response = await fetch(`${address.origin}/agents/${name}/.well-known/agent-card.json`);
  return (await response.json()) as Record<string, unknown>;
}

/** A node that publishes one agent of its own, `weather`, at the root of the host. */
function remoteNode(answer: string): ServerOptions {
  return {
    agents: [
      {
        profile: { name: 'weather', description: 'Foretells the weather.', skills: [] },
        async run(run) {
          run.emit({ type: 'text-delta', artifactId: 'answer', text: answer, replace: true });
          return { state: 'completed' };
        },
      },
    ],
    model: new ScriptedModel({}),
  };
}

type Far = Pick<TestServer, never> & {
  readonly address: { readonly origin: string; readonly token: string | undefined };
};

/** Settings of a node that knows the other one as `forecaster`. */
function withRemote({ address: { origin, token } }: Far) {
  const url = `${origin}/agents/weather`;
  const remoteAgents = [{ name: 'forecaster', url, token: token!, allowPrivate: true }];
  return { server: { port: 0 }, tools: BARE, a2a: { enabled: true, refreshSeconds: 1, remoteAgents } };
}
