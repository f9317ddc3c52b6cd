import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { z } from 'zod';
import { readEnv } from '../../src/config/env.js';
import { loadConfig, shippedSchema } from '../../src/config/load.js';
import { packageRoot } from '../../src/config/package-root.js';
import { configSchema, renderReference } from '../../src/config/reference.js';
import { leavesOf } from '../../src/config/schema.js';
import { newFolder, write } from './folder.js';

const docs = (name: string) => join(packageRoot(), 'docs', 'reference', name);

describe('the generated documents', () => {
  it('are up to date with the schema (else run: npm run schema)', () => {
    expect(readFileSync(docs('configuration.md'), 'utf8')).toBe(renderReference(shippedSchema()));
    expect(JSON.parse(readFileSync(docs('config.schema.json'), 'utf8'))).toEqual(
      configSchema(shippedSchema()),
    );
  });

  it('describe every key, with its default, a description of the default, or none by intent', () => {
    const leaves = leavesOf(shippedSchema().json);
    expect(leaves.length).toBeGreaterThan(60);
    expect(leaves.filter(({ schema }) => !schema.description)).toEqual([]);
    const open = leaves.filter(
      ({ schema, required }) =>
        !required && schema.default === undefined && !schema.description?.includes('Default:'),
    );
    expect(open.map(({ key }) => key)).toEqual(['agent.promptFolder', 'a2a.remoteAgents[].token']);
  });

  it('name every key on the reference page', () => {
    const page = renderReference(shippedSchema());
    for (const { key } of leavesOf(shippedSchema().json)) expect(page).toContain(`| \`${key}\` |`);
  });
});

describe('the example configuration', () => {
  it('is a valid file', async () => {
    const home = newFolder();
    const env = readEnv({ LANGO_HOME: home, LANGO_CONFIG: docs('config.example.yaml') });
    const { config } = await loadConfig({ env });
    const { config: plain } = await loadConfig({ env: readEnv({ LANGO_HOME: home }) });
    expect(config).toEqual({
      ...plain,
      file: docs('config.example.yaml'),
      a2a: {
        ...plain.a2a,
        remoteAgents: [
          {
            name: 'archivist',
            url: 'https://archive.example/agents/archivist',
            allowPrivate: false,
            relocate: false,
          },
        ],
      },
    });
  });

  it('is valid also with every commented line in use', async () => {
    const home = newFolder();
    const groups = readFileSync(docs('config.example.yaml'), 'utf8').split('\n\n').map(uncomment);
    const file = write(home, 'all.yaml', groups.join('\n\n'));
    const { config } = await loadConfig({ env: readEnv({ LANGO_HOME: home, LANGO_CONFIG: file }) });
    expect(config.agent.roster).toMatchObject([{ name: 'clerk' }, { name: 'runner', takesUnmatched: true }]);
    expect(config.model).toMatchObject({ provider: 'openai', name: 'qwen3' });
    expect(config.a2a.publish).toEqual(['lango-orchestrator', 'planner']);
  });

  it('is valid for an editor, including its variables', () => {
    const editor = z.fromJSONSchema(configSchema(shippedSchema()));
    const example: unknown = parse(readFileSync(docs('config.example.yaml'), 'utf8'));
    expect(editor.safeParse(example).error).toBeUndefined();
    expect(editor.safeParse({ server: { port: 'x' } }).success).toBe(false);
    expect(editor.safeParse({ server: { prot: 1 } }).success).toBe(false);
  });
});

/** The group with its commented keys in place of those that are set. */
function uncomment(group: string): string {
  const keyOf = (line: string) => /^ {2}(\w+):/.exec(line)?.[1];
  const lines = group
    .split('\n')
    .filter((line) => !/^ *# [A-Z]/.test(line))
    .map((line) => line.replace(/^ {2}# /, '  '));
  return lines
    .filter((line, index) => {
      const key = keyOf(line);
      return key === undefined || !lines.slice(index + 1).some((later) => keyOf(later) === key);
    })
    .join('\n');
}
