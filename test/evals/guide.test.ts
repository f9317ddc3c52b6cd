import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readCases } from '../../src/evals/case-file.js';
import {
  cleanEnv,
  ended,
  mainFile,
  makeHome,
  startServer,
  type Home,
  type Server,
} from '../cli/lango-process.js';

/** The commands of docs/guides/evaluate.md, in an empty folder, with the built-in model. */

let folder: string;
let home: Home;
let server: Server;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'lango-guide-'));
  home = await makeHome();
  server = await startServer(home);
});

afterAll(async () => {
  await server.stop();
  await home.remove();
  await rm(folder, { recursive: true });
});

async function type(line: string) {
  const command = line.replace('npx lango', `"${process.execPath}" "${mainFile()}"`);
  return ended(spawn('sh', ['-c', command], { cwd: folder, env: cleanEnv(home.env) }));
}

it('docs/guides/evaluate.md works word by word', async () => {
  const guide = await readFile('docs/guides/evaluate.md', 'utf8');
  const blocks = [...guide.matchAll(/^```(bash|yaml)\n([^]*?)^```/gm)].map(
    ([, kind, text]) => [kind, text!] as const,
  );
  const [commands, ...others] = blocks
    .filter(([kind]) => kind === 'bash')
    .map(([, text]) => text.trim().split('\n'));
  const [cases, compared] = blocks.filter(([kind]) => kind === 'yaml').map(([, text]) => text);
  let last = '';
  for (const line of commands!) {
    const { code, stdout, stderr } = await type(line);
    expect([line, code, stderr]).toEqual([line, 0, expect.any(String)]);
    last = stdout;
  }
  expect(last).toMatch(
    /✔ Write "hello" into notes.md and then read notes.md .* 4 turns[^]*1 of 1 case passed/,
  );

  await writeFile(path.join(folder, 'evals', 'notes.yaml'), cases!);
  const tasks = JSON.parse((await type('npx lango tasks list --json')).stdout) as {
    tasks: { id: string; agent: string }[];
  };
  const { id } = tasks.tasks.find(({ agent }) => agent === 'lango-orchestrator')!;
  for (const line of others.flat()) {
    const { code, stdout, stderr } = await type(line.replace('ID', id));
    expect([line, code, stderr, stdout]).toEqual([line, 0, expect.any(String), expect.any(String)]);
    if (line.includes('eval') && !line.includes('drift'))
      expect(stdout).toContain(line.includes('export') ? 'Wrote' : '1 of 1 case passed');
  }

  await writeFile(path.join(folder, 'compared.yaml'), compared!);
  expect(await readCases(path.join(folder, 'compared.yaml'))).toHaveLength(1);
});
