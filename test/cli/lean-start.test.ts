import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { mainFile, cleanEnv } from './lango-process.js';

/**
 * The packages that `lango serve` may load for its start, its cards and calls of A2A that run no task. Everything else
 * is loaded at its first use (`await import(…)`): each package here costs time and memory at every start. Express
 * serves everything off the hot path, including health, so the first such request loads it.
 */
const ALLOWED: ReadonlySet<string> = new Set([
  '@a2a-js/sdk',
  'better-sqlite3',
  'commander',
  'eventsource-parser', // one small file, of the readers of streams
  'jose', // loaded by the SDK
  'picocolors', // loaded by the command line
  'zod',
]);

/** More imports than those of main.js, before it resolves the others itself: some thousand. */
const OF_MAIN = 100;

const TOKEN = 'a-token-of-this-test-alone';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'lango-lean-'));
  await writeFile(path.join(folder, 'hook.mjs'), HOOK);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Records every loaded module when the process ends, and each import of an own file that Node itself resolves. */
const HOOK = `
  import { writeFileSync } from 'node:fs';
  import { registerHooks } from 'node:module';
  const loaded = [];
  registerHooks({
    load: (url, context, next) => (loaded.push(url), next(url, context)),
    resolve: (specifier, context, next) => {
      if (specifier.startsWith('./chunk-')) loaded.push('resolved ' + specifier);
      return next(specifier, context);
    },
  });
  process.on('exit', () => writeFileSync(process.env.LOADED, loaded.join('\\n')));
`;

/**
 * Starts the server, uses it, and returns the URLs of the files that it loaded. A machine without bubblewrap or
 * Chromium warns at the start, and the first log line loads winston: warnings are off here.
 */
async function filesOfRun(
  args: readonly string[],
  use: (origin: string, headers: Readonly<Record<string, string>>) => Promise<void>,
): Promise<readonly string[]> {
  const list = path.join(folder, 'loaded.txt');
  const env = cleanEnv({
    ...{ LANGO_HOME: folder, LANGO_LOG_LEVEL: 'error', LANGO_TOKEN: TOKEN, LOADED: list },
  });
  const hook = path.join(folder, 'hook.mjs');
  const child = spawn(process.execPath, ['--import', hook, mainFile(), 'serve', '--port', '0', ...args], {
    env,
  });
  let origin = '';
  for await (const line of createInterface({ input: child.stdout })) {
    origin = /^ready (.*)/.exec(line)?.[1] ?? '';
    if (origin !== '') break;
  }
  await use(origin, { authorization: `Bearer ${TOKEN}` });
  const gone = new Promise((resolve) => child.once('close', resolve));
  child.stdout.resume();
  child.kill('SIGTERM');
  await gone;
  return (await readFile(list, 'utf8')).split('\n');
}

async function askFirst(origin: string, auth: Readonly<Record<string, string>>): Promise<void> {
  expect((await fetch(`${origin}/.well-known/agent-card.json`)).status).toBe(200);
  const headers = { 'content-type': 'application/json', ...auth };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ListTasks', params: {} });
  expect(await (await fetch(origin, { method: 'POST', headers, body })).json()).toHaveProperty(
    'result.tasks',
  );
  expect((await fetch(`${origin}/tasks`, { headers })).status).toBe(200);
}

/** The modules that are in a file of the bundle, as its source map says; another file is its own. */
async function modulesIn(url: string): Promise<readonly string[]> {
  if (!url.includes('/dist/cli/')) return [url];
  const { sources } = JSON.parse(await readFile(fileURLToPath(`${url}.map`), 'utf8')) as {
    sources: string[];
  };
  return sources.map((source) => new URL(source, url).href);
}

describe('the start of the server', () => {
  it('loads no package beyond those of the first card and the first calls of A2A, and no unused model', async () => {
    const files = await filesOfRun([], askFirst);
    const loaded = (await Promise.all(files.map(modulesIn))).flat();
    const packages = loaded.map((url) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1]);
    const heavy = new Set(packages.filter((name) => name !== undefined && !ALLOWED.has(name)));
    expect([...heavy]).toEqual([]);
    expect(loaded.some((url) => url.endsWith('/src/cli/serve.ts'))).toBe(true);
    expect(loaded.filter((url) => url.startsWith('resolved ')).length).toBeLessThan(OF_MAIN);
    expect(loaded.filter((url) => /\/models\/(anthropic|openai)\//.test(url))).toEqual([]);
  });

  it('can serve metrics without optional packages, which container images lack', async () => {
    const config = path.join(folder, 'metrics.yaml');
    await writeFile(config, 'metrics:\n  enabled: true\n');
    const files = await filesOfRun(['--config', config], async (origin, headers) => {
      expect(await (await fetch(`${origin}/metrics`, { headers })).text()).toContain('lango_tasks_open');
    });
    expect(files.filter((url) => url.includes('/node_modules/prom-client/'))).toEqual([]);
  });
});
