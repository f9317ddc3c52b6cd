import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';

interface Locked {
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly optional?: boolean;
  readonly link?: boolean;
  readonly gypfile?: boolean;
}

interface Manifest {
  readonly scripts?: Readonly<Record<string, string>>;
}

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  packages: Readonly<Record<string, Locked>>;
};

/**
 * npm compiles every package with a binding.gyp unless the lock says no: it reads `gypfile` there, not in the package's
 * own file. better-sqlite3 ships its binary, and its own `gypfile` is ignored (its issue 1516). An `npm install` that
 * writes the lock anew drops the line; put it back.
 */
const compiled = Object.entries(packages)
  .filter(([folder]) => existsSync(path.join(folder, 'binding.gyp')))
  .filter(([folder]) => {
    const { scripts } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as Manifest;
    return !scripts?.['install'] && !scripts?.['preinstall'];
  });

describe('npm ci', () => {
  it('would compile better-sqlite3, which these tests check', () => {
    expect(compiled.map(([folder]) => folder)).toContain('node_modules/better-sqlite3');
  });

  it.each(compiled)('needs neither Python nor a compiler for %s', (_, { gypfile }) => {
    expect(gypfile).toBe(false);
  });
});

/** The packages that `npm install lango` installs besides lango itself. */
const installed = Object.entries(packages)
  .filter(([folder]) => folder.startsWith('node_modules/'))
  .filter(([, { dev, devOptional, optional, link }]) => !dev && !devOptional && !optional && !link)
  .map(([folder]) => folder);

describe('npm install of the package', () => {
  it('installs at most 150 packages and 80 MB, and none that only some users need', () => {
    expect(installed.length).toBeLessThan(150);
    const own = [
      'openai',
      '@anthropic-ai/sdk',
      '@grpc/grpc-js',
      'unpdf',
      'viem',
      'pg',
      'playwright-core',
      'commander',
    ];
    expect(installed.filter((folder) => own.includes(folder.slice('node_modules/'.length)))).toEqual([]);
    const bytes = installed.flatMap(filesIn).reduce((sum, file) => sum + statSync(file).size, 0);
    expect(bytes / 2 ** 20).toBeLessThan(80);
  });
});

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
}
