import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import process from 'node:process';

/**
 * Checks the format and the lint rules of staged files, for `.githooks/pre-commit`. The format is that of what is
 * staged; the linter reads the files themselves, as its rules need their neighbours. `--install` tells git of the hook.
 */

/** More take longer than anybody waits at a commit. `npm run lint` and CI check them. */
const MOST_FILES = 100;

if (process.argv.includes('--install')) install();
else process.exitCode = (await check()) ? 0 : 1;

/** Leaves hooks of the developer's own as they are, and never fails: it runs with each install. */
function install(): void {
  const isOfGit = existsSync('.git') && existsSync('.githooks');
  if (!isOfGit || spawnSync('git', ['config', 'core.hooksPath']).status !== 1) return;
  spawnSync('git', ['config', 'core.hooksPath', '.githooks']);
}

async function check(): Promise<boolean> {
  const files = git('diff', '--cached', '--name-only', '--diff-filter=ACMR', '-z')
    .split('\0')
    .filter(Boolean);
  if (files.length > MOST_FILES) {
    console.error(`pre-commit: ${files.length} files are staged, too many to check here. Run: npm run lint`);
    return true;
  }
  const unformatted = await unformattedOf(files);
  if (unformatted.length > 0)
    console.error(`pre-commit: not formatted. Run: npx prettier --write ${unformatted.join(' ')}`);
  return lint(files.filter((file) => /\.[jt]sx?$/.test(file))) && unformatted.length === 0;
}

async function unformattedOf(files: readonly string[]): Promise<readonly string[]> {
  const { check, getFileInfo, resolveConfig } = await import('prettier');
  const found: string[] = [];
  for (const file of files) {
    const { ignored, inferredParser } = await getFileInfo(file, {
      ignorePath: ['.gitignore', '.prettierignore'],
    });
    if (ignored || inferredParser === null) continue;
    const options = { ...(await resolveConfig(file, { editorconfig: true })), filepath: file };
    if (!(await check(git('show', `:${file}`), options).catch(() => false))) found.push(file);
  }
  return found;
}

function lint(files: readonly string[]): boolean {
  if (files.length === 0) return true;
  const args = ['node_modules/oxlint/bin/oxlint', '--quiet', '--no-error-on-unmatched-pattern', ...files];
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status !== 0) console.error(stdout);
  return status === 0;
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { encoding: 'utf8', maxBuffer: 2 ** 28 });
}
