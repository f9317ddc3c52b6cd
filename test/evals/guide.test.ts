import { expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readCases } from '../../src/evals/case-file.js';
import { cleanEnv, ended, mainFile, makeHome, startServer } from '../cli/lango-process.js';
import { built } from '../support/built.js';

/**
 * The guides on recorded tasks, each walked from its top to its end in an empty folder, with the built-in model: commands
 * are typed, files written, and what is printed is compared with the page, but for ids, times and numbers of tokens.
 */

interface Block {
  readonly kind: string;
  readonly text: string;
  /** Whether it stands right below the commands before it, and so is what they print. */
  readonly isOutput: boolean;
}

async function blocksOf(page: string): Promise<readonly Block[]> {
  const text = await readFile(`docs/guides/${page}.md`, 'utf8');
  const fences = [...text.matchAll(/^```(\w*)\n([^]*?)^```\n/gm)];
  return fences.map(([, kind = '', content = ''], index) => {
    const before = fences[index - 1];
    const end = before ? before.index + before[0].length : 0;
    const isBelow = text.slice(end, fences[index]!.index).trim() === '';
    return { kind, text: content, isOutput: kind === '' && isBelow && before?.[1] === 'bash' };
  });
}

async function walk() {
  const folder = await mkdtemp(path.join(tmpdir(), 'lango-guide-'));
  const home = await makeHome();
  let server = await startServer(home);
  /** The ids that a reader writes in place of these words. */
  const ids: Record<string, string> = {};
  let [printed, code] = ['', 0 as number | null];

  /** Types a line into the shell of the reader. */
  async function type(line: string): Promise<string> {
    const known = line
      .replace('npx lango', `"${process.execPath}" "${mainFile()}"`)
      .replace(/\b(?:ID|OTHER|FORK)\b/g, (word) => ids[word] ?? `no ${word} yet`)
      .replace('https://other.example', server.origin);
    const env = cleanEnv({ ...server.env, npm_command: 'exec' });
    const done = await ended(spawn('sh', ['-c', `${known} 2>&1`], { cwd: folder, env }));
    ({ code } = done);
    if (line.startsWith('npx lango send')) await noteTask('ID' in ids ? 'OTHER' : 'ID');
    const fork = /^Forked .*: (\S+)$/m.exec(done.stdout);
    if (fork) ids['FORK'] = fork[1]!;
    return done.stdout.replaceAll(home.folder, '/home/you/.lango').replaceAll(folder, '.');
  }

  async function noteTask(word: string): Promise<void> {
    const { tasks } = JSON.parse(await type('npx lango tasks list --agent lango-orchestrator --json')) as {
      tasks: { id: string }[];
    };
    ids[word] = tasks[0]!.id;
  }

  async function configure(text: string): Promise<void> {
    await server.stop();
    await writeFile(path.join(home.folder, 'config.yaml'), text, { mode: 0o600 });
    server = await startServer(home);
  }

  return {
    folder,
    type,
    /** Does what a block says. Returns the command that failed, or printed something else than the page says. */
    async follow({ kind, text, isOutput }: Block): Promise<void> {
      if (isOutput) expectPrinted(printed, text);
      else if (kind === 'bash') {
        printed = '';
        for (const line of text.trim().split('\n')) {
          printed += await type(line);
          const isDifferent = line.includes('diff') || line.includes('--current');
          expect([line, code, printed]).toEqual([line, isDifferent ? 1 : 0, expect.any(String)]);
        }
      } else if (kind === 'yaml' && /^(?:agent|evaluations):/.test(text)) await configure(text);
    },
    async [Symbol.asyncDispose]() {
      await server.stop();
      await home.remove();
      await rm(folder, { recursive: true });
    },
  };
}

const VARYING: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID'],
  [/\b[0-9a-f]{16}(?:[0-9a-f]{48}|…)?(?![0-9a-f])/g, 'HASH'],
  // A text is shown from before its first difference: hashes that begin alike are different later.
  [/ …\w*"?/g, ' …'],
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME'],
  [/\d+(?:\.\d)? (tokens|events)\b/g, 'N $1'],
  // A busy machine takes seconds for what is milliseconds on the page.
  [/\d+(?:\.\d)? m?s\b/g, 'N s'],
];

