import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import type { Tool } from '../../src/core/tool.js';
import { openFourFamilies, type FourFamilies } from '../support/four-families.js';
import { toolNamed } from '../support/tool-call.js';
import { readToolsPage } from './tools-page.js';

const rows = readToolsPage();
const LEVELS = ['safe', 'moderate', 'dangerous'] as const;

let families: FourFamilies;
beforeAll(async () => void (families = await openFourFamilies()));
afterAll(() => families.close());

/** All combinations of leaving each argument out or giving it. */
function dangersOf(tool: Tool): string {
  const names = Object.keys(tool.schema.shape);
  const inputs = [
    {},
    ...names.map((name) => ({ [name]: true })),
    Object.fromEntries(names.map((name) => [name, true])),
  ];
  const found = new Set(inputs.map((input) => tool.danger(input)));
  return LEVELS.filter((level) => found.has(level)).join(', ');
}

describe('docs/internals/tools.md', () => {
  it('has a row for every tool of the four families, and for nothing else', () => {
    const listed = [...new Set(rows.map(({ tool }) => tool))].sort();
    expect(listed).toEqual(families.tools.map(({ name }) => name).sort());
  });

  it('has only rows that this test reads', () => {
    const lines = readFileSync('docs/internals/tools.md', 'utf8').split('\n');
    expect(lines.filter((line) => line.startsWith('| `'))).toHaveLength(rows.length);
  });

  it.each(rows)('states the effect class and the danger of $tool', ({ tool: name, effect, danger }) => {
    const tool = toolNamed(families.tools, name);
    expect([effect, danger]).toEqual([tool.effect, dangersOf(tool)]);
  });

  it.each(rows)('names existing tests for $tool', ({ tests }) => {
    expect(tests).toHaveLength(2);
    for (const [file, title] of tests) {
      expect(existsSync(`test/${file}`)).toBe(true);
      expect(readFileSync(`test/${file}`, 'utf8')).toContain(title);
    }
  });

  it.each(rows)('names a test that kills $tool', ({ tool }) => {
    const files = ['test/e2e/tool-kills.test.ts', 'test/e2e/payments.test.ts'];
    const kills = files.map((file) => readFileSync(file, 'utf8')).join();
    expect(kills.includes(tool)).toBe(true);
  });
});
