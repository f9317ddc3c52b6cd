import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { renderCaseReference } from '../../scripts/case-reference.js';
import { caseFileJsonSchema } from '../../src/evals/case-file.js';
import { defineTool, evaluate } from '../../src/index.js';
import { langoHere } from '../cli/lango-here.js';
import type { Result } from '../cli/lango-process.js';
import { ScriptedModel, ask, call, say } from '../support/scripted-model.js';
import { sendText, startServer } from '../support/server.js';

/** Cases of recorded tasks: what they expect, how the results are shown, and how mistakes in their files are named. */

const read = defineTool({
  name: 'fs_read',
  description: 'Reads.',
  schema: z.object({ path: z.string(), lines: z.object({ from: z.int(), to: z.int() }) }),
  effect: 'pure',
  execute: async () => ({ content: 'hello' }),
});

const lines = { from: 1, to: 2 };
const model = new ScriptedModel({
  orchestrator: [call(ask('operator', 'read both')), say('{"files": 2, "text": "hello"}')],
  operator: [
    call(['fs_read', { path: 'a.txt', lines }]),
    call(['fs_read', { path: 'b.txt', lines }]),
    say('Read.'),
  ],
});

let folder: string;
let [made, again, later]: Result[] = [];
const wrong: Result[] = [];

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'lango-evals-'));
  const server = await startServer({ tools: [read], model });
  const { taskId } = await sendText(server, 'read a.txt and b.txt');
  const env = { LANGO_URL: server.address.origin, LANGO_TOKEN: server.address.token! };
  await langoHere(['tasks', 'export', taskId, '--out', path.join(folder, 'read.json')], { env });
  const news = ['eval', 'new', '--out', path.join(folder, 'new'), '--from'];
  for (const from of ['state=failed', 'since=30m agent=lango-orchestrator'])
    made = await langoHere([...news, from], { env });
  again = await langoHere([...news, 'since=2020-01-01', '--json'], { env });
  later = await langoHere([...news, 'since=2200-01-01', '--json'], { env });
  for (const from of ['since=yesterday', 'agent', 'state=', 'since', 'name=a', 'agent=a state=lost'])
    wrong.push(await langoHere([...news, from], { env }));
  await server.stop();
  await writeFile(path.join(folder, 'rule.mjs'), RULE);
  await writeFile(path.join(folder, 'other.mjs'), 'export const rules = 1;');
});

afterAll(() => rm(folder, { recursive: true }));

const RULE = `
export function rule({ answer, events, tasks }) {
  if (tasks.length !== 2 || events.length < 5) return 'tasks or events are missing';
  return answer.includes('hello') || 'it says no hello';
}`;

/** Writes cases that have one expectation each, and evaluates them. Returns the failures of each. */
async function failuresOf(...expectations: readonly object[]): Promise<readonly string[]> {
  const cases = expectations.map((one, index) => ({
    name: `case ${index}`,
    record: 'read.json',
    expect: [one],
  }));
  const { results } = await evaluate(await writeCases({ cases }));
  return results.map(({ failures }) => failures.join());
}

/** JSON is YAML too. */
async function writeCases(given: unknown, name = 'cases.yaml'): Promise<string> {
  const file = path.join(folder, name);
  await writeFile(file, typeof given === 'string' ? given : JSON.stringify(given, null, 1));
  return file;
}

