import { openSqliteStores } from '../../lab/all-stores.js';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { textPart } from '../../src/core/message.js';
import { silentLogger } from '../../src/core/logger.js';
import { smallZip } from '../support/small-zip.js';
import { entryOf } from '../suites/library-fixtures.js';
import { acceptOne, fenceOf } from '../suites/task-store-fixtures.js';
import { langoHere, startServerHere, type ServerHere } from './lango-here.js';
import type { Home, Result } from './lango-process.js';
import { lango, makeHome } from './lango-process.js';

const CONFIG = `
tools: { exec: { enabled: false }, fs: { enabled: false }, browser: { enabled: false } }
observationalMemory: { enabled: true, observeTokens: 1 }
`;

let home: Home;
let server: ServerHere | undefined;
beforeEach(async () => {
  home = await makeHome(CONFIG);
});
afterEach(async () => {
  await server?.stop();
  server = undefined;
  await home.remove();
});

const run = (...args: readonly string[]): Promise<Result> =>
  langoHere(args, { env: server ? server.env : home.env });
const send = (text: string, ...flags: readonly string[]) => run('send', ...flags, text);

interface Exported {
  readonly [kind: string]: readonly Readonly<Record<string, unknown>>[];
}

interface ExportedTask {
  readonly id: string;
  readonly artifacts?: readonly {
    readonly artifactId: string;
    readonly parts: readonly { readonly text: string }[];
  }[];
  readonly continues?: readonly string[];
}

async function exported(): Promise<Exported> {
  const { stdout, code } = await run('data', 'export');
  expect(code).toBe(0);
  return JSON.parse(stdout) as Exported;
}

/** The files of the database that contain these bytes. */
async function filesWith(text: string): Promise<readonly string[]> {
  const files = (await readdir(home.folder)).filter((name) => name.startsWith('lango.db'));
  const contents = await Promise.all(files.map((name) => readFile(path.join(home.folder, name))));
  return files.filter((_, index) => contents[index]!.includes(text));
}

