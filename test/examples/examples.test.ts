import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { built } from '../support/built.js';
import { openaiChunk } from '../support/openai-wire.js';
import { events, ScriptedServer } from '../support/scripted-server.js';

const run = promisify(execFile);

async function example(name: string, variables: Record<string, string> = {}): Promise<string> {
  const options = { timeout: 25_000, env: { ...process.env, ...variables } };
  const { stdout } = await run(process.execPath, [built(`examples/${name}.js`)], options);
  return stdout;
}

/** Starts a server of the library where the optional packages are not installed. */
const WITHOUT_PACKAGES = String.raw`
  import { registerHooks } from 'node:module';
  const absent = /^(openai|@anthropic-ai\/sdk|@grpc\/grpc-js|unpdf|viem|pg|playwright-core)(\/|$)/;
  registerHooks({
    resolve(name, context, next) {
      if (!absent.test(name)) return next(name, context);
      throw Object.assign(new Error("Cannot find package '" + name + "'"), { code: 'ERR_MODULE_NOT_FOUND' });
    },
  });
  const { createServer } = await import(process.argv[1]);
  const apiKey = 'sk-of-this-test-alone';
  const start = (settings, home = process.argv[2]) => createServer({ home, settings }).start();
  for (const settings of [
    { model: { provider: 'openai', name: 'any', apiKey } },
    { model: { provider: 'anthropic', apiKey } },
    { server: { port: 0, grpc: { enabled: true, port: 0 } } },
  ]) await start(settings).catch((error) => console.log(error.message, error.hint));
`;

describe('the library without optional packages', () => {
  it('names the missing package, and how to install it', async () => {
    const home = await mkdtemp(path.join(tmpdir(), 'lango-packages-'));
    const library = pathToFileURL(built('src/index.js')).href;
    const { stdout } = await run(process.execPath, [
      '--input-type=module',
      '-e',
      WITHOUT_PACKAGES,
      library,
      home,
    ]);
    await rm(home, { recursive: true });
    expect(stdout.trimEnd().split('\n')).toEqual(
      ['openai', '@anthropic-ai/sdk', '@grpc/grpc-js'].map(
        (name) => `This needs the package ${name}, which is not installed. Run: npm install ${name}`,
      ),
    );
  });
});

describe('the program without optional packages', () => {
  it('needs no MCP package when no MCP server is configured', async () => {
    const home = await mkdtemp(path.join(tmpdir(), 'lango-packages-'));
    const hook = `
      import { registerHooks } from 'node:module';
      registerHooks({ resolve(name, context, next) {
        if (name.startsWith('@modelcontextprotocol/')) throw new Error('not here');
        return next(name, context);
      } });`;
    const list = [
      `--import=data:text/javascript,${encodeURIComponent(hook)}`,
      built('cli/main.js'),
      'mcp',
      'list',
    ];
    const { stdout } = await run(process.execPath, [...list, '--home', home]);
    await rm(home, { recursive: true });
    expect(stdout).toContain('There are no MCP servers.');
  });
});

describe('an example of the library', () => {
  it('capability lets an agent save with the tool of a capability of the program', async () => {
    expect(await example('capability')).toBe('Saved the home of Lango.\n');
  });

  it('own-agent lets the orchestrator delegate to an agent of the program', async () => {
    const output = await example('own-agent');
    expect(output).toMatch(/^lango-orchestrator asks dice\nYou rolled [1-6], [1-6], [1-6]\.\n$/);
  });

  it('defined-agent lets a model follow the instruction and call the tool', async () => {
    const lines = (await example('defined-agent')).trimEnd().split('\n');
    expect(lines).toEqual(
      expect.arrayContaining(['lango-orchestrator: delegation-start', 'weather: tool-call']),
    );
    expect(lines.at(-1)).toBe('weather: Oslo is sunny, at 21 degrees.');
  });

  it('stock-executor runs an executor of the stock SDK, whose stream is replayed', async () => {
    expect(await example('stock-executor')).toMatch(/^HELLO THERE\nreplayed [1-9]\d* events\n$/);
  });

  it('own-tool-and-model lets the flat agent use both', async () => {
    expect(await example('own-tool-and-model')).toBe('lango-agent: In Oslo the sun shines, 21 degrees.\n');
  });

  it('ai-sdk-model answers with a model of a package', async () => {
    await using vendor = await ScriptedServer.open();
    vendor.willAlwaysReply(
      events([openaiChunk({ content: 'Bonjour.' }), openaiChunk({ content: '' }, 'stop')].join('')),
    );
    const variables = { MISTRAL_API_KEY: 'k', MISTRAL_BASE_URL: vendor.url };
    expect(await example('ai-sdk-model', variables)).toBe('lango-agent: Bonjour.\n');
    expect(vendor.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer k']);
  });

  it('mounted lets an express app serve agents below a path, beside its own pages', async () => {
    expect(await example('mounted')).toBe('a page of the app\nYou said: hello\n');
  });

  it('push-receiver accepts the deliveries of the server, and nothing else', async () => {
    expect(await example('push-receiver')).toMatch(
      /^[1-9]\d* notifications, the last: TASK_STATE_COMPLETED\nforged: 403\n$/,
    );
  });
});
