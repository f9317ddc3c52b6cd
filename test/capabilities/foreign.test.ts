import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Home, Result } from '../cli/lango-process.js';
import { langoHere, startServerHere } from '../cli/lango-here.js';
import { lango, makeHome } from '../cli/lango-process.js';
import { built } from '../support/built.js';
import type { PostgresServer } from '../support/postgres.js';
import { startPostgres } from '../support/postgres.js';

/** A capability from outside, examples/capability.ts: a package that the configuration names. */

const EXAMPLE = pathToFileURL(built('examples/capability.js')).href;
const LIBRARY = pathToFileURL(built('src/index.js')).href;

let postgres: PostgresServer | undefined;
beforeAll(async () => {
  postgres = await startPostgres();
}, 120_000);
afterAll(async () => postgres?.stop());

async function withHome(config: string, use: (home: Home) => Promise<void>): Promise<void> {
  const home = await makeHome(config);
  try {
    await use(home);
  } finally {
    await home.remove();
  }
}

/** Installs a package beside the configuration file. */
async function install({ folder }: Home, name: string, program: string): Promise<void> {
  const place = path.join(folder, 'node_modules', name);
  await mkdir(place, { recursive: true });
  await writeFile(
    path.join(place, 'package.json'),
    JSON.stringify({ name, type: 'module', exports: './index.js' }),
  );
  await writeFile(path.join(place, 'index.js'), program);
}

const REEXPORT = `export { capability } from ${JSON.stringify(EXAMPLE)};`;

/** Runs commands against a server of this home, in turns. */
async function whileServing(
  home: Home,
  ...commands: readonly (readonly string[])[]
): Promise<readonly Result[]> {
  const server = await startServerHere(home);
  const results: Result[] = [];
  try {
    for (const args of commands) results.push(await langoHere(args, { env: server.env }));
  } finally {
    await server.stop();
  }
  return results;
}

const BOOKMARK = ['send', 'bookmark https://lango.example as home'];
const LIST = ['bookmarks', 'list', '--json'];
const SAVED = { bookmarks: [{ url: 'https://lango.example', title: 'home' }] };

async function livesThrough(settings: string): Promise<void> {
  const named = `capabilities: ['@example/bookmarks']\nbookmarks: { most: 1 }\n${settings}`;
  await withHome(named, async (home) => {
    await install(home, '@example/bookmarks', REEXPORT);
    const [saved, full, list, exported] = await whileServing(
      home,
      BOOKMARK,
      ['send', 'bookmark https://second.example as second'],
      LIST,
      ['data', 'export'],
    );
    expect(saved!.stdout).toContain('Saved home.');
    expect(full!.stdout).toContain('There are too many bookmarks.');
    expect(JSON.parse(list!.stdout)).toEqual(SAVED);
    expect(JSON.parse(exported!.stdout)).toMatchObject(SAVED);
    expect((await langoHere(['config', 'show'], { env: home.env })).stdout).toContain('bookmarks.most = 1');
    expect(JSON.parse((await lango(LIST, { env: home.env })).stdout)).toEqual(SAVED);

    // Taken out of the list, nothing of it runs, and its rows stay.
    const file = path.join(home.folder, 'config.yaml');
    const config = await readFile(file, 'utf8');
    await writeFile(file, settings);
    const [without, unknown] = await whileServing(home, BOOKMARK, LIST);
    expect(without!.stdout).not.toContain('Saved');
    expect(unknown!.stderr).toContain("unknown command 'bookmarks'");
    await writeFile(file, config);
    const [back, deleted, none] = await whileServing(home, LIST, ['data', 'delete', '--yes'], LIST);
    expect(JSON.parse(back!.stdout)).toEqual(SAVED);
    expect(deleted!.stdout).toContain('bookmarks 1');
    expect(JSON.parse(none!.stdout)).toEqual({ bookmarks: [] });
  });
}

describe('a capability of a package that the configuration names', () => {
  it('keeps, lists, exports and deletes its rows in SQLite, also after it was out of the list', async () => {
    await livesThrough('');
  });

  it('keeps, lists, exports and deletes its rows in PostgreSQL, also after it was out of the list', async () => {
    const database = await postgres?.database();
    if (!database) return;
    await livesThrough(`storage: { url: '${database.url}', connections: 4 }\n`);
    await database.drop();
  });

  it('is named with the command that installs it when it is not installed', async () => {
    await withHome("capabilities: ['@example/absent']\n", async (home) => {
      const { code, stderr } = await langoHere(['config', 'check'], { env: home.env });
      expect(code).toBe(1);
      expect(stderr).toContain(`npm install --prefix ${home.folder} @example/absent`);
    });
  });
});

