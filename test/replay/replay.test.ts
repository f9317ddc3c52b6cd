import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import type { Json } from '../../src/core/json.js';
import { isLangoError } from '../../src/core/errors.js';
import { defineTool, replayTask, type ModelProvider } from '../../src/index.js';
import { taskFileJsonSchema, type TaskFile } from '../../src/replay/task-file.js';
import { langoHere } from '../cli/lango-here.js';
import { scriptedAgent } from '../support/scripted-agent.js';
import { ScriptedModel, ask, call, say } from '../support/scripted-model.js';
import { decide, sendText, startServer, type Outcome, type TestServer } from '../support/server.js';

/** The export of a task with the tasks below it as one file, and its replay without models, tools and network. */

let calls = 0;
const schema = z.object({ path: z.string() });
const read = defineTool({
  name: 'fs_read',
  description: 'Reads.',
  schema,
  effect: 'pure',
  async execute({ path }, context) {
    calls += 1;
    context.progress?.('reading');
    const files = [{ kind: 'file', bytes: 'aGVsbG8=', filename: 'a.txt', mediaType: 'text/plain' } as const];
    return { content: `the private content of ${path}`, files };
  },
});
const remove = defineTool({
  name: 'fs_delete',
  description: 'Deletes.',
  schema,
  describe: ({ path }) => `delete ${path} for good`,
  async execute({ path }) {
    calls += 1;
    return { content: `deleted ${path}` };
  },
});
const break_ = defineTool({
  name: 'exec_break',
  description: 'Fails.',
  schema: z.object({}),
  effect: 'pure',
  async execute() {
    calls += 1;
    throw new Error('broken');
  },
});
const search = defineTool({
  name: 'search_web',
  description: 'Searches.',
  schema: z.object({ query: z.string() }),
  effect: 'pure',
  bringsOutside: true,
  execute: async ({ query }) => ({ content: `found ${query}` }),
});

/** Wrong arguments, an unknown function, arguments in another form, a failure, an approval, a question, and two at once. */
const model = new ScriptedModel({
  orchestrator: [
    call(ask('operator', 'do all of it'), ask('librarian', 'search at the same time')),
    call(ask('nobody', 'anything')),
    call(ask('operator', 'sum it up', true)),
  ],
  operator: [
    call(['fs_read', { file: 'a' }], ['fs_nothing', {}]),
    call(['fs_read', { path: 'a.txt' }], ['exec_break', {}], ['fs_delete', { path: 'old' }]),
    call(['ask_user', { question: 'And then?' }]),
    say('All done.'),
    say('In sum: done.'),
  ],
  librarian: [call(['search_web', { query: 'cats' }]), say('Cats sleep.')],
});

let home: string;
let folder: string;
let server: TestServer;
let done: Outcome;
let file: TaskFile;

const lango = (...args: string[]) => {
  const env = { LANGO_URL: server.address.origin, LANGO_TOKEN: server.address.token! };
  return langoHere(args, { env });
};

beforeAll(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'lango-replay-'));
  folder = await mkdtemp(path.join(tmpdir(), 'lango-replay-'));
  const own = scriptedAgent('own', async () => ({ state: 'completed', text: 'by hand' }));
  server = await startServer({ home, tools: [read, remove, break_, search], model, agents: [own] });
  const asked = await sendText(server, 'work on my private matter');
  expect(asked.end.state).toBe('input-required');
  const approved = await decide(server, asked, { decision: 'approve' });
  expect(approved.end.questions).toMatchObject([{ kind: 'input' }]);
  done = await decide(server, approved, { decision: 'approve', text: 'nothing more' });
  const out = path.join(folder, 'task.json');
  expect(await lango('tasks', 'export', done.taskId, '--out', out)).toMatchObject({ code: 0 });
  file = JSON.parse(await readFile(out, 'utf8')) as TaskFile;
});

afterAll(async () => {
  await server.stop();
  await rm(home, { recursive: true });
  await rm(folder, { recursive: true });
});