describe('a case of a recorded task', () => {
  const hold = [
    { state: 'completed' },
    { contains: 'hello' },
    { equals: ' {"files": 2, "text": "hello"}\n' },
    { matches: '"files": \\d' },
    { schema: { type: 'object', properties: { files: { type: 'integer' } }, required: ['files', 'text'] } },
    { rule: './rule.mjs' },
    { asked: 'operator', times: 1 },
    { asked: 'vault', not: true },
    { tool: 'fs_read', times: 2 },
    { tool: 'fs_read', most: 2 },
    { tool: 'fs_write', most: 2 },
    { tool: 'fs_read', arguments: { path: 'b.txt', lines: { to: 2 } }, times: 1 },
    { order: ['operator', 'fs_read', 'fs_read'] },
    { tokens: 100 },
    { turns: 5 },
    { seconds: 60 },
  ];

  it('passes with every expectation that holds, and fails with the opposite of it', async () => {
    expect(await failuresOf(...hold)).toEqual(hold.map(() => ''));
    const opposite = hold.map((one) => ({ ...one, not: !('not' in one) }));
    const failures = await failuresOf(...opposite);
    expect(failures.filter((text) => text.startsWith('expected '))).toHaveLength(hold.length);
  });

  it.each([
    [{ state: 'failed' }, 'expected state "failed", but it is completed'],
    [{ contains: 'bye' }, 'but the answer is "{\\"files\\": 2'],
    [{ schema: { type: 'object', properties: { files: { type: 'string' } } } }, 'but files: Invalid input'],
    [{ rule: './none.mjs' }, 'it could not be checked: '],
    [{ rule: './none.mjs', not: true }, 'it could not be checked: '],
    [{ rule: './other.mjs' }, 'exports no function "rule"'],
    [{ tool: 'fs_read', most: 1 }, 'but there were 2 calls'],
    [{ tool: 'fs_read', times: 1 }, 'but there were 2 calls'],
    [{ tool: 'fs_read', arguments: { path: 'c.txt' } }, 'there were 0 calls; a call had {"lines":'],
    [{ order: ['fs_read', 'operator'] }, 'operator is not there; there were operator, fs_read, fs_read'],
    [{ turns: 4 }, 'but it was 5'],
    [{ cost: 1 }, 'but a model has no price'],
  ])('fails with %j and says what there was', async (expectation, text) => {
    expect((await failuresOf(expectation))[0]).toContain(text);
  });

  it('fails when this version of Lango does something else than the record', async () => {
    const record = await readFile(path.join(folder, 'read.json'), 'utf8');
    await writeFile(path.join(folder, 'other.json'), record.replace(/"key":"[0-9a-f]{8}/, '"key":"00000000'));
    const cases = [{ name: 'a', record: 'other.json', expect: [{ state: 'completed' }] }];
    const [result] = (await evaluate(await writeCases({ cases }))).results;
    expect(result).toMatchObject({
      passed: false,
      failures: [expect.stringContaining('the replay differs at event')],
    });
  });
});

describe('lango eval new', () => {
  it('makes a case of each task that matches, which passes and expects what happened', async () => {
    const [file, ...others] = made!.stdout.trim().split('\n');
    expect(others).toEqual([]);
    const text = await readFile(file!, 'utf8');
    expect(text).toContain('- name: read a.txt and b.txt\n');
    expect(text).toContain('- tool: fs_read\n');
    expect(text).toMatch(/- order:\s+- operator\s+- fs_read\n/);
    expect((await evaluate(path.join(folder, 'new'))).passed).toBe(true);
  });

  it('keeps the cases that it made before, and says which filters there are', () => {
    expect(JSON.parse(again!.stdout)).toEqual({ files: [], known: 1 });
    expect(JSON.parse(later!.stdout)).toEqual({ files: [], known: 0 });
    expect(wrong).toHaveLength(6);
    for (const { code, stderr } of wrong) {
      expect(stderr).toContain('takes agent=NAME, state=STATE and since=');
      expect(code).toBe(2);
    }
  });
});

describe('lango eval', () => {
  it('shows each case of a folder, writes JUnit XML, and ends with 1 when one fails', async () => {
    const [good, bad] = ['good', 'bad'].map((name) => path.join(folder, name));
    for (const each of [good!, bad!]) await mkdir(each, { recursive: true });
    const record = '../read.json';
    const passing = { name: 'reads', record, expect: [{ tool: 'fs_read' }] };
    await writeCases({ cases: [passing] }, 'good/a.yaml');
    await writeCases(
      { cases: [passing, { name: 'says "<b>"', record, expect: [{ contains: '<b>' }] }] },
      'bad/b.yml',
    );
    expect(await langoHere(['eval', good!])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('1 of 1 case'),
    });
    const junit = path.join(folder, 'junit.xml');
    const failing = await langoHere(['eval', bad!, '--junit', junit]);
    expect(failing.code).toBe(1);
    expect(failing.stdout).toContain('✘ says "<b>"');
    expect(failing.stdout).toContain('1 of 2 cases passed.');
    const xml = await readFile(junit, 'utf8');
    expect(xml).toContain('tests="2" failures="1"');
    expect(xml).toContain('name="says &quot;&lt;b&gt;&quot;"');
    const { stdout } = await langoHere(['eval', bad!, '--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      passed: false,
      results: [{ passed: true, turns: 5 }, { passed: false }],
    });
  });

  it.each([
    [
      'cases:\n - name: a\n   record: read.json\n   expect:\n    - contians: hello\n',
      /cases.yaml:5:7: .*contians is not a known key; did you mean "contains"\?/,
    ],
    [
      'cases:\n - name: a\n   record: read.json\n   expect:\n    - state: done\n',
      /cases.yaml:5:14: .*must be "submitted", /,
    ],
    [
      'cases:\n - name: a\n   record: read.json\n   expect:\n    - not: true\n',
      /cases.yaml:5:7: .*exactly one of these keys: state, /,
    ],
    [
      'cases:\n - name: a\n   expect: [{state: completed}]\n',
      /cases.yaml:2:4: .*must have a `record` or `messages`/,
    ],
    ['cases: [\n', /cases.yaml:2:1: /],
    ['cases:\n - {name: a, record: r, expect: [{matches: "("}]}\n', /no regular expression/],
    ['cases:\n - {name: a, record: r, expect: [{state: failed, times: 1}]}\n', /belong to `tool` or `asked`/],
  ])('names file, line and what to write for %j', async (text, message) => {
    const { code, stderr } = await langoHere(['eval', await writeCases(text)]);
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
  });

  it('names a record that is missing, and goes on with the other cases', async () => {
    const cases = ['none.json', 'read.json'].map((record) => ({
      name: record,
      record,
      expect: [{ turns: 9 }],
    }));
    const { results } = await evaluate(await writeCases({ cases }));
    expect(results).toMatchObject([{ failures: [expect.stringContaining('none.json')] }, { passed: true }]);
  });

  it('has a JSON Schema of its files and a page about them (else: npm run schema)', async () => {
    const schema = caseFileJsonSchema();
    const written = await readFile('docs/reference/evaluations.schema.json', 'utf8');
    expect(JSON.parse(written)).toEqual(JSON.parse(JSON.stringify(schema)));
    expect(await readFile('docs/reference/evaluations.md', 'utf8')).toBe(renderCaseReference(schema));
  });
});
