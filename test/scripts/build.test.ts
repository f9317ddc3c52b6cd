import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile, execFileSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

/** scripts/build.ts in a clone of a few files: Lango's own build scripts over a program of one line. */
let clone: string;
const inClone = (file: string) => path.join(clone, file);
const program = () => path.join(clone, 'dist', 'cli/main.js');
const lock = () => path.join(clone, 'dist', 'build.lock');

beforeEach(async () => {
  clone = await mkdtemp(path.join(tmpdir(), 'lango-build-'));
  for (const folder of ['src/cli', 'src/config', 'src/console/web', 'src/capabilities', 'scripts'])
    await mkdir(inClone(folder), { recursive: true });
  for (const file of [
    ...['package.json', 'package-lock.json', 'tsconfig.base.json', 'src/tsconfig.json'],
    ...['src/config/package-root.ts', 'scripts/build.ts', 'scripts/bundle.ts', 'scripts/modules.ts'],
  ])
    await cp(file, inClone(file));
  await symlink(path.resolve('node_modules'), inClone('node_modules'));
  for (const file of ['main.tsx', 'console.css', 'index.html'])
    await writeFile(inClone(`src/console/web/${file}`), '');
  await writeSource("console.log('first');");
});

afterEach(() => rm(clone, { recursive: true }));

const writeSource = (text: string) => writeFile(inClone('src/cli/main.ts'), text);

async function build(...steps: readonly string[]): Promise<{ readonly code: number; readonly said: string }> {
  return promisify(execFile)(process.execPath, [inClone('scripts/build.ts'), ...steps]).then(
    ({ stdout, stderr }) => ({ code: 0, said: stdout + stderr }),
    (error: { code: number; stderr: string }) => ({ code: error.code, said: error.stderr }),
  );
}

const BUILT = { code: 0, said: '' };
const start = () => execFileSync(process.execPath, [program()], { encoding: 'utf8' });

/** Each block fails in its first round, and then only in an outer or inner block of the same loop. */
const DISPOSING = `
const said: string[] = [];
const open = (name: string) => ({
  [Symbol.dispose]: () => void said.push(name),
  [Symbol.asyncDispose]: async () => void said.push(name),
});
async function run() {
  for (const round of [1, 2, 3]) {
    try {
      await using outer = open('outer ' + round);
      for (using each of [open('each ' + round)]) if (round === 1) throw new Error('one');
      const within = () => {
        using inner = open('inner ' + round);
        if (round === 2) throw new Error('two');
      };
      within();
      said.push('done ' + round);
    } catch (error) {
      said.push((error as Error).message);
    }
  }
  console.log(said.join(', '));
}
void run();
`;
const DISPOSED = 'each 1, outer 1, one, each 2, inner 2, outer 2, two, each 3, inner 3, done 3, outer 3\n';

describe('scripts/build.ts', () => {
  it('builds a program that fails in one round of a loop and not in the next, also where it uses `using`', async () => {
    await writeSource(DISPOSING);
    expect(await build('program')).toEqual(BUILT);
    expect(start()).toBe(DISPOSED);
  });

  it('builds what is missing, and leaves what is as new as the contents of its sources', async () => {
    expect(await build('program')).toEqual(BUILT);
    expect(start()).toBe('first\n');
    await writeFile(program(), '// not built again');
    await utimes(inClone('src/cli/main.ts'), new Date(), new Date());
    expect(await build('program')).toEqual(BUILT);
    expect(await readFile(program(), 'utf8')).toBe('// not built again');
    await writeSource("console.log('second');");
    expect(await build('program')).toEqual(BUILT);
    expect(start()).toBe('second\n');
    await rm(program());
    expect(await build('program')).toEqual(BUILT);
    expect(start()).toBe('second\n');
  });

  it.each(['package-lock.json', 'tsconfig.base.json', 'scripts/bundle.ts'])(
    'builds the program anew when %s changes',
    async (file) => {
      await build('program');
      await writeFile(program(), '// built before');
      await writeFile(inClone(file), `${await readFile(file, 'utf8')}\n`);
      await build('program');
      expect(start()).toBe('first\n');
    },
  );

  it('does not wait for a build that was ended', async () => {
    await mkdir(inClone('dist'));
    await writeFile(lock(), String(await pidOfEnded()));
    expect(await Promise.all([build('program'), build('program'), build()])).toEqual([BUILT, BUILT, BUILT]);
    expect(start()).toBe('first\n');
  });

  it('waits for a build that still runs', async () => {
    await mkdir(inClone('dist'));
    await writeFile(lock(), String(process.pid));
    const waiting = build('program');
    expect(await Promise.race([waiting, new Promise((resolve) => setTimeout(resolve, 1_500, 'waits'))])).toBe(
      'waits',
    );
    await rm(lock());
    expect(await waiting).toEqual(BUILT);
  });

  it('fails again and again while the types are wrong', async () => {
    await writeSource('export const port: number = "4100";');
    for (const _ of [1, 2]) {
      const { code, said } = await build('library');
      expect(code).toBe(1);
      expect(said).toContain("src/cli/main.ts(1,14): error TS2322: Type 'string' is not assignable");
    }
    await writeSource('export const port: number = 4100;');
    expect(await build('library')).toEqual(BUILT);
  });

  it('removes what was built of a source that is gone', async () => {
    const compiled = () => readdir(path.join(clone, 'dist', 'src'));
    await writeFile(inClone('src/gone.ts'), 'export const name = 1;');
    await build('library');
    expect(await compiled()).toEqual(['cli', 'config', 'gone.d.ts', 'gone.js']);
    await rm(inClone('src/gone.ts'));
    await build('library');
    expect(await compiled()).toEqual(['cli', 'config']);
  });

  it('names its steps when it is asked for another', async () => {
    const { code, said } = await build('everything');
    expect([code, said]).toEqual([1, expect.stringContaining('The steps are: modules, program, library.')]);
  });
});

async function pidOfEnded(): Promise<number> {
  const child = execFile(process.execPath, ['-e', '']);
  await new Promise((resolve) => child.once('close', resolve));
  return child.pid!;
}