describe('lango data', () => {
  it('exports everything over any number of pages, into a new file or to standard output', async () => {
    const owner = { tenant: '', owner: 'default' };
    const file = path.join(home.folder, 'lango.db');
    const storage = openSqliteStores({ file, synchronous: 'normal', logger: silentLogger });
    await storage.graph.add(
      owner,
      Array.from({ length: 1_234 }, (_, n) => ({
        ...{ subject: `s${n % 7}`, predicate: 'has', object: `o${n}` },
        ...{ source: 'test', fromOutside: false },
      })),
    );
    for (let n = 0; n < 450; n += 1) {
      await storage.memory.record(owner, {
        ...{ id: `id-${n}`, agent: 'a', contextId: 'c', text: `seen ${n}`, at: Math.floor(n / 2) },
        ...{ tasks: ['t', 't'], by: 'rules', fromOutside: false },
      });
    }
    await storage.close();
    server = await startServerHere(home);
    await send('remember that the deploy key rotates on Fridays');
    await send('save knowledge proxy: one');
    await send('save knowledge proxy: two');
    const all = await exported();
    expect(new Set(all['graph']!.map(({ subject, object }) => JSON.stringify([subject, object]))).size).toBe(
      1_234,
    );
    expect(all['graph']).toHaveLength(1_234);
    expect(new Set(all['observations']!.map(({ id }) => id)).size).toBe(450);
    expect(all['knowledge']).toMatchObject([{ content: 'one' }, { content: 'two' }]);
    expect(all['facts']).toMatchObject([{ content: 'the deploy key rotates on Fridays' }]);
    expect(all['tasks']!.length).toBeGreaterThanOrEqual(3);

    const out = path.join(home.folder, 'mine.json');
    const written = await run('data', 'export', '--out', out);
    expect(written.stdout).toMatch(/graph 1234, observations 450/);
    const whole = JSON.parse(await readFile(out, 'utf8')) as Exported;
    expect(whole['graph']).toHaveLength(1_234);
  });

  it('exports more than a response may hold: one task, and one entry with all its versions', async () => {
    const owner = { tenant: '', owner: 'default' };
    const file = path.join(home.folder, 'lango.db');
    const storage = openSqliteStores({ file, synchronous: 'normal', logger: silentLogger });
    const task = await acceptOne(storage.tasks, { scope: owner });
    const answer = (n: number): string => `${n} ${'차'.repeat(60_000)}\n`;
    const artifact = (name: string, text: string, append: boolean) => ({
      author: undefined,
      body: { type: 'artifact' as const, append, artifact: { id: name, name, parts: [textPart(text)] } },
    });
    for (let n = 0; n < 80; n += 1) {
      await storage.tasks.append(fenceOf(task), [artifact('long', answer(n), n > 0)]);
      await storage.tasks.append(fenceOf(task), [artifact('replaced', `now ${n}`, false)]);
    }
    for (let n = 0; n < 250; n += 1) {
      await storage.knowledge.save(owner, entryOf('proxy', `${n} ${'x'.repeat(49_000)}`, { passages: [] }));
    }
    await storage.close();
    server = await startServerHere(home);
    const out = path.join(home.folder, 'mine.json');
    const { stdout, stderr } = await run('data', 'export', '--out', out);
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^Wrote .*: tasks \d+, knowledge 250,/);
    const whole = JSON.parse(await readFile(out, 'utf8')) as Exported;
    expect(whole['knowledge']!.map(({ version }) => version)).toEqual(
      Array.from({ length: 250 }, (_, n) => n + 1),
    );
    const artifacts = new Map<string, string>();
    for (const stretch of whole['tasks'] as unknown as readonly ExportedTask[]) {
      expect(stretch.id).toBe(task.id);
      for (const { artifactId, parts } of stretch.artifacts ?? []) {
        const before = stretch.continues?.includes(artifactId) ? artifacts.get(artifactId)! : '';
        artifacts.set(artifactId, before + parts.map(({ text }) => text).join(''));
      }
    }
    expect(artifacts.get('replaced')).toBe('now 79');
    expect(artifacts.get('long')).toBe(Array.from({ length: 80 }, (_, n) => answer(n)).join(''));
  });

  it('writes a file whole or not at all, and overwrites none', async () => {
    server = await startServerHere(home);
    await send('save knowledge proxy: one');
    const out = path.join(home.folder, 'mine.json');
    await writeFile(out, 'mine');
    const refused = await run('data', 'export', '--out', out);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toMatch(/mine\.json exists already/);
    expect(await readFile(out, 'utf8')).toBe('mine');
    const { folder } = home;
    const nowhere = await run('data', 'export', '--out', path.join(folder, 'none/mine.json'));
    expect(nowhere.code).toBe(1);
    expect(nowhere.stderr).toMatch(
      /none\/mine\.json cannot be written \(ENOENT\)\.\nName a file in an existing folder/,
    );
    await server.stop();
    const gone = await lango(['data', 'export', '--out', path.join(folder, 'none.json')], {
      env: server.env,
    });
    expect(gone.code).not.toBe(0);
    expect((await readdir(folder)).filter((name) => /none|part/.test(name))).toEqual([]);
  });

  it('deletes one context with its tasks, entries, triples and notes, down to the bytes', async () => {
    server = await startServerHere(home);
    const inside = ['--context', 'secret-talk'];
    await send('remember that the xylophone is in the cellar', ...inside);
    await send('save knowledge xylophone: it is a loud xylophone', ...inside);
    await send('add to the graph that xylophone depends on mallets', ...inside);
    await send('hello there', ...inside);
    await send('remember that tea is at four');
    // Observations are made in the background.
    while ((await exported())['observations']!.length === 0);
    expect(await filesWith('xylophone')).not.toEqual([]);

    const forgotten = await run('data', 'forget', 'context', 'secret-talk');
    expect(forgotten.stdout).toMatch(/^Deleted: tasks \d+, versions 2, triples 1, notes \d+\.$/m);
    const after = await exported();
    expect(JSON.stringify(after)).not.toMatch(/xylophone|mallets/);
    expect(after['facts']).toMatchObject([{ content: 'tea is at four' }]);
    expect((await send('recall the xylophone')).stdout).toMatch(/^Nothing was found/);
    const again = await run('data', 'forget', 'context', 'secret-talk');
    expect(again.code).not.toBe(0);
    expect(again.stderr).toMatch(/You have no data of that name/);
    // The latest question is stored with its task; the word that only the removed context held must be gone.
    expect(await filesWith('mallets')).toEqual([]);
    expect(await filesWith('cellar')).toEqual([]);
  });

  it('deletes one entry with its triples, and a document by its file, down to the bytes', async () => {
    server = await startServerHere(home);
    const guide = path.join(home.folder, 'guide.md');
    await writeFile(guide, '# Zither\n\nThe zither stands in the attic.\n');
    await run('ingest', guide);
    expect(await filesWith('zither stands')).not.toEqual([]);
    expect((await run('ingest', 'remove', guide)).code).toBe(0);
    expect(await filesWith('zither stands')).toEqual([]);
    expect(await filesWith('attic')).toEqual([]);

    await send('remember that tea is at four');
    expect((await run('data', 'forget', 'fact', 'Tea is at four.')).stdout).toBe('Deleted: versions 1.\n');
    expect((await send('recall tea')).stdout).toMatch(/^Nothing was found/);
    expect((await run('data', 'forget', 'poem', 'x')).code).toBe(2);
  });

  it('exports skills file by file with their origin, and deletes one by its name', async () => {
    server = await startServerHere(home);
    const image = Buffer.from([0xff, 0xd8, 0xff, 0x00]);
    const text = '---\nname: greet\ndescription: Greets.\n---\n\nSay hello.\n';
    const zip = smallZip({ 'SKILL.md': text, 'face.jpg': image });
    await writeFile(path.join(home.folder, 'workspace', 'greet.zip'), zip);
    await send('import the skill greet.zip');
    await send('create a skill named three-words: answer in three words');
    expect((await exported())['skills']).toMatchObject([
      { skill: 'greet', path: 'SKILL.md', fromOutside: true, text: expect.stringContaining('Say hello.') },
      { skill: 'greet', path: 'face.jpg', fromOutside: true, base64: image.toString('base64') },
      { skill: 'three-words', path: 'SKILL.md', fromOutside: false },
    ]);
    expect((await run('data', 'forget', 'skill', 'greet')).stdout).toBe('Deleted: skills 1.\n');
    expect((await exported())['skills']).toMatchObject([{ skill: 'three-words' }]);
    expect((await send('use the skill greet')).stdout).not.toContain('Say hello.');
    expect((await run('data', 'delete', '--yes')).stdout).toMatch(/skills 1\.$/m);
    expect((await exported())['skills']).toEqual([]);
    expect(await readdir(path.join(home.folder, 'owners'))).toEqual([]);
  });

  it('deletes everything only after an explicit confirmation', async () => {
    server = await startServerHere(home);
    await send('remember that tea is at four');
    const refused = await run('data', 'delete');
    expect(refused.code).toBe(2);
    expect((await exported())['facts']).toHaveLength(1);
    expect((await run('data', 'delete', '--yes')).stdout).toMatch(/^Deleted: tasks \d+, .*facts 1/);
    for (const [kind, items] of Object.entries(await exported())) expect([kind, items]).toEqual([kind, []]);
  });
});
