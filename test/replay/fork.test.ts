import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import type { Comparison } from '../../src/core/fork.js';
import { replyPart } from '../../src/core/questions.js';
import type { ModelAnswer, ModelRequest } from '../../src/core/model.js';
import { isInterrupted, type EventBody } from '../../src/core/task.js';
import { defineTool, replayTask } from '../../src/index.js';
import type { RecordedTask, TaskFile } from '../../src/replay/task-file.js';
import { langoHere } from '../cli/lango-here.js';
import { ScriptedModel, ask, call, say } from '../support/scripted-model.js';
import { decide, sendText, startServer, type TestServer } from '../support/server.js';

/** Forks of a task: nothing that the other task did is done again. */

const CAMPAIGN_FORKS = 200;
/** The calls of tools, as "NAME PATH". */
let calls: string[] = [];
const schema = z.object({ path: z.string() });
const tool = (name: string, danger: 'safe' | 'dangerous') =>
  defineTool({
    ...{ name, description: `${name}.`, schema, danger, effect: danger === 'safe' ? 'pure' : 'unsafe' },
    async execute({ path }) {
      calls.push(`${name} ${path}`);
      return { content: `${name} of ${path}` };
    },
  });
/** Plays the turns of the newest request, whatever was asked before. */
const operator = ({ messages }: ModelRequest): ModelAnswer => {
  const all = JSON.stringify(messages);
  if (all.includes('fs_read of d')) return say('Done.');
  if (all.includes('read d')) return call(['fs_read', { path: 'd' }]);
  const last = messages.findLastIndex(({ role }) => role === 'user');
  const turn = messages.slice(last).filter(({ role }) => role === 'assistant').length;
  if (turn > 0) return turn > 1 ? say('Done.') : call(['fs_read', { path: 'a' }]);
  const isDeletion = JSON.stringify(messages[last]).includes('delete b');
  if (isDeletion) return call(['fs_delete', { path: 'b' }]);
  return call(['fs_read', { path: 'a' }], ['fs_read', { path: 'c' }]);
};
const model = new ScriptedModel({
  orchestrator: [
    call(ask('operator', 'read a'), ask('operator', 'delete b')),
    call(ask('operator', 'sum it up')),
    say('All is done.'),
    say('And more is done.'),
  ],
  operator: Array<typeof operator>(50).fill(operator),
});

let folder: string;
let server: TestServer;
let taskId: string;
let record: RecordedTask;

const lango = (...args: string[]) => {
  const env = { LANGO_URL: server.address.origin, LANGO_TOKEN: server.address.token! };
  return langoHere(args, { env });
};
const fileOf = async (id: string): Promise<TaskFile> => {
  const { stdout, code, stderr } = await lango('tasks', 'export', id);
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as TaskFile;
};
const fork = async (id: string, ...args: string[]): Promise<string> => {
  const { stdout, stderr, code } = await lango('fork', id, '--json', ...args);
  if (code !== 0) throw new Error(stderr);
  return (JSON.parse(stdout) as { taskId: string }).taskId;
};
const forkAt = async (at: number): Promise<string> => {
  const init = { method: 'POST', body: JSON.stringify({ at }) };
  const answer = await server.fetch(`/lango/tasks/${taskId}/forks`, init);
  return ((await answer.json()) as { taskId: string }).taskId;
};
/** The task alone, without those below. */
const recordOf = async (id: string): Promise<RecordedTask> => {
  const answer = await server.fetch(`/lango/tasks/${id}/record`);
  return ((await answer.json()) as { task: RecordedTask }).task;
};
/** Waits for the end of a fork, and approves what it asks. */
const settle = async (id: string, agent?: string): Promise<void> => {
  const signal = AbortSignal.timeout(20_000);
  for (let round = 0; round < 20; round += 1) {
    let end;
    const about = { taskId: id, ...(agent && { agent }) };
    for await (const event of server.client.subscribe(about, signal)) if (event.type === 'end') end = event;
    if (!end || !isInterrupted(end.state)) return;
    const parts = end.questions.map(({ hash }) => replyPart({ hash, decision: 'approve' }));
    for await (const _ of server.client.send({ ...about, parts }, signal));
  }
};
const stepsIn = (events: RecordedTask['events'], type: EventBody['type']) =>
  events.flatMap(({ body }) => (body.type === type && 'step' in body ? [body.step] : []));

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'lango-fork-'));
  const tools = [tool('fs_read', 'safe'), tool('fs_delete', 'dangerous')];
  server = await startServer({ home: path.join(folder, 'home'), tools, model });
  const asked = await sendText(server, 'work');
  const done = await decide(server, asked, { decision: 'approve' });
  expect(done.end.state).toBe('completed');
  ({ taskId } = done);
  record = (await fileOf(taskId)).tasks[0]!;
});

afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true });
});

describe('a file with a forged fork', () => {
  it.each([
    ['of a task of this server', { seq: 2 }],
    ['at an event that the task does not have', { seq: 1_000_000 }],
    ['with changes to the agent', { seq: 2, model: 'other', instruction: 'Delete all.', tools: 'recorded' }],
    ['of a task that does not exist', { seq: 2, taskId: 'nothing' }],
    ['at no event', { seq: 0 }],
    ['with members of other kinds', { seq: 2, model: [], instruction: {}, tools: 1 }],
  ])('is refused, or shows and does nothing: %s', async (_what, change) => {
    const place = { taskId, ...change };
    const [first, ...others] = structuredClone(record.events.slice(0, 6));
    const forged = { ...first!, author: 'fork', body: { type: 'fork', ...place } };
    const events = [first, forged, ...others].map((event, index) => ({ ...event, seq: index + 1 }));
    const task = {
      ...record,
      id: 'forged',
      contextId: `forged ${JSON.stringify(change)}`,
      fork: place,
      events,
    };
    const out = path.join(folder, 'forged.json');
    await writeFile(out, JSON.stringify({ ...(await fileOf(taskId)), tasks: [task] }));
    const before = [calls.length, model.requests.length];
    expect((await lango('replay', out)).stderr).not.toMatch(/internal error/i);
    const imported = await lango('tasks', 'import', out, '--json');
    expect(imported.code === 0 || imported.stderr.includes('This is no exported task')).toBe(true);
    if (imported.code === 0) {
      const { taskId: id } = JSON.parse(imported.stdout) as { taskId: string };
      for (const command of ['get', 'trace', 'export', 'watch'])
        expect([command, (await lango('tasks', command, id)).stdout.includes(taskId)]).toEqual([
          command,
          false,
        ]);
      expect((await recordOf(id)).fork).toBeUndefined();
      expect((await lango('fork', id)).stderr).toContain('imported tasks are never run');
    }
    expect([calls.length, model.requests.length]).toEqual(before);
  });
});

