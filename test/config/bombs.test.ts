import { describe, expect, it } from '@jest/globals';
import { readEnv } from '../../src/config/env.js';
import { checkConfig } from '../../src/config/load.js';
import type { Problem } from '../../src/config/problems.js';
import { newFolder, write } from './folder.js';

async function check(text: string): Promise<readonly Problem[]> {
  const home = newFolder();
  write(home, 'config.yaml', text);
  return checkConfig({ env: readEnv({ LANGO_HOME: home }) });
}

const keys = Array.from({ length: 500 }, (_, n) => `k${n}: 1\n`).join('');

describe('a configuration file that is meant to block the server', () => {
  it.each([
    ['too large', ' '.repeat(65_537), 'is larger than 65536 characters', 1],
    ['too deep', `server: ${'['.repeat(65)}${']'.repeat(65)}`, 'is nested deeper than 64 levels', 1],
    ['too deep for the parser', '{a: '.repeat(16_000), 'is nested deeper than 64 levels', 1],
    ['wrong in 500 lines', 'a: b: c\n'.repeat(500), 'Nested mappings are not allowed', 50],
    ['wrong in 500 keys', keys, 'is not a known key', 50],
    ['wrong 500 times in a key', 'port: 1\n'.repeat(501), 'appears twice; keep one of them', 50],
    ['wrong in a long key', `? ${'k'.repeat(60_000)}\n: 1`, 'is not a known key; known here:', 1],
    ['wrong in a key without a sign', `${'k'.repeat(60_000)}: 1`, 'The : indicator must be at most 1024', 1],
  ])('is refused with a message short enough for a person: %s', async (...[, text, wrong, count]) => {
    const problems = await check(text);
    expect(problems).toHaveLength(count);
    expect(problems[0]?.text).toContain(wrong);
    expect(JSON.stringify(problems).length).toBeLessThan(20_000);
  });
});
