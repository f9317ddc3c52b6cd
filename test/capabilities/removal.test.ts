import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { packageRoot } from '../../src/config/package-root.js';

/** A capability is one folder and one line: without them the rest compiles, starts and has every other tool. */

const run = promisify(execFile);
const root = packageRoot();

/** Starts a server on the compiled copy, and prints the names of all tools that one flat agent is offered. */
const LIST_TOOLS = `
  const { createServer, connect, textPart } = await import('./dist/src/index.js');
  const offered = new Set();
  const model = {
    id: 'test',
    async *stream({ functions }) {
      for (const { name } of functions) offered.add(name);
      const content = [{ type: 'text', text: 'hi' }];
      yield { type: 'end', answer: { content, stopReason: 'end', usage: { input: 1, output: 1, cached: 0 } } };
    },
  };
  const server = createServer({ home: process.argv[2], model, settings: JSON.parse(process.argv[3]) });
  const { origin, token } = await server.start();
  const client = connect({ url: origin, token });
  for await (const event of client.send({ parts: [textPart('hello')] }, AbortSignal.timeout(60000))) void event;
  await server.stop();
  console.log(JSON.stringify([...offered].sort()));
  process.exit(0);
`;
/** Everything on; no tool is called, so the chain is never asked. What is removed takes its settings with it. */
function settingsWithout(name?: string): object {
  return {
    ...{ server: { port: 0 }, agent: { multiAgent: false } },
    ...(name !== 'browser' && { tools: { browser: { enabled: true } } }),
    ...(name !== 'payments' && { payment: { enabled: true, rpcUrl: 'http://127.0.0.1:9' } }),
  };
}

const REMOVED = ['payments', 'browser', 'mcp', 'knowledge'] as const;

async function copyWithout(names: readonly string[]): Promise<string> {
  const copy = await mkdtemp(path.join(tmpdir(), 'lango-without-'));
  const isKept = (file: string) => !names.some((name) => file.endsWith(path.join('capabilities', name)));
  for (const part of ['src', 'agent-cards', 'prompts'])
    await cp(path.join(root, part), path.join(copy, part), { recursive: true, filter: isKept });
  for (const file of ['package.json', 'tsconfig.base.json'])
    await cp(path.join(root, file), path.join(copy, file));
  await symlink(path.join(root, 'node_modules'), path.join(copy, 'node_modules'));
  const list = path.join(copy, 'src/capabilities/index.ts');
  const lines = (await readFile(list, 'utf8')).split('\n');
  const isOf = (line: string) => names.some((name) => new RegExp(`^(import \\{ )?\\s*${name}\\b`).test(line));
  await writeFile(list, lines.filter((line) => !isOf(line)).join('\n'));
  await writeFile(path.join(copy, 'list-tools.js'), LIST_TOOLS);
  return copy;
}

async function toolsOf(copy: string, settings: object): Promise<readonly string[]> {
  const tsc = path.join(root, 'node_modules/typescript/bin/tsc');
  const compiled = await run(process.execPath, [tsc, '--build', 'src'], { cwd: copy }).catch(
    ({ stdout }: { readonly stdout: string }) => ({ stdout }),
  );
  expect(compiled.stdout).toBe('');
  const home = await mkdtemp(path.join(tmpdir(), 'lango-without-home-'));
  const { stdout } = await run(process.execPath, ['list-tools.js', home, JSON.stringify(settings)], {
    cwd: copy,
    env: { PATH: process.env['PATH'], HOME: home },
  });
  await rm(home, { recursive: true });
  return JSON.parse(stdout.trim().split('\n').at(-1)!) as string[];
}

describe('a copy of the sources', () => {
  const copies: string[] = [];
  let whole: readonly string[];
  beforeAll(async () => {
    copies.push(await copyWithout([]));
    whole = await toolsOf(copies[0]!, settingsWithout());
  });
  afterAll(async () => {
    for (const copy of copies) await rm(copy, { recursive: true });
  });

  it.each(REMOVED)('compiles, starts, and has every other tool without %s', async (name) => {
    const copy = await copyWithout([name]);
    copies.push(copy);
    const left = await toolsOf(copy, settingsWithout(name));
    const gone = whole.filter((tool) => !left.includes(tool));
    const own = { payments: /^payment_/, browser: /^browser_/, mcp: /^mcp_/, knowledge: OF_KNOWLEDGE };
    expect(left.filter((tool) => own[name].test(tool))).toEqual([]);
    expect(gone.filter((tool) => !own[name].test(tool))).toEqual([]);
    // No MCP server is configured here, and the browser is offered only where a Chromium is installed.
    if (name === 'payments' || name === 'knowledge') expect(gone.length).toBeGreaterThan(2);
    expect(left.length).toBeGreaterThan(10);
  });
});

const OF_KNOWLEDGE = /^(save_|search_|graph_|rag_|memory_(store|recall|forget)$)/;
