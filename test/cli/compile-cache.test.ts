import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { mainFile, cleanEnv, ended } from './lango-process.js';

const PRIVATE = 0o700;
const SHARED = 0o777;

let folder: string;
let program: string;
let home: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'lango-compiled-'));
  program = path.join(folder, 'lango/dist/cli');
  home = path.join(folder, 'home');
  await mkdir(home);
  const filter = (file: string) => !file.includes('/cli/compiled');
  await cp(path.dirname(mainFile()), program, { recursive: true, filter });
  await cp('package.json', path.join(folder, 'lango/package.json'));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

it.each([
  ['beside the program', { ofProgram: PRIVATE, ofHome: PRIVATE }, ['program']],
  ['in the data folder when others may write there', { ofProgram: SHARED, ofHome: PRIVATE }, ['home']],
  ['nowhere when they may write to both', { ofProgram: SHARED, ofHome: SHARED }, []],
])('compiled code is kept %s', async (_, { ofProgram, ofHome }, expected) => {
  await chmod(program, ofProgram);
  await chmod(home, ofHome);
  const args = [path.join(program, 'main.js'), 'config', 'schema'];
  const result = await ended(spawn(process.execPath, args, { env: cleanEnv({ LANGO_HOME: home }) }));
  expect(result).toMatchObject({ code: 0, stderr: '' });
  const places = { program, home };
  const kept = Object.entries(places).map(async ([name, place]) => {
    const files = await readdir(place);
    await rm(path.join(place, 'compiled'), { recursive: true, force: true });
    return files.includes('compiled') ? [name] : [];
  });
  expect((await Promise.all(kept)).flat()).toEqual(expected);
});

it('the next start takes all compiled code, by the server and by a command', async () => {
  await chmod(program, PRIVATE);
  const start = async (...args: readonly string[]) => {
    // Node says on standard output what it takes of the cache.
    const env = cleanEnv({ LANGO_HOME: home, NODE_DEBUG_NATIVE: 'COMPILE_CACHE' });
    const child = spawn(process.execPath, [path.join(program, 'main.js'), ...args], { env });
    child.stdout.on('data', (chunk) => String(chunk).includes('ready ') && child.kill('SIGTERM'));
    const { stdout, stderr } = await ended(child);
    const times = (word: string) => (stdout + stderr).split(`was ${word}`).length - 1;
    return { taken: times('accepted') > 0, rejected: times('rejected') };
  };
  const starts = [
    ['serve', '--port', '0'],
    ['config', 'schema'],
  ] as const;
  for (const args of starts) await start(...args);
  for (const args of starts) expect(await start(...args)).toEqual({ taken: true, rejected: 0 });
});

it('a start without a data folder keeps no compiled code', async () => {
  await chmod(program, SHARED);
  const none = path.join(folder, 'none');
  const args = [path.join(program, 'main.js'), '--version'];
  await ended(spawn(process.execPath, args, { env: cleanEnv({ LANGO_HOME: none }) }));
  expect(await readdir(folder)).not.toContain('none');
});
