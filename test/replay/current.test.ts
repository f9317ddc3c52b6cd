import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { defineTool } from '../../src/index.js';
import type { RequestReport } from '../../src/core/sent-request.js';
import type { TaskFile } from '../../src/replay/task-file.js';
import type { SentRequest } from '../../src/core/sent-request.js';
import { langoHere } from '../cli/lango-here.js';
import { ScriptedModel, ask, call, say } from '../support/scripted-model.js';
import { sendText, startServer, type TestServer } from '../support/server.js';

/** `lango replay --current`: what the models of a recorded task would be asked now. */

let calls = 0;
const tool = (name: string, description: string) =>
  defineTool({
    ...{ name, description, schema: z.object({ path: z.string() }), effect: 'pure' },
    execute: async ({ path }) => ({ content: `${name} ${path} ${(calls += 1)}` }),
  });
const model = new ScriptedModel({
  orchestrator: [call(ask('operator', 'read it')), say('It is read.')],
  operator: [call(['fs_read', { path: 'a' }], ['fs_size', { path: 'a' }]), say('Read.')],
});

let folder: string;
let file: string;
let task: TaskFile;
let first: TestServer;

const compare = async (server: TestServer, given = file) => {
  const env = { LANGO_URL: server.address.origin, LANGO_TOKEN: server.address.token! };
  const shown = await langoHere(['replay', given, '--current', '--json'], { env });
  return { ...(JSON.parse(shown.stdout) as RequestReport & { same: boolean }), code: shown.code };
};

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'lango-current-'));
  const tools = [tool('fs_read', 'Reads.'), tool('fs_size', 'Tells the size.')];
  first = await startServer({ home: path.join(folder, 'one'), tools, model });
  const { taskId, end } = await sendText(first, 'read a');
  expect(end.state).toBe('completed');
  const env = { LANGO_URL: first.address.origin, LANGO_TOKEN: first.address.token! };
  const { stdout } = await langoHere(['tasks', 'export', taskId], { env });
  file = path.join(folder, 'task.json');
  await writeFile(file, stdout);
  task = JSON.parse(stdout) as TaskFile;
});

afterAll(async () => {
  await first.stop();
  await rm(folder, { recursive: true });
});

it('records the model and the hash of each request, and asks nothing when it compares them', async () => {
  const asked = task.tasks.flatMap(({ events }) =>
    events.flatMap(({ body }) => (body.type === 'turn-end' ? [body.asked!] : [])),
  );
  expect(asked).toHaveLength(4);
  expect(new Set(asked.map(({ hash }) => hash)).size).toBe(4);
  expect(asked.map(({ functions }) => functions && Object.keys(functions))).toEqual([
    ['transfer_to_agent'],
    undefined,
    ['ask_user', 'decline_request', 'fs_read', 'fs_size'],
    undefined,
  ]);
  const [made, requests] = [calls, model.requests.length];
  expect(await compare(first)).toEqual({
    same: true,
    turns: 4,
    changed: [],
    unknown: 0,
    absent: [],
    code: 0,
  });
  expect([calls, model.requests.length]).toEqual([made, requests]);
});

it('names each turn that would be asked something else, with the parts that are others', async () => {
  const rules = path.join(folder, 'rules.md');
  await writeFile(rules, 'Be brief.');
  const tools = [tool('fs_read', 'Reads a file.'), tool('fs_list', 'Lists.')];
  const settings = { agent: { houseRulesFile: rules } };
  const second = await startServer({ home: path.join(folder, 'two'), tools, model, settings });
  const made = calls;
  const { changed, code } = await compare(second);
  await second.stop();
  const [root, operator] = task.tasks.map(({ id }) => id);
  expect([code, calls]).toEqual([1, made]);
  expect(changed.map(({ taskId, step }) => [taskId, step])).toEqual([
    [root, 't1'],
    [root, 't2'],
    [operator, 't1'],
    [operator, 't2'],
  ]);
  expect(changed[2]!.changes.filter(({ part }) => part !== 'instruction')).toEqual([
    { part: 'function', change: 'changed', name: 'fs_read', text: expect.stringContaining('Reads a file.') },
    { part: 'function', change: 'removed', name: 'fs_size' },
    { part: 'function', change: 'added', name: 'fs_list', text: expect.stringContaining('Lists.') },
  ]);
  const added = expect.arrayContaining([
    { part: 'instruction', change: 'added', name: expect.any(String), text: '# House rules\nBe brief.' },
  ]) as unknown;
  expect(changed[2]!.changes).toEqual(added);
});

it('shows what a model was sent in each turn: by parts, with sizes, and what the turn before did not have', async () => {
  const sent = model.requests.filter(({ functions }) => functions.some(({ name }) => name === 'fs_read'));
  const read = async (query: string) => {
    const { origin, token } = first.address;
    const path = `/lango/tasks/${task.tasks[1]!.id}/request${query}`;
    const response = await fetch(origin + path, { headers: { authorization: `Bearer ${token}` } });
    return (await response.json()) as SentRequest;
  };
  const made = [calls, model.requests.length];
  const last = await read('');
  expect(last).toMatchObject({ step: 't2', steps: ['t1', 't2'], match: 'same', gone: [] });
  expect(last.parts.filter(({ kind }) => kind === 'instruction').map(({ text }) => text)).toEqual(
    sent.at(-1)!.system.map(({ text }) => text),
  );
  expect(last.parts.filter(({ isNew }) => isNew).map(({ kind, name }) => [kind, name])).toEqual([
    ['message', 'operator'],
    ['message', 'result of fs_read'],
    ['message', 'result of fs_size'],
  ]);
  const now = Date.now();
  const clock = jest.spyOn(Date, 'now').mockReturnValue(now + 3 * 24 * 60 * 60 * 1_000);
  const { parts, match } = await read('?step=t1');
  clock.mockRestore();
  expect([match, parts.every(({ isNew }) => isNew)]).toEqual(['same', true]);
  expect(parts.find(({ name }) => name === 'fs_size')?.tokens).toBeGreaterThan(0);
  expect(await read('?step=t9')).toMatchObject({
    error: { message: expect.stringContaining('no turn "t9"') },
  });
  expect([calls, model.requests.length]).toEqual(made);
});

it('reads a file of a version that recorded no requests, and says how many turns it cannot compare', async () => {
  const old = structuredClone(task);
  for (const { body } of old.tasks.flatMap(({ events }) => events)) Reflect.deleteProperty(body, 'asked');
  const given = path.join(folder, 'old.json');
  await writeFile(given, JSON.stringify(old));
  expect(await compare(first, given)).toMatchObject({ turns: 0, changed: [], unknown: 4, code: 0 });
});

it('shows no value of a secret that was stored after the model was sent it', async () => {
  const { origin, token } = first.address;
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ value: 'Tells the size.', places: ['exec'] });
  const stored = await fetch(`${origin}/lango/secrets/size`, { method: 'PUT', headers, body });
  expect(stored.status).toBe(200);
  const response = await fetch(`${origin}/lango/tasks/${task.tasks[1]!.id}/request`, { headers });
  const { parts } = (await response.json()) as SentRequest;
  const { text } = parts.find(({ name }) => name === 'fs_size')!;
  expect(text).toContain('{{secret:size}}');
  expect(text).not.toContain('Tells the size.');
});