const TABLE = (sql: string) =>
  `tables: { sqlite: [${JSON.stringify(sql)}], postgres: [${JSON.stringify(sql)}] },`;
const ROUTE = (to: string) =>
  `operations: { look: { method: 'get', path: '${to}', input: z.object({}), result: z.object({}) } },`;

/** Each breaks one rule for capabilities from outside, and is refused before the server starts. */
const REFUSED: readonly (readonly [rule: string, members: string, error: string])[] = [
  ['a table without its prefix', TABLE('CREATE TABLE notes (id TEXT)'), 'notes'],
  [
    'a trigger on a table of the server',
    TABLE('CREATE TRIGGER odd_one AFTER INSERT ON tasks BEGIN SELECT 1; END'),
    'may not use "tasks"',
  ],
  ['a column in a table of the server', TABLE('ALTER TABLE tasks ADD COLUMN odd_one TEXT'), 'tasks'],
  ['the removal of a table of the server', TABLE('DROP TABLE IF EXISTS tasks'), 'tasks'],
  [
    'settings of another group',
    "settings: { server: fields.group('x', { a: fields.count(1, 'x') }) },",
    'its settings must be at odd',
  ],
  ['a route of another group', ROUTE('/lango/tasks'), 'its routes must be below /lango/odd'],
  [
    'a command of another group',
    "commands: [{ usage: 'serve twice', description: 'x', works: 'server' }],",
    'its commands must begin with odd',
  ],
  [
    'a kind of data with the name of another',
    "keeps: { act: { what: 'x', right: 'x' } },",
    'its kinds of data must begin with odd, not act',
  ],
  [
    'an operation for the right to another kind of data',
    ROUTE('/lango/odd').replace('method:', "right: 'secrets', method:"),
    'its operations must be for rights of its own, not secrets',
  ],
];

const ODD = (members: string, families = '[]') => `
  import { defineCapability, defineTool, fields, sql } from ${JSON.stringify(LIBRARY)};
  import { z } from ${JSON.stringify(import.meta.resolve('zod'))};
  const tool = (name, danger, execute) =>
    defineTool({ name, description: 'x', schema: z.strictObject({}), effect: 'pure', danger, execute });
  export const capability = defineCapability({
    name: 'odd',
    assigns: () => [{ prefix: 'odd_', agent: 'operator', path: [] }],
    sentences: [['odd look', 'odd_look'], ['odd write', 'odd_write']],
    ${members}
    open: ({ database }) => ({ families: () => ${families} }),
  });`;

describe('a capability from outside', () => {
  it.each(REFUSED)('that brings %s is refused at the start', async (_rule, members, error) => {
    await withHome('capabilities: [odd]\n', async (home) => {
      await install(home, 'odd', ODD(members));
      const { code, stderr } = await langoHere(['serve', '--port', '0'], { env: home.env });
      expect(code).not.toBe(0);
      expect(stderr).toContain(error);
      expect(stderr).not.toMatch(/^\s+at /m);
      if (!members.startsWith('tables')) return;
      // The server starts without it, and has all its tables.
      await writeFile(path.join(home.folder, 'config.yaml'), '');
      const [sent] = await whileServing(home, ['send', 'hello']);
      expect(sent!.code).toBe(0);
    });
  });

  it('reads and changes no table of the server', async () => {
    const families = `[{ name: 'odd', state: 'on', tools: [
      tool('odd_look', 'safe', async () => ({ content: JSON.stringify(await database.read(() => sql.all('SELECT * FROM tasks'))) })),
      tool('odd_write', 'safe', async () => ({ content: String(await database.write('x', () => sql.run('DELETE FROM "tasks"'))) })),
    ] }]`;
    await withHome('capabilities: [odd]\n', async (home) => {
      await install(home, 'odd', ODD('', families));
      const [look, write, list] = await whileServing(
        home,
        ['send', 'odd look'],
        ['send', 'odd write'],
        ['tasks', 'list'],
      );
      for (const { stdout } of [look!, write!])
        expect(stdout).toContain('The capability odd may not use "tasks" in a statement.');
      expect(list!.stdout).toContain('odd');
    });
  });

  it('has its dangerous tools behind the approval of a person', async () => {
    const families = `[{ name: 'odd', state: 'on', tools: [
      tool('odd_look', 'dangerous', async () => ({ content: 'It ran.' })),
    ] }]`;
    await withHome('capabilities: [odd]\n', async (home) => {
      await install(home, 'odd', ODD('', families));
      const [look] = await whileServing(home, ['send', 'odd look']);
      expect(look!.stdout).not.toContain('It ran.');
      expect(look!.stdout + look!.stderr).toMatch(/odd_look/);
    });
  });
});
