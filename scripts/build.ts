import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { packageRoot } from '../src/config/package-root.ts';

/**
 * Builds what is missing in dist/ or older than its sources, and returns in a fifth of a second when nothing is:
 * `node scripts/build.ts [STEP…]`, all steps by default. Node runs this file as it is. Everything that starts a built
 * program calls it first, so that none is ever older than its sources.
 */
interface Step {
  /** Files and folders whose contents decide whether the step runs. */
  readonly inputs: readonly string[];
  /** Without it the step runs in any case. */
  readonly output: string;
  run(): Promise<void>;
}

const root = packageRoot();
process.chdir(root);

const LOCK = 'dist/build.lock';
const LOCK_PAUSE_MS = 50;

/** A new version of a dependency, of a compiler or of a setting changes what is built. */
const SETTINGS = ['package-lock.json', 'tsconfig.base.json'];

/** An image is built without some of them. */
const PROJECTS = ['src', 'examples', 'lab', 'scripts'].filter((name) => existsSync(`${name}/tsconfig.json`));

const STEPS: Readonly<Record<string, Step>> = {
  /** dist/built: what runs in web pages, and WebAssembly. Everything else needs it, so it is built with any other step. */
  modules: {
    inputs: [...SETTINGS, 'scripts/build.ts', 'scripts/modules.ts', 'src/capabilities'],
    output: 'dist/built',
    run: async () => (await import('./modules.ts')).buildModules(),
  },
  /** dist/cli and dist/console: what users start. */
  program: {
    inputs: [...SETTINGS, 'scripts/build.ts', 'scripts/bundle.ts', 'src'],
    output: 'dist/cli/main.js',
    run: async () => (await import('./bundle.ts')).bundle(),
  },
  /** dist/src with its declarations, and what runs from dist/examples, dist/lab and dist/scripts. */
  library: {
    inputs: [...SETTINGS, ...PROJECTS],
    output: 'dist/src/index.js',
    run: () => compile(PROJECTS),
  },
};

const { positionals } = parseArgs({ allowPositionals: true });
const names = positionals.length > 0 ? [...new Set(['modules', ...positionals])] : Object.keys(STEPS);
try {
  if (names.some(isStale)) await alone(buildStale);
} catch (error) {
  console.error(`NOT BUILT: ${(error as Error).message}`);
  process.exitCode = 1;
}

async function buildStale(): Promise<void> {
  // The other steps read what this one makes.
  if (isStale('modules')) await build('modules');
  await Promise.all(names.filter(isStale).map(build));
}

/** The sources are read before the step runs: what changes while it runs makes it stale again. */
async function build(name: string): Promise<void> {
  const hash = hashOf(STEPS[name]!.inputs);
  await STEPS[name]!.run();
  writeFileSync(recordOf(name), hash);
}

function isStale(name: string): boolean {
  const step = STEPS[name];
  if (!step) throw new Error(`There is no step "${name}". The steps are: ${Object.keys(STEPS).join(', ')}.`);
  if (!existsSync(step.output) || !existsSync(recordOf(name))) return true;
  return readFileSync(recordOf(name), 'utf8') !== hashOf(step.inputs);
}

function recordOf(name: string): string {
  return `dist/${name}.sha256`;
}

/** Over contents, not times: a branch that is checked out and back is built once. */
function hashOf(inputs: readonly string[]): string {
  const hash = createHash('sha256');
  for (const file of inputs.flatMap(filesOf))
    hash.update(`${file}\n`).update(readFileSync(file)).update('\n');
  return hash.digest('hex');
}

function filesOf(input: string): readonly string[] {
  if (/\.\w+$/.test(input)) return [input];
  return readdirSync(input, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/** One build of a clone at a time. A lock whose process ended, for example with Ctrl+C, is removed. */
async function alone(work: () => Promise<void>): Promise<void> {
  mkdirSync('dist', { recursive: true });
  while (!takeLock()) await pause(LOCK_PAUSE_MS);
  try {
    await work();
  } finally {
    rmSync(LOCK);
  }
}

function takeLock(): boolean {
  try {
    writeFileSync(LOCK, String(process.pid), { flag: 'wx' });
    return true;
  } catch {
    if (!isRunning(Number(readIfThere(LOCK)))) rmSync(LOCK, { force: true });
    return false;
  }
}

function readIfThere(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function compile(projects: readonly string[]): Promise<void> {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const stderr = process.stderr.fd;
  const child = spawn(process.execPath, [compiler, '--build', ...projects], {
    stdio: ['ignore', stderr, stderr],
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error('the compiler found errors, see above.');
  // The compiler leaves what it made of sources that are gone, and the package would hold it.
  for (const file of projects.flatMap((project) => filesOf(`dist/${project}`)))
    if (!existsSync(file.replace(/^dist\/(.*?)(\.d)?\.[jt]s$/, '$1.ts'))) rmSync(file);
}
