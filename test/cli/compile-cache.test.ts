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

it('a start without a data folder keeps no compiled code', async () => {
  await chmod(program, SHARED);
  const none = path.join(folder, 'none');
  const args = [path.join(program, 'main.js'), '--version'];
  await ended(spawn(process.execPath, args, { env: cleanEnv({ LANGO_HOME: none }) }));
  expect(await readdir(folder)).not.toContain('none');
});