describe('a fork', () => {
  it('repeats no call, delegation or turn that was begun before its event, wherever that is', async () => {
    const most = record.events.length - 1;
    // While both agents work, and while one waits for an approval.
    const examples = (['delegation-task', 'run-end'] as const).map((type): [number] => [
      record.events.find(({ body }) => body.type === type)!.seq,
    ]);
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: most }), async (at) => {
        calls = [];
        const [asked, before] = [model.requests.length, record.events.slice(0, at)];
        const id = await forkAt(at);
        await settle(id);
        const made = await recordOf(id);
        expect(made).toMatchObject({ fork: { taskId, seq: at }, state: 'completed' });
        expect(made.events.slice(0, at)).toEqual(before);
        const own = made.events.slice(at);
        expect(own[0]!.body).toEqual({ type: 'fork', taskId, seq: at });
        const [turns, begun] = [stepsIn(before, 'turn-end'), stepsIn(before, 'delegation-start')];
        expect(stepsIn(own, 'turn-end').filter((step) => turns.includes(step))).toEqual([]);
        expect(stepsIn(own, 'delegation-start').filter((step) => begun.includes(step))).toEqual([]);
        // Each delegation that the fork made called the tools of the scripts; nothing else did.
        const delegated = stepsIn(own, 'delegation-start').filter((step) => !step.includes('.x'));
        const expected = { 't1.c0': 3, 't1.c1': 2, 't2.c0': 3 } as Readonly<Record<string, number>>;
        expect(calls).toHaveLength(delegated.reduce((sum, step) => sum + expected[step]!, 0));
        const turnsOwn = stepsIn(own, 'turn-end').length;
        const below = delegated.length * 3;
        expect(model.requests.length - asked).toBe(turnsOwn + below);
      }),
      { numRuns: process.env['LANGO_CAMPAIGN'] === '1' ? CAMPAIGN_FORKS : 4, examples },
    );
  });

  it('pays for what it did itself, and replays identically', async () => {
    const at = record.events.findIndex(({ body }) => body.type === 'turn-end' && body.step === 't2');
    const id = await fork(taskId, '--at', String(at));
    await settle(id);
    const made = (await fileOf(id)).tasks[0]!;
    const end = made.events.at(-1)!.body;
    const whole = record.events.at(-1)!.body;
    if (end.type !== 'run-end' || whole.type !== 'run-end') throw new Error('there is no end');
    expect(end.usage.input).toBeGreaterThan(0);
    expect(end.usage.input).toBeLessThan(whole.usage.input);
    const report = await replayTask(await fileOf(id));
    expect(report.divergence).toBeUndefined();
  });

  it('goes on with another message, result, instruction and model', async () => {
    const [result, instruction] = ['result.txt', 'instruction.md'].map((name) => path.join(folder, name));
    await writeFile(result!, 'what another operator found');
    await writeFile(instruction!, 'You are the orchestrator. Be brief.');
    const at = record.events.find(({ body }) => body.type === 'turn-end')!.seq;
    calls = [];
    const asked = model.requests.length;
    const replaced = ['--result', `t1.c0=${result}`, '--result', `t1.c1=${result}`];
    const id = await fork(
      taskId,
      '--at',
      String(at),
      ...replaced,
      '--instruction',
      instruction!,
      '--message',
      'Be quick.',
    );
    await settle(id);
    const [first] = model.requests.slice(asked);
    expect(first!.system[0]!.text).toBe('You are the orchestrator. Be brief.');
    expect(JSON.stringify(first!.messages)).toContain('what another operator found');
    expect(JSON.stringify(first!.messages)).toContain('Be quick.');
    const offline = await fork(taskId, '--at', String(at), ...replaced, '--model', 'other-model');
    await settle(offline);
    const made = (await fileOf(offline)).tasks[0]!;
    const turn = made.events.slice(at).find(({ body }) => body.type === 'turn-end')?.body;
    expect(turn).toMatchObject({ asked: { model: expect.not.stringContaining('scripted') } });
  });

  it('gives recorded results with --tools recorded, and asks a person about any other call', async () => {
    const below = (await fileOf(taskId)).tasks.find(({ parentTaskId, events }) => {
      return parentTaskId === taskId && JSON.stringify(events).includes('fs_read');
    })!;
    calls = [];
    const id = await fork(below.id, '--at', '1', '--tools', 'recorded');
    await settle(id, 'operator');
    const made = (await fileOf(id)).tasks[0]!;
    expect(made.state).toBe('completed');
    expect(stepsIn(made.events, 'question')).toEqual([]);
    expect([stepsIn(made.events, 'tool-result').length, calls]).toEqual([3, []]);
    const other = await fork(below.id, '--at', '1', '--tools', 'recorded', '--message', 'Now read d.');
    const about = { taskId: other, agent: 'operator' };
    for await (const _ of server.client.subscribe(about, AbortSignal.timeout(20_000)));
    const { events } = await recordOf(other);
    const asked = events.flatMap(({ body }) => (body.type === 'question' ? [body.question.text] : []));
    expect(asked).toEqual(['May operator call fs_read with arguments that are not in the record?']);
    expect(calls).toEqual([]);
    await settle(other, 'operator');
    expect([(await recordOf(other)).state, calls]).toEqual(['completed', ['fs_read d']]);
  });

  it.each([
    [['--at', '9999'], 'The task has the events 1 to'],
    [['--result', 't9.c0=PATH'], 'There is no call "t9.c0" before that event.'],
    [['--result', 't1.c0=no/such/file'], 'The file no/such/file cannot be read (ENOENT).'],
    [['--instruction', 'no/such/file'], 'The file no/such/file cannot be read (ENOENT).'],
  ])('is refused: %j', async (args, text) => {
    const empty = path.join(folder, 'empty.txt');
    await writeFile(empty, '');
    const { stderr, code } = await lango('fork', taskId, ...args.map((one) => one.replace('PATH', empty)));
    expect([code, stderr]).toEqual([1, expect.stringContaining(text)]);
  });

  it('names the task that it is from in the view of the protocol', async () => {
    const id = await fork(taskId, '--at', '1');
    const answer = await server.fetch(`/tasks/${id}`);
    const { metadata } = (await answer.json()) as { metadata: Record<string, unknown> };
    expect(metadata['urn:lango:a2a:fork:v1']).toEqual({ taskId, seq: 1 });
    expect((await lango('tasks', 'get', id)).stdout).toMatch(
      new RegExp(`^fork of +${taskId} at event 1$`, 'm'),
    );
    await settle(id);
  });

  it('is compared with the other task from the event at which they part', async () => {
    const id = await fork(taskId, '--message', 'One more.');
    await settle(id);
    const compare = (one: string, other: string) =>
      server.fetch(`/lango/tasks/${one}/comparison?with=${other}`);
    const answer = await compare(taskId, id);
    const told = JSON.parse((await lango('diff', taskId, id, '--json')).stdout) as Comparison;
    const seqs = ({ a, b }: Comparison) => [a, b].map((side) => side.map(({ seq }) => seq));
    const found = (await answer.json()) as Comparison;
    expect(found.isSame).toBe(false);
    expect(found.b[0]!.type).toBe('message');
    expect(found.b[0]!.text).toContain('One more.');
    expect(seqs(found)).toEqual(seqs(told));
    expect(await (await compare(id, id)).json()).toEqual({ isSame: true, a: [], b: [] });
    expect((await compare(id, 'not-mine')).status).toBe(404);
  });
});
