import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { EmbeddingServer } from '../support/embedding-server.js';
import { startEmbeddingServer } from '../support/embedding-server.js';
import { smallPdf } from '../support/small-pdf.js';
import { langoHere, startServerHere } from './lango-here.js';
import type { Home } from './lango-process.js';
import { lango, makeHome } from './lango-process.js';

interface Tally {
  readonly added: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly removed: number;
  readonly embedded: number;
  readonly skipped: readonly { readonly file: string; readonly reason: string }[];
}

let home: Home;
let folder: string;
let embeddings: EmbeddingServer;

beforeEach(async () => {
  embeddings = await startEmbeddingServer();
  home = await makeHome(
    [
      'embedding: { provider: openai, model: test, baseUrl: "' + embeddings.baseUrl + '" }',
      'ingest: { maxFileBytes: 20000 }',
      'tools: { exec: { enabled: false }, fs: { enabled: false }, browser: { enabled: false } }',
    ].join('\n'),
  );
  folder = path.join(home.folder, 'docs');
  await writeFiles({
    'guide.md':
      '# Fleet\n\nEach vehicle is inspected in May.\n\n## Keys\n\nThe deploy key rotates on Fridays.\n',
    'page.html': '<html><body><h1>Clinic</h1><p>The physician comes on Tuesday.</p></body></html>',
    'paper.pdf': smallPdf('The turbine is serviced by Harald'),
    'src/load.ts': 'export function readConfigFile() {\n  return 1;\n}\n',
    'big.txt': 'x'.repeat(30_000),
    'image.bin': Buffer.from([1, 0, 2, 0]),
    '.hidden/secret.md': 'swordfish',
    'node_modules/left-pad/README.md': 'swordfish',
    '.gitignore': 'drafts/\n*.log\n',
    'drafts/idea.md': 'swordfish',
    'noise.log': 'swordfish',
  });
  await writeFile(path.join(home.folder, 'outside.md'), 'swordfish');
  await symlink(path.join(home.folder, 'outside.md'), path.join(folder, 'link.md'));
});

afterEach(async () => {
  await home.remove();
  await embeddings.close();
});

async function writeFiles(files: Readonly<Record<string, string | Buffer>>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), content);
  }
}

async function ingest(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  run: typeof lango = langoHere,
): Promise<Tally> {
  const { stdout, stderr } = await run(['ingest', ...args, '--json'], { env: { ...home.env, ...env } });
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as Tally;
}

async function names(env: Readonly<Record<string, string>> = {}): Promise<readonly string[]> {
  const { stdout, stderr } = await langoHere(['ingest', 'list', '--json'], { env: { ...home.env, ...env } });
  if (stdout === '') throw new Error(stderr);
  return (JSON.parse(stdout) as { documents: { name: string }[] }).documents.map(({ name }) => name);
}

const ALL = ['docs/guide.md', 'docs/page.html', 'docs/paper.pdf', 'docs/src/load.ts'];

describe('lango ingest', () => {
  it('adds documents that a server then cites, updates only changed ones through the server, and removes deleted ones', async () => {
    const first = await ingest([folder], {}, lango);
    expect(first).toMatchObject({ added: 4, changed: 0, unchanged: 0, removed: 0 });
    expect(first.embedded).toBeGreaterThanOrEqual(4);
    expect(first.skipped.map(({ file, reason }) => `${path.basename(file)}: ${reason}`)).toEqual([
      'link.md: it is a link',
      expect.stringContaining('big.txt: it has 30000 bytes'),
      'image.bin: it is binary',
    ]);
    expect(await names()).toEqual(ALL);

    const server = await startServerHere(home);
    try {
      const ask = async (text: string): Promise<string> =>
        (await langoHere(['send', '--no-input', text], { env: server.env })).stdout;
      expect(await ask('what do you know about the deploy key?')).toContain(
        'docs/guide.md:5-7 (Fleet > Keys)',
      );
      expect(await ask('retrieve passages about automobile')).toMatch(/1\. docs\/guide\.md:1-3 \(Fleet\)/);
      expect(await ask('retrieve passages about doctor')).toMatch(/1\. docs\/page\.html \(Clinic\)/);
      expect(await ask('retrieve passages about turbine')).toMatch(/1\. docs\/paper\.pdf \(page 1\)/);
      expect(await ask('what do you know about config file')).toContain('docs/src/load.ts:1-3');
      expect(await ask('what do you know about swordfish')).not.toContain('> swordfish');

      expect(await ingest([folder], server.env)).toMatchObject({ added: 0, unchanged: 4, removed: 0 });
      await writeFiles({ 'guide.md': '# Fleet\n\nEach vehicle is inspected in June.\n' });
      await rm(path.join(folder, 'page.html'));
      expect(await ingest([folder], server.env)).toMatchObject({ changed: 1, unchanged: 2, removed: 1 });
      expect(await ask('retrieve passages about automobile')).toContain('inspected in June');
      expect(await ask('retrieve passages about doctor')).not.toContain('Tuesday');
      const stranger = await langoHere(['ingest', 'list'], { env: { ...server.env, LANGO_TOKEN: 'wrong' } });
      expect(stranger.code).toBe(8);
      expect(await ingest(['--reembed'], server.env)).toMatchObject({ added: 0, embedded: 3 });
      const removed = await langoHere(['ingest', 'remove', path.join(folder, 'src')], { env: server.env });
      expect(removed.stdout).toBe('Removed 1 document from documents.\n');
      const again = await langoHere(['ingest', 'remove', path.join(folder, 'src')], { env: server.env });
      expect(again).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringContaining('lango ingest list'),
      });
    } finally {
      await server.stop();
    }
    expect((await names()).toSorted()).toEqual(['docs/guide.md', 'docs/paper.pdf']);
  });

  it('accepts patterns and single files into a collection, and deletes it as a whole', async () => {
    const team = ['--collection', 'team'];
    expect(await ingest([path.join(folder, '**/*.{md,ts}'), ...team])).toMatchObject({ added: 3 });
    expect(await ingest([path.join(folder, 'page.html'), ...team])).toMatchObject({ added: 1, removed: 0 });
    expect(await ingest(['--reembed', ...team])).toMatchObject({ added: 0 });
    const gone = await langoHere(['ingest', 'remove', '--all', ...team], { env: home.env });
    expect(gone.stdout).toBe('Removed 4 documents from team.\n');
    expect(await names()).toEqual([]);
  });

  it('reports what is wrong, and adds nothing then', async () => {
    const cases = [
      [[], 'Say what to add'],
      [['nowhere'], 'There is no nowhere'],
      [[path.join(folder, '*.docx')], 'No file fits'],
      [[folder, '--collection', 'knowledge'], 'is not a valid name for a collection'],
      [['remove'], 'Say what to remove'],
    ] as const;
    for (const [args, problem] of cases) {
      const { code, stderr } = await langoHere(['ingest', ...args], { env: home.env });
      expect({ args, failed: code !== 0, stderr }).toMatchObject({
        failed: true,
        stderr: expect.stringContaining(problem) as unknown,
      });
    }
    expect(await names()).toEqual([]);
  });
});
