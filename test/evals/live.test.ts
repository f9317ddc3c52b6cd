import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { z } from 'zod';
import { defineTool, evaluate, replayTask, scriptedModel, type EvaluateOptions } from '../../src/index.js';
import type { EvaluationRun, Evaluations } from '../../src/core/evaluations.js';
import type { ModelRequest } from '../../src/core/model.js';
import type { TaskFile } from '../../src/replay/task-file.js';
import { langoHere } from '../cli/lango-here.js';
import { cleanEnv, ended, mainFile } from '../cli/lango-process.js';
import { openaiWire } from '../support/openai-wire.js';
import { resultsIn } from '../support/scripted-model.js';
import { startServer, withoutTools } from '../support/server.js';

/** Live runs of cases: each on a server of its own, with models, tools and a workspace that the case names. */

let folder: string;
let file: string;
let calls: string[];

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'lango-evals-live-'));
  file = path.join(folder, 'cases.yaml');
  calls = [];
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const schema = z.object({ path: z.string() });
const tools = [
  defineTool({
    ...{ name: 'fs_look', description: 'Looks.', schema, effect: 'pure' },
    async execute({ path: name }) {
      calls.push(`look ${name}`);
      return { content: `live ${name} ${calls.length}` };
    },
  }),
  defineTool({
    ...{ name: 'fs_drop', description: 'Drops.', schema },
    async execute({ path: name }) {
      calls.push(`drop ${name}`);
      return { content: `dropped ${name}` };
    },
  }),
];

/** Calls the tools that the request names, as "look a, drop b", and says what came back. */
const obedient = () =>
  scriptedModel((request: ModelRequest) => {
    const isJudge = request.system.some(({ text }) => text.includes('You judge the answer'));
    const content = JSON.stringify(request.messages);
    if (isJudge)
      return JSON.stringify({ passes: content.includes('live a'), reason: `it is ${content.length} long` });
    const asked = request.messages.findLast(({ role }) => role === 'user')!;
    const words = JSON.stringify(asked).match(/(look|drop) \w+/g) ?? [];
    const done = request.messages.at(-1)?.role === 'results';
    if (done || words.length === 0) return `said: ${resultsIn(request).join(', ')}`;
    const named = words.map((word) => word.split(' '));
    return { calls: named.map(([name, at]) => ({ name: `fs_${name}`, arguments: { path: at! } })) };
  });

const settings = withoutTools({ agent: { multiAgent: false } });

/** JSON is YAML too. */
async function run(given: object, options: Partial<NonNullable<EvaluateOptions['live']>> = {}) {
  await writeFile(file, JSON.stringify(given));
  const live = { ...{ folder: path.join(folder, 'run'), settings, tools, model: obedient() }, ...options };
  return evaluate(file, { live });
}

const completes = [{ state: 'completed' }];

