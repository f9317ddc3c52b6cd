import { describe, expect, it } from '@jest/globals';
import { execFileSync, spawn } from 'node:child_process';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { built } from '../support/built.js';
import { OLDEST_NODE, isSupportedNode } from '../../src/config/supported-node.js';
import { mainFile, cleanEnv, ended } from './lango-process.js';

const OLD_NODE = ['/usr/bin/node', '/usr/local/bin/node'].find((file) => {
  try {
    return !isSupportedNode(execFileSync(file, ['--version'], { encoding: 'utf8' }).trim().slice(1));
  } catch {
    return false;
  }
});

describe('the required Node version', () => {
  it('is compared number by number', () => {
    const versions = ['18.20.0', '20.19.0', '22.9.0', '22.18.0', '22.19.0', '22.20.1', '24.0.0', '100.0.0'];
    expect(versions.filter(isSupportedNode)).toEqual(['22.19.0', '22.20.1', '24.0.0', '100.0.0']);
  });

  it('is the one in package.json', async () => {
    const { engines } = JSON.parse(await readFile('package.json', 'utf8')) as { engines: { node: string } };
    expect(engines.node).toBe(`>=${OLDEST_NODE}`);
  });

  const itWithOldNode = OLD_NODE === undefined ? it.skip : it;

  itWithOldNode(
    'runs with the Node of the clone when its own is too old (skipped without an old Node)',
    async () => {
      const child = spawn(OLD_NODE!, [mainFile(), 'config', 'schema'], { env: cleanEnv() });
      expect(await ended(child)).toMatchObject({ code: 0, stderr: '' });
    },
  );

  itWithOldNode('is asked for by the library too (skipped without an old Node)', async () => {
    const script = `import(${JSON.stringify(pathToFileURL(built('src/index.js')).href)})`;
    const result = await ended(spawn(OLD_NODE!, ['-e', script], { env: cleanEnv() }));
    expect(result.code).toBe(1);
    expect(result.stderr).toMatch(/Error: Lango needs Node 22\.19 or newer; this is [\d.]+\. Install .*\.\n/);
  });

  itWithOldNode('says what to do where there is no other Node (skipped without an old Node)', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'lango-old-node-'));
    const target = path.join(folder, 'dist', 'cli');
    await cp(path.dirname(mainFile()), target, { recursive: true });
    await cp('package.json', path.join(folder, 'package.json'));
    const result = await ended(
      spawn(OLD_NODE!, [path.join(target, 'main.js'), 'serve'], { env: cleanEnv() }),
    );
    await rm(folder, { recursive: true });
    expect(result).toMatchObject({ code: 1, stdout: '' });
    expect(result.stderr).toMatch(/^Lango needs Node 22\.19 or newer; this is [\d.]+\. Install .*\n$/);
  });
});
