import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ABLATIONS, type Ablation } from './ablations.js';
import { allTopics } from './tables.js';

/**
 * Switches off each rule in a copy of the tree and runs the cases that must fail then. Prints each rule with its result. A
 * rule whose cases pass without it is not tested, or not needed.
 */

const COPIED = ['src', 'test', 'lab/all-stores.ts', 'package.json', 'tsconfig.json', 'tsconfig.base.json'];

const topics = await allTopics();
let copy: string;
beforeAll(async () => {
  copy = await mkdtemp(path.join(tmpdir(), 'lango-ablations-'));
  for (const name of COPIED) await cp(name, path.join(copy, name), { recursive: true });
  // The copy uses what is built already.
  const config = (await readFile('jest.config.js', 'utf8')).replace(/^ *globalSetup:.*$/m, '');
  await writeFile(path.join(copy, 'jest.config.js'), config);
  for (const name of ['node_modules', 'dist', 'agent-cards', 'prompts', 'docs'])
    await symlink(path.resolve(name), path.join(copy, name));
});
afterAll(() => rm(copy, { recursive: true, force: true }));

describe('without its rule', () => {
  it.each(ABLATIONS)('a case fails: $rule', async ({ file, find, replace, red, rule }) => {
    const place = path.join(copy, file);
    const text = await readFile(place, 'utf8');
    try {
      await writeFile(
        place,
        text.replace(find, () => replace),
      );
      const failed = await failedCases(red);
      const missing = red.filter((id) => !failed.some((title) => title.startsWith(`${id} (`)));
      process.stdout.write(`${missing.length === 0 ? 'red' : `GREEN: ${missing.join()}`}  ${rule}\n`);
      expect(missing).toEqual([]);
    } finally {
      await writeFile(place, text);
    }
  });
});

interface Report {
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly { readonly title: string; readonly status: string }[];
  }[];
}

/** The titles of the tests that fail in the copy, of these cases. */
async function failedCases(red: Ablation['red']): Promise<readonly string[]> {
  const files = topics
    .filter(({ quirks }) => quirks.some(({ id }) => red.includes(id)))
    .map(({ name }) => `test/quirks/${name}\\.test\\.ts`);
  const out = path.join(copy, 'report.json');
  await rm(out, { force: true });
  await new Promise<void>((resolve) => {
    const args = ['--no-warnings', 'node_modules/jest/bin/jest.js'];
    const env = { ...process.env, LANGO_CAMPAIGN: '' };
    const names = `(^| )(${red.map((id) => id.replace(/[^\w-]/g, '\\$&')).join('|')}) \\(`;
    const options = ['--runInBand', '--json', '--outputFile', out, '--rootDir', copy, '-t', names];
    execFile(process.execPath, [...args, ...options, ...files], { cwd: copy, env }, () => resolve());
  });
  const { testResults } = JSON.parse(await readFile(out, 'utf8')) as Report;
  // A tree that does not even load fails no case for the right reason.
  expect(testResults.filter(({ assertionResults }) => assertionResults.length === 0)).toEqual([]);
  return testResults.flatMap(({ assertionResults }) =>
    assertionResults.filter(({ status }) => status === 'failed').map(({ title }) => title),
  );
}