describe('the export of a task', () => {
  it('holds the task, the tasks below it, and their cards', () => {
    expect(done.end.state).toBe('completed');
    const agents = file.tasks.map(({ agent }) => agent);
    expect(agents).toEqual(['lango-orchestrator', 'operator', 'librarian', 'operator']);
    expect(file.tasks.slice(1).map(({ parentTaskId }) => parentTaskId)).toEqual(Array(3).fill(done.taskId));
    expect(Object.keys(file.cards).sort()).toEqual(['lango-orchestrator', 'librarian', 'operator']);
    expect(JSON.stringify(file.cards)).not.toContain('"signatures"');
    expect(file.elsewhere).toEqual([]);
  });

  it('has the same bytes each time, in a file and on standard output', async () => {
    const first = await lango('tasks', 'export', done.taskId);
    expect(first.stdout).toBe((await lango('tasks', 'export', done.taskId)).stdout);
    expect(first.stdout).toBe(await readFile(path.join(folder, 'task.json'), 'utf8'));
  });

  it('holds no text, argument, result or file with --no-content, and is then not replayed', async () => {
    const { stdout } = await lango('tasks', 'export', done.taskId, '--no-content');
    for (const text of ['private', 'a.txt', 'old', 'cats', 'aGVsbG8', 'nothing more', 'do all of it'])
      expect([text, stdout.includes(text)]).toEqual([text, false]);
    expect(stdout).toContain('"tool":"fs_delete"');
    await expect(replayTask(JSON.parse(stdout))).rejects.toMatchObject({ code: 'invalid-input' });
  });
});

describe('the replay of a task', () => {
  it('writes every event again, with no call of a tool or a model', async () => {
    const [tools, requests] = [calls, model.requests.length];
    const report = await replayTask(file);
    const events = file.tasks.reduce((sum, task) => sum + task.events.length, 0);
    expect(report).toEqual({ tasks: 4, events, taken: [], divergence: undefined });
    expect([calls, model.requests.length]).toEqual([tools, requests]);
    const { code, stdout } = await lango('replay', done.taskId);
    expect([code, stdout]).toEqual([0, `Identical: 4 tasks with ${events} events.\n`]);
  });

  it('takes the task of an agent without a model as it was recorded, and says so', async () => {
    const { taskId } = await sendText(server, 'go', { agent: 'own' });
    const { code, stdout, stderr } = await lango('replay', taskId);
    expect([code, stdout]).toEqual([0, 'Identical: 0 tasks with 0 events.\n']);
    expect(stderr).toContain(`no model was asked in it: task ${taskId}`);
  });

  it('needs no server, data folder or network for a file', async () => {
    const shown = await langoHere(['replay', path.join(folder, 'task.json'), '--json'], { env: {} });
    expect([shown.code, JSON.parse(shown.stdout)]).toMatchObject([0, { identical: true, tasks: 4 }]);
  });

  it.each<[string, string, readonly [Place, Json]]>([
    ['the key of a call', 'tool-call', [['tool-call', 'key'], '0'.repeat(64)]],
    ['a question', 'question', [['question', 'question', 'text'], '?']],
    ['a result', 'delegation-end', [['delegation-end', 'result', 'name'], 'x']],
    ['the end', 'run-end', [['run-end', 'state'], 'completed']],
    ['an answer without its calls', 'delegation-start', [['turn-end', 'content'], []]],
  ])(
    'names the first event that is another one now: %s',
    async (_what, type, [[changed, ...place], value]) => {
      const copy = structuredClone(file);
      const bodies = copy.tasks.flatMap(({ events }) => events.map(({ body }) => body));
      put(bodies.find((body) => body.type === changed) as unknown as Json, place, value);
      const { divergence } = await replayTask(copy);
      expect(divergence).toMatchObject({ taskId: expect.any(String), seq: expect.any(Number) });
      expect(divergence!.recorded).toMatchObject({ body: { type } });
      const out = path.join(folder, 'changed.json');
      await writeFile(out, JSON.stringify(copy));
      const shown = await lango('replay', out);
      expect(shown.code).toBe(1);
      expect(shown.stdout).toMatch(
        new RegExp(`^Differs: task ${divergence!.taskId} of [a-z-]+, event ${divergence!.seq}\\.\n`),
      );
    },
  );

  it('names an event that other limits change', async () => {
    const [first, ...others] = file.tasks;
    const strict = { ...file, tasks: [{ ...first, limits: { ...first!.limits, turns: 1 } }, ...others] };
    const { divergence } = await replayTask(strict);
    expect(divergence).toMatchObject({
      taskId: done.taskId,
      now: { body: { type: 'run-end', reason: 'limit-turns' } },
    });
  });
});

