import { describe, expect, it } from '@jest/globals';
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { CAPABILITIES } from '../../src/capabilities/index.js';
import { createProgram } from '../../src/cli/program.js';

const PAGES = [...globSync('*.md'), ...globSync('docs/**/*.md')];
const LINK = /\]\(([^)\s]+)\)/g;
const TEST_PATH = /npm test -- ((?:test\/|[a-z0-9]+\/)[\w./-]+)/g;
const SCRIPT = /npm run ([\w-]+)/g;
const LANGO = /npx lango ([a-z]+)(?: ([a-z]+))?/g;

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};

describe.each(PAGES)('%s', (page) => {
  const text = readFileSync(page, 'utf8');
  const found = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, ...groups]) => groups);

  it('links to existing targets', () => {
    const own = found(LINK).flatMap(([target]) => (/^[a-z]+:/.test(target!) ? [] : [target!]));
    expect(own.filter((target) => !isThere(page, target))).toEqual([]);
  });

  it('has prose lines of at most 120 characters', () => {
    const isGenerated = /^<!-- (Generated|Written) /m.test(text);
    expect(isGenerated ? [] : proseOf(text).filter((line) => [...line].length > 120)).toEqual([]);
  });

  it('names existing commands only', () => {
    const commands = createProgram(async () => {}, CAPABILITIES).commands;
    const unknown = [
      ...found(SCRIPT).flatMap(([name]) => (name! in scripts ? [] : [`npm run ${name}`])),
      ...found(LANGO).flatMap(([name, sub]) => (isCommand(commands, name!, sub) ? [] : [`${name} ${sub}`])),
      ...found(TEST_PATH).flatMap(([name]) => (hasTest(name!) ? [] : [`npm test -- ${name}`])),
    ];
    expect(unknown).toEqual([]);
  });
});

/** Without code blocks, tables and headings, whose lines cannot be broken. */
function proseOf(text: string): readonly string[] {
  const outside = text.split(/^ *```/m).filter((_, index) => index % 2 === 0);
  return outside.flatMap((part) => part.split('\n')).filter((line) => !/^[|#]/.test(line));
}

function isThere(page: string, target: string): boolean {
  const [file, anchor] = target.split('#');
  const place = file === '' ? page : path.join(path.dirname(page), file!);
  if (!existsSync(place)) return false;
  return anchor === undefined || anchorsOf(readFileSync(place, 'utf8')).includes(anchor);
}

function anchorsOf(text: string): readonly string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function isCommand(commands: readonly Command[], name: string, sub: string | undefined): boolean {
  const command = commands.find((each) => each.name() === name);
  if (!command) return false;
  const takesWords = command.registeredArguments.length > 0;
  return (
    sub === undefined ||
    takesWords ||
    command.commands.some((each) => each.name() === sub) ||
    !command.commands.length
  );
}

/** Whether a part of a path matches a test file, as jest matches it. */
function hasTest(name: string): boolean {
  return globSync('test/**/*.test.ts').some((file) => file.includes(name));
}