/** A line of a page that ends with "…" is the beginning of what is printed. */
function expectPrinted(printed: string, page: string): void {
  const plain = (text: string) =>
    VARYING.reduce((known, [pattern, name]) => known.replace(pattern, name), text)
      .trimEnd()
      .split('\n');
  const [lines, wanted] = [plain(printed), plain(page)];
  const isCut = wanted.at(-1)!.endsWith(' …');
  const shown = lines.map((line, index) => {
    const begin = wanted[index]?.endsWith(' …') ? wanted[index].slice(0, -2) : undefined;
    return begin !== undefined && line.startsWith(begin) ? wanted[index]! : line;
  });
  expect(isCut ? shown.slice(0, wanted.length) : shown).toEqual(wanted);
}

it('docs/guides/evaluate.md works word by word', async () => {
  await using reader = await walk();
  const { folder, type } = reader;
  for (const block of await blocksOf('evaluate')) {
    const { kind, text } = block;
    if (kind === 'yaml' && text.startsWith('cases:')) {
      await writeFile(path.join(folder, 'evals', 'notes.yaml'), text);
      continue;
    }
    if (text.startsWith('error: The cases cannot be read')) {
      const notes = path.join(folder, 'evals', 'notes.yaml');
      const good = await readFile(notes, 'utf8');
      await writeFile(notes, good.replace('contains', 'contians'));
      expectPrinted(await type('npx lango eval evals/notes.yaml'), text);
      await writeFile(notes, good);
    }
    if (kind === 'js') {
      await writeFile(path.join(folder, 'rule.mjs'), text);
      const cases = 'cases: [{ name: short, record: evals/task.json, expect: [{ rule: rule.mjs }] }]';
      await writeFile(path.join(folder, 'rule.yaml'), cases);
      expect(await type('npx lango eval rule.yaml')).toContain('1 of 1 case passed.');
    }
    if (text.startsWith('models:')) {
      await writeFile(path.join(folder, 'compared.yaml'), text);
      expect(await readCases(path.join(folder, 'compared.yaml'))).toHaveLength(1);
    }
    if (kind === 'ts') expect(await runProgram(reader, 'cases.test.ts', text)).toMatch(/pass 1$/m);
    await reader.follow(block);
  }
});

it('docs/guides/replay-a-task.md works word by word', async () => {
  await using reader = await walk();
  const { folder, type } = reader;
  for (const block of await blocksOf('replay-a-task')) {
    const { kind, text } = block;
    if (text.startsWith('Differs:')) {
      const task = await readFile(path.join(folder, 'task.json'), 'utf8');
      const key = /"key":"(\w+)","step":"[^"]+","tool":"fs_write"/.exec(task)![1]!;
      await writeFile(path.join(folder, 'changed.json'), task.replaceAll(key, 'f'.repeat(key.length)));
      const cut = (await type('npx lango replay changed.json')).replace(/("key":"\w{16}).*/g, '$1…');
      expectPrinted(cut, text);
    }
    if (kind === 'ts') expect(await runProgram(reader, 'replay.ts', text)).toBe('');
    await reader.follow(block);
  }
});

it('docs/guides/fork-a-task.md works word by word', async () => {
  await using reader = await walk();
  for (const block of await blocksOf('fork-a-task')) await reader.follow(block);
});

/** Runs a program of a page, with this Lango installed. */
async function runProgram({ folder, type }: Awaited<ReturnType<typeof walk>>, name: string, text: string) {
  await mkdir(path.join(folder, 'node_modules'), { recursive: true });
  await symlink(path.resolve(built('src/index.js'), '../../..'), path.join(folder, 'node_modules', 'lango'));
  await writeFile(path.join(folder, 'package.json'), '{"type":"module"}');
  await writeFile(path.join(folder, name), text);
  return type(`"${process.execPath}" ${name.includes('test') ? '--test ' : ''}${name}`);
}