describe('a live run', () => {
  it('sends the messages in one conversation, and checks what the agents did', async () => {
    const { passed, results } = await run({
      cases: [
        {
          name: 'one',
          messages: ['look a'],
          expect: [...completes, { tool: 'fs_look' }, { contains: 'live a' }],
        },
        {
          name: 'two',
          messages: ['look b', 'look c'],
          expect: [{ tool: 'fs_look', arguments: { path: 'c' }, times: 1 }],
        },
      ],
    });
    expect(results.map(({ failures }) => failures)).toEqual([[], []]);
    expect(passed).toBe(true);
    expect(calls.toSorted()).toEqual(['look a', 'look b', 'look c']);
  });

  it('waits for a person at a dangerous call, unless the case approves', async () => {
    const one = {
      name: 'asks',
      messages: ['drop a'],
      expect: [{ state: 'input-required' }, { tool: 'fs_drop', not: true }],
    };
    const other = {
      name: 'drops',
      messages: ['drop b'],
      approve: true,
      expect: [...completes, { tool: 'fs_drop' }],
    };
    const { results } = await run({ cases: [one, other] });
    expect(results.map(({ failures }) => failures)).toEqual([[], []]);
    expect(calls).toEqual(['drop b']);
  });

  it('gives the result of a stub in place of a call', async () => {
    const stubs = [{ tool: 'fs_look', arguments: { path: 'a' }, result: 'stubbed' }];
    const expects = [{ contains: 'stubbed, live b' }];
    const { results } = await run({
      cases: [{ name: 'a', messages: ['look a, look b'], stubs, expect: expects }],
    });
    expect(results[0]!.failures).toEqual([]);
    expect(calls).toEqual(['look b']);
  });

  it('gives recorded results, and fails a call that is not in the record', async () => {
    const recorded = { name: 'a', record: 'a.json', messages: ['look a'], expect: completes };
    await run({ cases: [recorded] }, { writesRecords: true });
    expect((await evaluate(file)).passed).toBe(true);
    const { messages: _, ...ofRecord } = recorded;
    const from = { tools: 'recorded' as const, expect: [{ contains: 'live a 1' }] };
    const further = {
      ...recorded,
      name: 'b',
      messages: ['look b'],
      ...from,
      expect: [{ contains: 'has no such call' }],
    };
    const { results } = await run(
      { cases: [{ ...ofRecord, ...from }, further] },
      { folder: `${folder}/second` },
    );
    expect(results.map(({ failures }) => failures)).toEqual([[], []]);
    expect(calls).toEqual(['look a']);
  });

  it('goes on after an event of a record, and repeats nothing that was done before it', async () => {
    const done = { name: 'a', record: 'a.json', messages: ['look a, look b'], expect: completes };
    await run({ cases: [done] }, { writesRecords: true });
    const record = await readFile(path.join(folder, 'a.json'), 'utf8');
    const { events } = (JSON.parse(record) as TaskFile).tasks[0]!;
    const at = 1 + events.findLastIndex(({ body }) => body.type === 'tool-result');
    const { messages: _, ...from } = { ...done, at };
    const goesOn = { ...from, name: 'b', expect: [{ contains: 'live a 1, live b 2' }, { turns: 1 }] };
    const asksMore = {
      ...{ ...from, name: 'c', messages: ['look c'] },
      expect: [{ order: ['fs_look', 'fs_look', 'fs_look'] }, { contains: 'live c 3' }, { turns: 2 }],
    };
    const cases = [goesOn, asksMore];
    const later = { folder: path.join(folder, 'later'), writesRecords: true };
    const { results } = await run({ cases }, later);
    expect(results.map(({ failures }) => failures)).toEqual([[], []]);
    expect(calls).toEqual(['look a', 'look b', 'look c']);
    expect(await readFile(path.join(folder, 'a.json'), 'utf8')).toBe(record);
    for (const file of await readdir(later.folder)) {
      const task = JSON.parse(await readFile(path.join(later.folder, file), 'utf8')) as TaskFile;
      expect((await replayTask(task)).divergence).toBeUndefined();
    }
  });

  it('sends every message after an event of a record, also of one that a live run made', async () => {
    const done = { name: 'a', record: 'a.json', messages: ['look a', 'look b'], expect: completes };
    await run({ cases: [done] }, { writesRecords: true });
    const { tasks } = JSON.parse(await readFile(path.join(folder, 'a.json'), 'utf8')) as TaskFile;
    const at = 1 + tasks[0]!.events.findLastIndex(({ body }) => body.type === 'tool-result');
    const more = { ...done, at, messages: ['look c', 'look d'], expect: [{ contains: 'live d 4' }] };
    const { results } = await run({ cases: [more] }, { folder: path.join(folder, 'later') });
    expect(results[0]!.failures).toEqual([]);
    expect(calls).toEqual(['look a', 'look b', 'look c', 'look d']);
  });

  it('asks a judge, whose answers are in the record, and are asked for once', async () => {
    const rubric = { judge: 'It names a.' };
    const one = { name: 'a', record: 'a.json', messages: ['look a'], expect: [rubric, { turns: 2 }] };
    const worse = {
      ...one,
      name: 'b',
      record: 'b.json',
      messages: ['look b'],
      expect: [{ ...rubric, not: true }],
    };
    const { results } = await run({ cases: [one, worse] }, { writesRecords: true });
    expect(results.map(({ failures }) => failures)).toEqual([[], []]);
    expect((await evaluate(file)).passed).toBe(true);

    const other = { cases: [{ ...one, expect: [{ judge: 'It is short.' }] }] };
    await writeFile(file, JSON.stringify(other));
    const [unasked] = (await evaluate(file)).results;
    expect(unasked!.failures).toEqual([expect.stringContaining('No judge has answered by this rubric yet')]);
    const model = obedient();
    const judged = await run(other, { model, judgesOnly: true, folder: `${folder}/judged` });
    expect([judged.passed, model.requests.length]).toEqual([true, 1]);
    expect((await evaluate(file)).passed).toBe(true);
    expect(calls.toSorted()).toEqual(['look a', 'look b']);
  });

  it('begins nothing once the budget is spent', async () => {
    const prices = { scripted: { input: 1_000_000, output: 1_000_000 } };
    const one = { messages: ['look a'], expect: completes };
    const cases = [
      { ...one, name: 'a' },
      { ...one, name: 'b' },
    ];
    const { results } = await run({ cases }, { settings: { ...settings, prices }, budget: 0.5, parallel: 1 });
    expect(results[1]).toMatchObject({
      passed: false,
      failures: [expect.stringMatching(/limit-cost|is spent/)],
    });
    expect(calls).toEqual([]);
  });

  it('counts the money of a run that goes on, also of cases that it no longer has', async () => {
    const prices = { scripted: { input: 1_000_000, output: 1_000_000 } };
    const paid = { settings: { ...settings, prices }, parallel: 1 };
    const [one, other] = ['look a', 'look b'].map((name) => ({ name, messages: [name], expect: completes }));
    const { results } = await run({ cases: [one] }, paid);
    const budget = results[0]!.cost!;
    expect(await run({ cases: [one] }, { ...paid, budget })).toEqual({ passed: true, results });
    const [unpaid] = (await run({ cases: [other] }, { ...paid, budget })).results;
    expect(unpaid!.failures).toEqual([expect.stringContaining('is spent; this case was not run')]);
    expect(calls).toEqual(['look a']);
  });
});