describe('the difference of two tasks', () => {
  it('is the first event at which they part, with both sides from there', async () => {
    const [task, ...below] = structuredClone(file).tasks;
    const start = task!.events.findIndex(({ body }) => body.type === 'delegation-start');
    const { body } = task!.events[start]!;
    Object.assign(body, { request: 'do half of it' });
    const half = path.join(folder, 'half.json');
    await writeFile(half, JSON.stringify({ ...file, tasks: [task, ...below] }));
    const whole = path.join(folder, 'task.json');
    const { code, stdout } = await langoHere(['diff', whole, half], { env: {} });
    expect(code).toBe(1);
    expect(stdout).toContain(`A  from event ${start + 1} on:`);
    expect(stdout).toMatch(/^A .*\n.*"request":"do all of it"[^]*\nB .*\n.*"request":"do half of it"/);
  });

  it('is none between a task and the same work of another one, whose ids, keys, times and costs are others', async () => {
    const text = await readFile(path.join(folder, 'task.json'), 'utf8');
    const other = path.join(folder, 'other.json');
    const ids = text.replace(/[0-9a-f]{64}/g, (key) => [...key].reverse().join(''));
    await writeFile(
      other,
      ids.replaceAll(done.taskId, crypto.randomUUID()).replaceAll('"input":10', '"input":11'),
    );
    const { code, stdout } = await langoHere(['diff', path.join(folder, 'task.json'), other], { env: {} });
    expect([code, stdout]).toEqual([0, 'Both did the same.\n']);
    expect((await langoHere(['replay', other], { env: {} })).code).toBe(1);
  });
});

describe('the import of a task', () => {
  let other: TestServer;
  const asked: string[] = [];
  const model: ModelProvider = {
    id: 'echo',
    async *stream({ messages }) {
      const text = `You said: ${JSON.stringify(messages.at(-1))}`;
      asked.push(text);
      yield { type: 'text', text };
      const usage = { input: 1, output: 1, cached: 0 };
      yield { type: 'end', answer: { content: [{ type: 'text', text }], stopReason: 'end', usage } };
    },
  };
  const there = (...args: string[]) => {
    const env = { LANGO_URL: other.address.origin, LANGO_TOKEN: other.address.token! };
    return langoHere(args, { env });
  };
  const importFile = async (value: unknown) => {
    const out = path.join(folder, 'import.json');
    await writeFile(out, JSON.stringify(value));
    const { code, stdout } = await there('tasks', 'import', out, '--json');
    return code === 0 ? (JSON.parse(stdout) as { taskId: string; tasks: number }) : undefined;
  };

  beforeAll(async () => {
    other = await startServer({ model });
  });
  afterAll(() => other.stop());

  it('shows the tasks on another server, marked, on no bill, and never runs them', async () => {
    const imported = (await importFile(file))!;
    expect(imported.tasks).toBe(4);
    expect(imported.taskId).not.toBe(done.taskId);
    expect(await importFile(file)).toEqual(imported);
    const shown = await there('tasks', 'watch', imported.taskId);
    expect(shown.stdout).toContain('Imported: task');
    expect(shown.stdout).toContain('In sum: done.');
    const trace = await there('tasks', 'trace', imported.taskId);
    expect(trace.stdout.match(/invoke_agent lango-orchestrator/g)).toHaveLength(4);
    expect((await there('bill')).stdout).toBe('No model was used yet.\n');
    expect(asked).toEqual([]);
    const again = JSON.parse((await there('tasks', 'export', imported.taskId)).stdout) as TaskFile;
    expect(again.tasks.map(({ agent }) => agent)).toEqual(file.tasks.map(() => 'lango-orchestrator'));
  });

  it('marks all of it as text from outside, and leads no conversation of this server on', async () => {
    const [, task] = file.tasks;
    const usage = { input: 1, output: 1, cached: 0 };
    const end = { seq: 13, at: 1, author: 'operator', body: { type: 'run-end', state: 'completed', usage } };
    const tasks = [{ ...task!, events: [...task!.events.slice(0, 12), end] }];
    expect(JSON.stringify(tasks)).not.toContain('fromOutside');
    const { taskId } = (await importFile({ ...file, tasks }))!;
    const { contextId } = await other.client.get({ taskId });
    expect(contextId).not.toBe(tasks[0]!.contextId);
    const isOutside = async ({ taskId: id }: Outcome) =>
      (await there('tasks', 'export', id)).stdout.includes('"fromOutside":true');
    expect(await isOutside(await sendText(other, 'and now?'))).toBe(false);
    expect(await isOutside(await sendText(other, 'and now?', { contextId }))).toBe(true);
    await expect(sendText(other, 'more', { taskId })).resolves.toMatchObject({ end: { state: 'failed' } });
  });

  it('ends a task that had not ended', async () => {
    const [first] = file.tasks;
    const cut = {
      ...first!,
      id: 'cut',
      contextId: 'cut',
      events: first!.events.slice(0, 6),
      state: 'working',
    };
    const { taskId } = (await importFile({ ...file, tasks: [cut] }))!;
    expect(await other.client.get({ taskId })).toMatchObject({ state: 'canceled' });
  });

  it('shows nothing that a file refers to: entries and tasks of this server', async () => {
    const mine = await sendText(other, 'my own secret words');
    const exported = JSON.parse((await there('tasks', 'export', mine.taskId)).stdout) as TaskFile;
    const { seq } = exported.tasks[0]!.events.find(({ body }) => body.type === 'text-delta')!;
    expect(JSON.stringify(exported.tasks[0]!.events[seq - 1])).toContain('secret words');
    const [task] = structuredClone(file).tasks;
    const events = task!.events.map(({ body, ...event }) => {
      const forged = structuredClone(body);
      if (forged.type === 'delegation-task') forged.taskId = mine.taskId;
      if (forged.type === 'message') Object.assign(forged.message, { referenceTaskIds: [mine.taskId] });
      return { ...event, body: { ...forged, from: [mine.taskId, seq, seq] } };
    });
    const { taskId } = (await importFile({ ...file, tasks: [{ ...task, events }] }))!;
    for (const command of ['watch', 'trace', 'export', 'get']) {
      const { code, stdout } = await there('tasks', command, taskId);
      const shows = [stdout.includes('secret words'), stdout.includes(mine.taskId)];
      expect([command, code, ...shows]).toEqual([command, 0, false, false]);
    }
  });

  it('refuses or shows whatever somebody made up', async () => {
    const places = placesIn(file.tasks[1]);
    const value = fc.constantFrom<Json>(null, '', -1, [], {}, 't1.c0', 'run-end', 'completed', [[]]);
    const change = fc.tuple(fc.nat(places.length - 1), value);
    let round = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
        const id = `made up ${(round += 1)}`;
        const task = { ...structuredClone(file.tasks[1]!), contextId: id } as unknown as Json;
        for (const [place, other] of changes) put(task, places[place]!, other);
        const imported = await importFile({ ...file, tasks: [task] });
        if (!imported) return;
        for (const command of ['get', 'trace', 'export', 'watch']) {
          const { code, stderr } = await there('tasks', command, imported.taskId);
          expect([command, code === 0 || command === 'watch', /internal error/i.test(stderr)]).toEqual([
            command,
            true,
            false,
          ]);
        }
      }),
      { numRuns: 25 },
    );
    expect((await there('tasks', 'list')).code).toBe(0);
  });
});

