import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { copyFile } from 'node:fs/promises';
import path from 'node:path';
import { langoHere, startServerHere, type ServerHere } from './lango-here.js';
import type { Home } from './lango-process.js';
import { lango, makeHome } from './lango-process.js';

/** Client commands beside a configuration that is meant for the server alone. */

let home: Home;
let server: ServerHere;

beforeAll(async () => {
  home = await makeHome('tools: { exec: { sandbox: "off" } }\n');
  server = await startServerHere(home);
});

afterAll(async () => {
  await server.stop();
  await home.remove();
});

/** Writes the token of the running server into a data folder, and records that the server runs. */
async function shareServer({ folder }: Home): Promise<void> {
  for (const file of ['token', 'server.json'])
    await copyFile(path.join(home.folder, file), path.join(folder, file));
}

describe('the address that a client command finds', () => {
  it('is that of the server that runs in its data folder, whatever port the configuration names', async () => {
    const sent = await langoHere(['send', 'hello'], { env: home.env });
    expect(sent).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Hello!/) });
    const doctor = await langoHere(['doctor'], { env: home.env });
    expect(doctor.stdout).toContain(`one runs at ${server.origin}`);
  });

  it('is missing where no server runs and no port is named, and the error says what to do', async () => {
    const idle = await makeHome('server: { port: 0 }');
    const { code, stderr } = await langoHere(['send', 'hello'], { env: idle.env });
    await idle.remove();
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('lango serve') });
  });
});

it('a client command names no agent that is away to a server of one agent, which asks no others', async () => {
  const alone = await makeHome(
    'agent: { multiAgent: false }\na2a: { enabled: true, remoteAgents: [{ name: w, url: "http://127.0.0.1:1", allowPrivate: true }] }\n',
  );
  const one = await startServerHere(alone);
  const { stdout, stderr } = await langoHere(['send', 'hello'], { env: alone.env });
  await one.stop();
  await alone.remove();
  expect({ stdout, stderr }).toEqual({ stdout: expect.stringMatching(/^Hello!/), stderr: '' });
});

describe('the configuration that a client command reads', () => {
  it('needs no secret of the server but its token', async () => {
    const other = await makeHome(
      'a2a: { enabled: true, remoteAgents: [{ name: far, url: "http://127.0.0.1:1", token: "${FAR_TOKEN}" }] }',
    );
    await shareServer(other);
    const result = await lango(['send', 'hello', '--url', server.origin], { env: other.env });
    const served = await lango(['serve'], { env: other.env });
    await other.remove();
    expect(result).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Hello!/) });
    expect(served).toMatchObject({ code: 1, stderr: expect.stringContaining('variable FAR_TOKEN') });
  });

  it.each([
    ['the key of the model', 'model: { provider: anthropic }'],
    ['the name of the model', 'model: { provider: openai, apiKey: "${OPENAI_KEY}" }'],
    ['variables of the server', 'model: { baseUrl: "${MODEL_URL}" }\nlogging: { level: "${LEVEL}" }'],
    ['keys of later versions', 'telemetry: { to: nowhere }\nserver: { limits: { later: 1 } }'],
    ['the key of the search', 'webSearch: { provider: brave }\nembedding: { provider: voyage }'],
  ])('does not need %s, which only the server needs', async (_what, config) => {
    const other = await makeHome(config);
    await shareServer(other);
    const env = { ...other.env, LANGO_URL: server.origin };
    for (const args of [['send', 'hello'], ['agents'], ['tasks', 'list'], ['card']]) {
      expect(await langoHere(args, { env })).toMatchObject({ code: 0, stderr: '' });
    }
    const chat = await langoHere(['chat'], { env, input: 'hello\n' });
    expect(chat).toMatchObject({ code: 0, stdout: expect.stringContaining('Hello!') });
    await other.remove();
  });

  it('opens a data folder without the keys of vendors, and says what its server needs', async () => {
    const other = await makeHome('model: { provider: anthropic }');
    const secrets = await langoHere(['secrets', 'list'], { env: other.env });
    const shown = await langoHere(['config', 'check'], { env: other.env });
    await other.remove();
    expect(secrets).toMatchObject({ code: 0 });
    expect(shown).toMatchObject({ code: 1, stdout: expect.stringContaining('model.provider needs a key') });
  });

  it('is reported when one of its own values is wrong', async () => {
    const other = await makeHome('server: { port: many }\nmodel: { provider: nobody }');
    const { code, stderr } = await langoHere(['agents'], { env: other.env });
    await other.remove();
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('server.port') });
    expect(stderr).not.toContain('model');
  });
});
