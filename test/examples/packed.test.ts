import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { built } from '../support/built.js';
import { events, ScriptedServer } from '../support/scripted-server.js';
import { openaiChunk } from '../support/openai-wire.js';
import { cleanEnv } from '../cli/lango-process.js';

const run = promisify(execFile);
const ROOT = path.resolve('.');

let folder: string;

const says = (content: string) =>
  events([openaiChunk({ content }), openaiChunk({ content: '' }, 'stop')].join(''));

/** Runs a file in the folder, as a reader of the guide does. */
async function node(file: string, variables: Record<string, string> = {}): Promise<string> {
  const env = { ...cleanEnv(), LANGO_HOME: path.join(folder, 'home'), ...variables };
  const { stdout } = await run(process.execPath, [file], { cwd: folder, timeout: 60_000, env });
  return stdout;
}

const example = (name: string, variables?: Record<string, string>) =>
  node(`node_modules/lango/dist/examples/${name}.js`, variables);

/** Puts a package of the clone beside Lango. */
async function link(name: string): Promise<void> {
  const place = path.join(folder, 'node_modules', name);
  await mkdir(path.dirname(place), { recursive: true });
  await symlink(path.join(ROOT, 'node_modules', name), place);
}

/**
 * The packed files in an otherwise empty folder, beside nothing but what the package says it needs: no registry is asked,
 * and a package that only the clone has is not found.
 */
describe('the package that "npm pack" makes, in an empty folder', () => {
  beforeAll(async () => {
    built('src/index.js');
    built('cli/main.js');
    folder = await mkdtemp(path.join(tmpdir(), 'lango-packed-'));
    await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder, '--loglevel=error'], {
      cwd: ROOT,
    });
    await run('npm', ['init', '-y'], { cwd: folder });
    await mkdir(path.join(folder, 'node_modules/lango'), { recursive: true });
    const { version, dependencies } = JSON.parse(await readFile('package.json', 'utf8')) as {
      readonly version: string;
      readonly dependencies: Readonly<Record<string, string>>;
    };
    const into = ['-C', 'node_modules/lango', '--strip-components=1'];
    await run('tar', ['-xzf', `lango-${version}.tgz`, ...into], { cwd: folder });
    for (const name of Object.keys(dependencies)) await link(name);
  }, 120_000);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('runs the first sample of the guide of the library after "npm init -y"', async () => {
    const guide = await readFile('docs/guides/use-as-a-library.md', 'utf8');
    const [, sample = ''] = /```ts\n(import [^]*?)```/.exec(guide) ?? [];
    const [, file = ''] = /Save it as `(\S+)`/.exec(guide) ?? [];
    await writeFile(path.join(folder, file), sample);
    // Without a key the offline model says what to do.
    expect(await node(file)).toMatch(/^rejected I do not understand.*\n[^]*ANTHROPIC_API_KEY/);
    await using vendor = await ScriptedServer.open();
    vendor.willReply(says('Oslo is sunny.'));
    await link('openai');
    expect(await node(file, { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: vendor.url })).toBe(
      'completed Oslo is sunny.\n',
    );
  });

  it.each([
    ['capability', /^Saved the home of Lango\.\n$/],
    ['defined-agent', /weather: Oslo is sunny, at 21 degrees\.\n$/],
    ['mounted', /^a page of the app\nYou said: hello\n$/],
    ['own-agent', /^lango-orchestrator asks dice\nYou rolled/],
    ['own-tool-and-model', /^lango-agent: In Oslo the sun shines, 21 degrees\.\n$/],
    ['push-receiver', /^[1-9]\d* notifications, the last: TASK_STATE_COMPLETED\nforged: 403\n$/],
    ['stock-executor', /^HELLO THERE\nreplayed [1-9]\d* events\n$/],
  ])('runs the example %s', async (name, output) => {
    expect(await example(name)).toMatch(output);
  });

  it('runs the example of a model of the AI SDK once its package is there', async () => {
    await using vendor = await ScriptedServer.open();
    vendor.willAlwaysReply(says('Bonjour.'));
    const variables = { MISTRAL_API_KEY: 'k', MISTRAL_BASE_URL: vendor.url };
    await expect(example('ai-sdk-model', variables)).rejects.toThrow(
      /Cannot find package '@ai-sdk\/mistral'/,
    );
    await link('@ai-sdk/mistral');
    expect(await example('ai-sdk-model', variables)).toBe('lango-agent: Bonjour.\n');
  });

  it('has the program and its pages', async () => {
    const { bin } = JSON.parse(
      await readFile(path.join(folder, 'node_modules/lango/package.json'), 'utf8'),
    ) as {
      readonly bin: Readonly<Record<string, string>>;
    };
    const file = path.join('node_modules/lango', bin['lango']!);
    const env = { ...cleanEnv(), LANGO_HOME: path.join(folder, 'home') };
    const { stdout } = await run(process.execPath, [file, 'config', 'check'], { cwd: folder, env });
    expect(stdout).toMatch(/\S/);
    await readFile(path.join(folder, 'node_modules/lango/dist/console/index.html'));
  });
});