it('docs/reference/task-file.schema.json is up to date with the format (else: npm run schema)', async () => {
  const written = JSON.parse(await readFile('docs/reference/task-file.schema.json', 'utf8')) as object;
  expect(written).toEqual(JSON.parse(JSON.stringify(taskFileJsonSchema())));
});

describe('a file that somebody made up', () => {
  it('is refused, or replayed without effect: it never breaks the program', async () => {
    const before = calls;
    const places = placesIn(file);
    const made = fc.constantFrom<Json>(null, '', -1, [], {}, 't1.c0', 'run-end');
    const value = fc.oneof(fc.jsonValue() as fc.Arbitrary<Json>, made);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(places.length - 1), value), { minLength: 1, maxLength: 3 }),
        async (changes) => {
          const copy = structuredClone(file) as unknown as Json;
          for (const [place, other] of changes) put(copy, places[place]!, other);
          const report = await replayTask(copy).catch((error: unknown) => error);
          expect(isLangoError(report, 'invalid-input') || !(report instanceof Error)).toBe(true);
        },
      ),
      { numRuns: 100 },
    );
    expect(calls).toBe(before);
  });

  it('is refused when it is no JSON, of a later version, or holds a task twice', async () => {
    const wrong = path.join(folder, 'wrong.json');
    await writeFile(wrong, 'nothing');
    expect((await lango('replay', wrong)).stderr).toContain('is no JSON');
    await expect(replayTask({ ...file, version: 2 })).rejects.toThrow('version 2');
    await expect(replayTask({ ...file, tasks: [file.tasks[0], file.tasks[0]] })).rejects.toThrow('twice');
  });

  it('is refused when it holds a number of tokens that cannot be added to others', async () => {
    const [task] = structuredClone(file).tasks;
    const end = task!.events.find(({ body }) => body.type === 'turn-end')!;
    Object.assign(end.body, { usage: { input: 1, output: 1, cached: 1e300 } });
    await expect(replayTask({ ...file, tasks: [task] })).rejects.toThrow('usage.cached');
  });
});

type Place = readonly (string | number)[];

/** The paths of all values in a document. */
function placesIn(value: unknown, path: Place = []): readonly Place[] {
  if (typeof value !== 'object' || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, member]) => placesIn(member, [...path, key]))].filter(
    ({ length }) => length > 0,
  );
}

function put(document: Json, place: Place, value: Json): void {
  let at = document as Record<string | number, Json>;
  for (const key of place.slice(0, -1)) {
    const next = at[key];
    if (typeof next !== 'object' || next === null) return;
    at = next as Record<string | number, Json>;
  }
  at[place.at(-1)!] = value;
}
