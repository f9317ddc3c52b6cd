import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFileSync, spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** A clone with the rules of this one, and no file of it. */
let clone: string;

beforeEach(async () => {
  clone = await mkdtemp(path.join(tmpdir(), 'lango-commit-'));
  for (const folder of ['src', 'scripts']) await mkdir(path.join(clone, folder));
  for (const file of [
    ...['.gitignore', '.oxlintrc.json', '.prettierrc.json', '.prettierignore', '.githooks'],
    ...['package.json', 'tsconfig.base.json', 'src/tsconfig.json', 'scripts/pre-commit.ts'],
  ])
    await cp(file, path.join(clone, file), { recursive: true });
  await symlink(path.resolve('node_modules'), path.join(clone, 'node_modules'));
  git('init', '--quiet');
});

afterEach(() => rm(clone, { recursive: true }));

/** Neither the settings of the developer nor those of a hook that runs these tests. */
const options = () =>
  ({ cwd: clone, encoding: 'utf8', env: { PATH: process.env['PATH'], HOME: clone } }) as const;
const git = (...args: readonly string[]) => execFileSync('git', args, { ...options(), stdio: 'pipe' });
const write = (file: string, text: string) => writeFile(path.join(clone, file), text);
const hooksPath = () => spawnSync('git', ['config', 'core.hooksPath'], options()).stdout;

async function stage(file: string, text: string): Promise<void> {
  await write(file, text);
  git('add', file);
}

function install(): number | null {
  return spawnSync(process.execPath, ['scripts/pre-commit.ts', '--install'], options()).status;
}

/** Commits what is staged, with the hook. */
function commit(): { readonly passes: boolean; readonly said: string } {
  const name = ['-c', 'user.name=test', '-c', 'user.email=test@example.org'];
  const args = [...name, '-c', 'core.hooksPath=.githooks', 'commit', '--quiet', '-m', 'Try the hook'];
  const { status, stderr } = spawnSync('git', args, options());
  return { passes: status === 0, said: stderr };
}

describe('the hook before a commit', () => {
  it('lets through what is formatted and keeps the rules', async () => {
    await stage('src/good.ts', 'export const port = 4100;\n');
    await stage('settings.json', '{ "port": 4100 }\n');
    await stage('picture.png', 'no text');
    expect(commit()).toEqual({ passes: true, said: '' });
    git('rm', '--quiet', 'settings.json');
    expect(commit()).toEqual({ passes: true, said: '' });
  });

  it('refuses what is not formatted, as it is staged and not as it is in the folder', async () => {
    await stage('src/a.ts', 'export const port=4100\n');
    await write('src/a.ts', 'export const port = 4100;\n');
    await write('src/b.ts', 'export const port=4100\n');
    const { passes, said } = commit();
    expect([passes, said]).toEqual([
      false,
      'pre-commit: not formatted. Run: npx prettier --write src/a.ts\n',
    ]);
    git('add', 'src/a.ts');
    expect(commit()).toEqual({ passes: true, said: '' });
  });

  it('refuses what breaks a rule, also one that reads types', async () => {
    await stage('src/a.ts', 'export async function save(): Promise<void> {}\n');
    await stage(
      'src/b.ts',
      "import { save } from './a.js';\n\nexport function stop(): void {\n  save();\n}\n",
    );
    const { passes, said } = commit();
    expect([passes, said]).toEqual([false, expect.stringContaining('no-floating-promises')]);
    expect(said).toContain('src/b.ts:4');
  });
});

describe('npm install', () => {
  it('tells git of the hook', () => {
    expect([install(), hooksPath()]).toEqual([0, '.githooks\n']);
    expect([install(), hooksPath()]).toEqual([0, '.githooks\n']);
  });

  it('leaves hooks of the developer as they are', () => {
    git('config', 'core.hooksPath', '/hooks');
    expect([install(), hooksPath()]).toEqual([0, '/hooks\n']);
  });

  it('works where there is no git', async () => {
    await rm(path.join(clone, '.git'), { recursive: true });
    expect(install()).toBe(0);
    git('init', '--quiet');
    const env = { ...options().env, PATH: '/nonexistent' };
    const args = ['scripts/pre-commit.ts', '--install'];
    expect(spawnSync(process.execPath, args, { ...options(), env }).status).toBe(0);
    expect(hooksPath()).toBe('');
  });
});
