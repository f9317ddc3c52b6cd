import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { transformSync } from '@swc/core';
import { packageRoot, packageVersion } from '../../src/config/package-root.js';
import { newFolder, write } from './folder.js';

describe('packageRoot', () => {
  it('is the folder of the shipped files, from the sources', () => {
    expect(existsSync(join(packageRoot(), 'agent-cards', 'planner.json'))).toBe(true);
    expect(existsSync(join(packageRoot(), 'prompts', 'AGENTS.md'))).toBe(true);
  });

  it('holds the package.json with the version', () => {
    const content = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as {
      version: string;
    };
    expect(packageVersion()).toBe(content.version);
  });

  it('is the package in node_modules, not the program that installed it', () => {
    const program = realpathSync(newFolder());
    const lango = join(program, 'node_modules', 'lango');
    const folder = join(lango, 'dist', 'src', 'config');
    mkdirSync(folder, { recursive: true });
    write(program, 'package.json', '{ "name": "program" }');
    write(lango, 'package.json', '{ "name": "lango", "type": "module" }');
    write(join(lango, 'dist'), 'package.json', '{ "name": "other", "type": "module" }');
    const source = readFileSync(join(packageRoot(), 'src/config/package-root.ts'), 'utf8');
    const options = { jsc: { parser: { syntax: 'typescript' }, target: 'es2024' } } as const;
    const file = write(folder, 'package-root.js', transformSync(source, options).code);
    const script = `import(${JSON.stringify(pathToFileURL(file))}).then((m) => process.stdout.write(m.packageRoot()))`;
    expect(execFileSync(process.execPath, ['-e', script], { encoding: 'utf8' })).toBe(lango);
  });
});
