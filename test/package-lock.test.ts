import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';

interface Locked {
  readonly gypfile?: boolean;
}

interface Manifest {
  readonly scripts?: Readonly<Record<string, string>>;
}

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  packages: Readonly<Record<string, Locked>>;
};

/**
 * npm compiles whatever holds a binding.gyp, unless the lock says no: it reads `gypfile` there and not in the
 * package's own file. better-sqlite3 brings what is compiled, and says so in vain (its issue 1516). An
 * `npm install` that writes the lock anew drops the line; put it back.
 */
const compiled = Object.entries(packages)
  .filter(([folder]) => existsSync(path.join(folder, 'binding.gyp')))
  .filter(([folder]) => {
    const { scripts } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as Manifest;
    return !scripts?.['install'] && !scripts?.['preinstall'];
  });

describe('npm ci', () => {
  it('looks at packages that npm would compile', () => {
    expect(compiled.map(([folder]) => folder)).toContain('node_modules/better-sqlite3');
  });

  it.each(compiled)('needs neither Python nor a compiler for %s', (_, { gypfile }) => {
    expect(gypfile).toBe(false);
  });
});
