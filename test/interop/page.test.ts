import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { RECIPES } from './recipes.js';
import { SDKS } from './sdks.js';

/**
 * A run with everything installed writes the page. This test checks that it is not older than the pinned versions and
 * the known faults.
 */
const page = readFileSync('docs/reference/interop.md', 'utf8');
const pinned = [
  '.ci/frameworks',
  ...['a2a_java', 'a2a_java_1'].map((name) => `test/interop/peers/${name}/pom.xml`),
]
  .map((file) => readFileSync(file, 'utf8'))
  .join('\n');

describe.each(SDKS)(
  'docs/reference/interop.md, $name (else: npm run interop)',
  ({ name, pin, bindings, faults, roles = ['client', 'remote agent'] }) => {
    it('shows the pinned version in a row for each transport and role', () => {
      const version = pin.exec(pinned)?.[1];
      const rows = page.split('\n').filter((line) => line.startsWith(`| ${name} ${version} |`));
      expect(rows).toHaveLength(roles.length * bindings.length);
    });

    it('names each known fault', () => {
      for (const { why } of faults) expect(page).toContain(`${name}: ${why}`);
    });
  },
);

it('docs/reference/interop.md shows each recipe with its pinned version, in both directions (else: npm run interop)', () => {
  const [, ...tables] = page.split('\n## Frameworks\n')[1]!.split('\n## ')[0]!.split('\n### ');
  expect(tables).toHaveLength(2);
  for (const table of tables) {
    const rows = rowsOf(table);
    expect(rows.map(([, name]) => name).sort()).toEqual(RECIPES.map(({ name }) => name).sort());
    for (const [, name, version] of rows) {
      const recipe = RECIPES.find((one) => one.name === name)!;
      expect(pinned).toMatch(new RegExp(`${recipe.package}(\\[.*?\\])?(==|@)${version}\\b`));
    }
  }
});

it('docs/reference/interop.md shows LangChain4j with its pinned version (else: npm run interop)', () => {
  const pom = readFileSync('test/interop/peers/langchain4j/pom.xml', 'utf8');
  const [, version] = /<version>([\w.-]+)<\/version><\/dependency>/.exec(pom)!;
  expect(page).toContain(`| LangChain4j ${version} |`);
});

it('docs/reference/interop.md shows a2a-proof with its pinned version in each transport, and as a remote agent (else: npm run interop)', () => {
  const [, version] = /a2a-proof==(\S+)/.exec(pinned)!;
  const rows = page.split('\n').filter((line) => line.startsWith(`| a2a-proof ${version} |`));
  expect(rows).toHaveLength(4);
});

it('docs/guides/agents-of-other-frameworks.md has only recipes that are tested', () => {
  const guide = readFileSync('docs/guides/agents-of-other-frameworks.md', 'utf8');
  const recipes = guide.split('\n## ').filter((section) => /```(python|js)/.test(section));
  expect(recipes.map((section) => section.split('\n')[0])).toEqual(RECIPES.map(({ name }) => name));
});

/** The rows of frameworks with which something works: name and version. */
function rowsOf(table: string): readonly RegExpExecArray[] {
  return [...table.matchAll(/^\| ([^|]+) ([\w.]+) \|.* yes \|/gm)];
}

it.each(['conformance', 'inspector'])(
  "docs/reference/interop.md shows the pinned version of MCP's %s (else: npm run interop mcp)",
  (name) => {
    const [, version] = new RegExp(`@modelcontextprotocol/${name}@(\\S+)`).exec(pinned)!;
    expect(page.split('\n## MCP\n')[1]?.split('\n## ')[0]).toContain(version);
  },
);

it.each(RECIPES)(
  'docs/reference/interop.md names what does not work with $name (else: npm run interop)',
  (recipe) => {
    for (const { faults, without } of Object.values(recipe.roles)) {
      for (const why of Object.values({ ...faults, ...without }))
        expect(page).toContain(`${recipe.name}: ${why}`);
    }
  },
);