describe('lango eval --live', () => {
  let vendor: Server;
  let home: string;
  /** The model of each request, and the house rules that it had. */
  let asked: { readonly model: string; readonly rules: boolean }[];
  /** Runs when a request arrives, before it is answered. */
  let before: () => void;

  beforeAll(async () => {
    const answer = openaiWire.answer({ texts: ['Done.'], stop: 'end' });
    const respond = async (request: IncomingMessage, response: ServerResponse) => {
      const body = JSON.parse(await readAll(request)) as { model: string };
      asked.push({ model: body.model, rules: JSON.stringify(body).includes('Be brief.') });
      before();
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(answer);
    };
    vendor = createServer((request, response) => void respond(request, response));
    vendor.listen(0, '127.0.0.1');
    await once(vendor, 'listening');
  });

  afterAll(() => void vendor.close());

  beforeEach(async () => {
    asked = [];
    before = () => {};
    home = path.join(folder, 'home');
    const { port } = vendor.address() as AddressInfo;
    const model = {
      provider: 'openai',
      name: 'first',
      baseUrl: `http://127.0.0.1:${port}/v1`,
      apiKey: 'sk-x',
    };
    const config = {
      model,
      agent: { multiAgent: false },
      ...withoutTools(),
      egress: { allowPrivate: [`127.0.0.1:${port}`] },
    };
    await writeFile(path.join(folder, 'config.yaml'), JSON.stringify(config), { mode: 0o600 });
  });

  const args = (...more: string[]) => [
    ...['eval', file, '--live', '--config', path.join(folder, 'config.yaml'), '--home', home, ...more],
  ];

  it('names the file of rules that is not there', async () => {
    const one = { name: 'a', messages: ['Hello'], expect: [{ equals: 'Done.' }] };
    await writeFile(file, JSON.stringify({ instructions: ['gone.md'], cases: [one] }));
    const { code, stderr } = await langoHere(args());
    expect([code, stderr]).toEqual([1, expect.stringMatching(/file of rules .*gone.md cannot be read/)]);
    expect(asked).toEqual([]);
  });

  it('compares models and instructions, and repeats each', async () => {
    await writeFile(path.join(folder, 'brief.md'), 'Be brief.');
    await writeFile(path.join(folder, 'plain.md'), 'No rules.');
    const one = { name: 'a', messages: ['Hello'], expect: [{ equals: 'Done.' }] };
    const matrix = {
      models: ['first', { name: 'second' }],
      instructions: ['brief.md', 'plain.md'],
      repeats: 2,
    };
    await writeFile(file, JSON.stringify({ ...matrix, cases: [one] }));
    const { code, stdout } = await langoHere(
      args('--json', '--run', 'x', '--parallel', '2', '--junit', `${folder}/junit.xml`),
    );
    const xml = await readFile(`${folder}/junit.xml`, 'utf8');
    expect(new Set(xml.match(/ name="a [^"]+"/g)).size).toBe(8);
    const { results, run: name } = JSON.parse(stdout) as {
      results: { model: string; repeat: number }[];
      run: string;
    };
    expect([code, name]).toEqual([0, 'x']);
    expect(results.map(({ model, repeat }) => `${model} ${repeat}`)).toEqual([
      'first 1',
      'first 2',
      'first 1',
      'first 2',
      'second 1',
      'second 2',
      'second 1',
      'second 2',
    ]);
    const seen = Map.groupBy(asked, ({ model, rules }) => `${model} ${rules}`);
    expect(await langoHere(args('--run', 'x'))).toMatchObject({ code: 0 });
    expect(asked).toHaveLength(8);
    expect([...seen].map(([name, all]) => `${name} ${all.length}`).sort()).toEqual([
      'first false 2',
      'first true 2',
      'second false 2',
      'second true 2',
    ]);
  });

  /** Three starts of the real program take seconds. */
  const inCampaigns = process.env['LANGO_CAMPAIGN'] ? it : it.skip;
  inCampaigns('goes on after a kill with the same run, and asks for no answer twice', async () => {
    const names = ['a', 'b', 'c', 'd'];
    await writeFile(
      file,
      JSON.stringify({ cases: names.map((name) => ({ name, messages: [name], expect: completes })) }),
    );
    const start = () =>
      spawn(process.execPath, [mainFile(), ...args('--run', 'x', '--parallel', '1')], { env: cleanEnv() });
    const child = start();
    const gone = ended(child);
    before = () => void (asked.length === 3 && child.kill('SIGKILL'));
    await gone;
    expect(asked).toHaveLength(3);
    expect(
      (await readdir(path.join(home, 'evals', 'x'))).filter((name) => name.endsWith('.json')),
    ).toHaveLength(2);
    const again = await ended(start());
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('4 of 4 cases passed.')]);
    // The answer to the third was on its way when the program was killed.
    expect(asked).toHaveLength(5);
    expect(await langoHere(args('--run', 'x'))).toMatchObject({ code: 0 });
    expect(asked).toHaveLength(5);
    expect((await readdir(path.join(home, 'evals', 'x'))).filter((name) => !name.endsWith('.json'))).toEqual(
      [],
    );
  });

  inCampaigns('goes on after a kill with the task that it began after an event', async () => {
    const one = { name: 'a', record: 'a.json', messages: ['Hello'], expect: completes };
    await writeFile(file, JSON.stringify({ cases: [one] }));
    expect(await langoHere(args('--record'))).toMatchObject({ code: 0 });
    const { messages: _, ...from } = { ...one, at: 1 };
    await writeFile(file, JSON.stringify({ cases: [from] }));
    asked = [];
    const start = () => spawn(process.execPath, [mainFile(), ...args('--run', 'x')], { env: cleanEnv() });
    const child = start();
    const gone = ended(child);
    before = () => void (asked.length === 1 && child.kill('SIGKILL'));
    await gone;
    expect(await ended(start())).toMatchObject({ code: 0 });
    // A second task would have asked too.
    expect(asked).toHaveLength(2);
  });

  it('leaves runs that the server of the data folder shows, compares, and opens the tasks of', async () => {
    const write = (equals: string) =>
      writeFile(
        file,
        JSON.stringify({ cases: [{ name: 'a', messages: ['Hello'], expect: [{ equals }] }], repeats: 2 }),
      );
    await write('Done.');
    await langoHere(args('--run', 'first'));
    await write('Gone.');
    await langoHere(args('--run', 'second'));
    await mkdir(path.join(home, 'evals', 'open'));
    await writeFile(path.join(home, 'evals', 'open', 'a.json'), '{}');
    const server = await startServer({ home, settings, model: obedient() });
    const read = async (at: string, init?: RequestInit) =>
      (await server.fetch(`/lango/evaluations${at}`, init)).json();

    const { runs, currency } = (await read('')) as Evaluations;
    const figures = { file, cases: 1, results: 2, tasks: 2 };
    expect([currency, runs]).toMatchObject([
      'USD',
      [
        { name: 'second', files: [{ ...figures, passed: 0 }] },
        { name: 'first', files: [{ ...figures, passed: 2 }] },
      ],
    ]);
    const run = (await read('/second')) as EvaluationRun;
    expect(run).toMatchObject({
      before: 'first',
      changes: [{ change: 'unclear', before: [2, 2], now: [0, 2] }],
    });
    expect(run.results[1]!.failures).toEqual([expect.stringContaining('Gone.')]);
    expect(await read('/first')).toMatchObject({ changes: [] });
    const open = { method: 'POST', body: '{"result":1}' };
    const made = (await read('/second/tasks', open)) as { taskId: string; agent: string };
    expect(await read('/second/tasks', open)).toEqual(made);
    const task = await server.client.get(made);
    expect(JSON.stringify(task.history)).toContain('Hello');
    for (const strange of ['/open', '/..%2Fevals%2Ffirst', '/%2e%2e'])
      expect(await read(strange)).toMatchObject({ error: {} });
    await server.stop();
  });

  it('refuses flags of a live run without --live', async () => {
    expect(await langoHere(['eval', file, '--budget', '1'])).toMatchObject({ code: 2 });
  });
});
