import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { scriptedAgent } from '../support/scripted-agent.js';
import { ScriptedModel } from '../support/scripted-model.js';
import type { TestServer } from '../support/server.js';
import { startServer as startNode } from '../support/server.js';
import { AddedAgents } from '../../src/config/added-agents.js';
import { langoHere } from './lango-here.js';
import type { Home, Server } from './lango-process.js';
import { makeHome, startServer } from './lango-process.js';

/** The name of the agent as well, so that it would appear in the log. */
const TOKEN = 'forecaster-8c41d7e6b05f';
const NOBODY = 'a2a: { enabled: true }';

let far: TestServer;
let home: Home;
let server: Server;
let log: string;
beforeEach(async () => {
  far = await startNode({
    agents: [scriptedAgent('weather')],
    model: new ScriptedModel({}),
    settings: { auth: { token: TOKEN } },
  });
  home = await makeHome(NOBODY);
  await start();
});
afterEach(async () => {
  await server.stop();
  await far.stop();
  await home.remove();
});

async function start(): Promise<void> {
  server = await startServer({ ...home, env: { ...home.env, LANGO_LOG_LEVEL: 'debug' } });
  log = '';
  server.child.stderr!.on('data', (chunk: Buffer) => (log += chunk.toString('utf8')));
}

/** Changes the file and sends SIGHUP. Resolves with the log lines that follow. */
async function reload(config: string | undefined): Promise<string> {
  const file = path.join(home.folder, 'config.yaml');
  await (config === undefined ? rm(file) : writeFile(file, config, { mode: 0o600 }));
  log = '';
  server.child.kill('SIGHUP');
  while (!/reloaded.*\n/.test(log))
    await new Promise((resolve) => server.child.stderr!.once('data', resolve));
  return log;
}

const run = (...args: readonly string[]) => langoHere(args, { env: server.env });

it('X4 SIGHUP applies the remote agents of a changed file, and nothing of an invalid one', async () => {
  const url = `${far.address.origin}/agents/weather`;
  const remote = `{ name: ${TOKEN}, url: "${url}", token: ${TOKEN}, allowPrivate: true }`;
  const added = await reload(`a2a: { enabled: true, remoteAgents: [${remote}] }`);
  expect(added).toMatch(
    /reloaded the configuration","added":\["\[redacted\]"\],"removed":\[\],"changed":\[\]/,
  );
  expect((await run('agents')).stdout).toMatch(/^forecaster-\w+ +ready +remote/m);
  expect((await run('send', `ask ${TOKEN} to tell the weather`)).stdout).toContain('you said: ');

  for (const [wrong, words] of [
    ['a2a: { remoteAgents: [{ name: ', 'config.yaml:1:'],
    ['a2a: { agents: [] }', 'a2a.agents'],
    ['auth: { token: "${NOT_SET}" }', 'needs the environment variable NOT_SET, which is not set'],
    [undefined, 'there is no such file'],
  ] as const) {
    const said = await reload(wrong);
    const [line = '{}'] = said.split('\n').filter((one) => one.includes('not reloaded'));
    const { message, level, error } = JSON.parse(line) as Record<string, string>;
    expect({ message, level }).toEqual({
      message: 'the configuration was not reloaded: the server keeps the present one',
      level: 'error',
    });
    expect(error).toContain(words);
    if (wrong !== undefined) {
      for (const problem of (await run('config', 'check')).stdout.trim().split('\n')) {
        expect(error).toContain(problem);
      }
    }
  }
  expect((await run('agents')).stdout).toMatch(/^forecaster-\w+ +ready +remote/m);

  const removed = await reload(`${NOBODY}\nserver: { allowedHosts: [other.example] }`);
  expect(removed).toMatch(/"added":\[\],"removed":\["\[redacted\]"\]/);
  expect(removed).toMatch(/"keys":\["server\.allowedHosts"\]/);
  expect((await run('agents')).stdout).not.toContain('forecaster');
  expect((await run('send', `ask ${TOKEN} to tell the weather`)).stdout).not.toContain('you said: ');
  expect((await server.stop()).stderr).not.toContain(TOKEN);
});

it('X4 an agent that a person adds is used at once, survives restarts, and leaves when it is removed', async () => {
  const url = `${far.address.origin}/agents/weather`;
  const token = path.join(home.folder, 'far-token');
  await writeFile(token, `${TOKEN}\n`);
  const add = (...more: readonly string[]) => run('agents', 'add', url, '--agent-token', token, ...more);

  const wrong = await add('--name', 'Wrong Name');
  expect([wrong.code, wrong.stderr]).toEqual([
    1,
    expect.stringContaining('added-agents.json: a2a.remoteAgents[0].name must be lower-case letters'),
  ]);
  const taken = await add('--name', 'operator');
  expect(taken.stderr).toContain('There is an agent operator already.');
  const lone = await add();
  expect(lone.stdout).toContain('Added weather, which cannot be used yet.');
  expect(lone.stdout).toContain('has a private or loopback address');
  expect((await run('agents', 'remove', 'weather')).stdout).toBe('Removed weather.\n');

  const added = await add('--allow-private');
  expect(added.stdout).toMatch(/^Added weather\.\nweather +ready +remote/);
  expect((await run('send', 'ask weather to tell the weather')).stdout).toContain('you said: ');
  expect((await add('--allow-private')).stderr).toContain('There is an agent weather already.');

  await server.stop();
  await start();
  expect((await run('send', 'ask weather to tell the weather')).stdout).toContain('you said: ');
  expect((await run('config', 'check')).code).toBe(0);

  const removed = await run('agents', 'remove', 'weather', '--json');
  expect(JSON.parse(removed.stdout)).toEqual({ removed: 'weather' });
  expect((await run('agents')).stdout).not.toContain('weather');
  expect((await run('agents', 'remove', 'weather')).stderr).toContain('There is no agent weather.');

  await reload(`a2a: { enabled: true, remoteAgents: [{ name: mine, url: "${url}", allowPrivate: true }] }`);
  expect((await run('agents', 'remove', 'mine')).stderr).toContain('was not added by');
  expect(log).not.toContain(TOKEN);
});

it('the server follows the list of added agents that another replica with this data folder changed', async () => {
  await server.stop();
  await writeFile(path.join(home.folder, 'config.yaml'), 'a2a: { refreshSeconds: 1 }', { mode: 0o600 });
  await start();
  const kept = new AddedAgents(home.folder);
  const shown = async (is: boolean) => {
    while (/^weather +ready/m.test((await run('agents')).stdout) !== is) await sleep(50);
  };
  const url = `${far.address.origin}/agents/weather`;
  await kept.replace([{ name: 'weather', url, token: TOKEN, allowPrivate: true }]);
  await shown(true);
  expect((await run('send', 'ask weather to tell the weather')).stdout).toContain('you said: ');
  await kept.replace([{ name: 'Wrong Name', url }]);
  while (!log.includes('the added agents of another replica cannot be used')) await sleep(50);
  await shown(true);
  await kept.replace([]);
  await shown(false);
  expect(log).not.toContain(TOKEN);
});
