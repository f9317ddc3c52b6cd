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

/** Over all ways to leave an argument out or to have it. */
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

  it('has no row that is not read', () => {
    const lines = readFileSync('docs/internals/tools.md', 'utf8').split('\n');
    expect(lines.filter((line) => line.startsWith('| `'))).toHaveLength(rows.length);
  });

  it.each(rows)('$tool: effect class and danger are those of the tool', ({ tool: name, effect, danger }) => {
    const tool = toolNamed(families.tools, name);
    expect([effect, danger]).toEqual([tool.effect, dangersOf(tool)]);
  });

  it.each(rows)('$tool: the tests it names are there', ({ tests }) => {
    expect(tests).toHaveLength(2);
    for (const [file, title] of tests) {
      expect(existsSync(`test/${file}`)).toBe(true);
      expect(readFileSync(`test/${file}`, 'utf8')).toContain(title);
    }
  });

  it.each(rows)('$tool is killed in a test', ({ tool }) => {
    const files = ['test/e2e/tool-kills.test.ts', 'test/e2e/payments.test.ts'];
    const kills = files.map((file) => readFileSync(file, 'utf8')).join();
    expect(kills.includes(tool)).toBe(true);
  });
});
