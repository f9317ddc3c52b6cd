import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { langoHere } from '../cli/lango-here.js';
import { holdTime } from '../support/held-time.js';
import { scriptedModel, type ServerOptions } from '../../src/index.js';
import { sendText, startServer } from '../support/server.js';

/** The nightly comparison of tasks with the prompts of now. */

const DAY_MS = 86_400_000;

let home: string;

beforeAll(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'lango-drift-'));
  const server = await startServer({ home, ...options({}) });
  for (const text of ['one', 'two']) await sendText(server, text);
  await server.stop();
});

afterAll(() => rm(home, { recursive: true }));

function options(more: object): ServerOptions {
  const settings = { agent: { multiAgent: false, ...more }, evaluations: { sample: 1 } };
  return { settings, model: scriptedModel(() => 'Done.') };
}

/** Starts a server, lets a night pass, and waits until it has compared. */
async function night(given: ServerOptions): Promise<void> {
  using _held = holdTime();
  const server = await startServer({ home, ...given });
  jest.advanceTimersByTime(DAY_MS);
  await server.log.saying('compared tasks');
  await server.stop();
}

it('says how many tasks would be asked something else, and nothing of what they hold', async () => {
  expect(await langoHere(['eval', 'drift', '--home', home])).toMatchObject({
    stderr: expect.stringContaining('No night has been compared yet'),
  });
  const model = scriptedModel([]);
  await night({ ...options({}), model: { ...model, id: 'scripted' } });
  await night({ ...options({ houseRules: 'Be brief.' }), model });
  expect(model.requests).toEqual([]);
  const { stdout } = await langoHere(['eval', 'drift', '--home', home, '--json']);
  const { nights } = JSON.parse(stdout) as { nights: { changes: object[] }[] };
  expect(nights).toMatchObject([
    { tasks: 2, changedTasks: 2, turns: 2, changedTurns: 2 },
    { tasks: 2, changedTasks: 0, turns: 2, changedTurns: 0, changes: [] },
  ]);
  expect(nights[0]!.changes).toMatchObject([
    { what: expect.stringContaining('lango-agent: instruction'), turns: 2 },
  ]);
  expect(stdout).not.toMatch(/brief|one|two|Done/);
});

it('reads the tasks of owners who agreed, and of no others', async () => {
  const { model, settings } = options({});
  await night({ model: model!, settings: { ...settings, evaluations: { sample: 1, owners: ['somebody'] } } });
  const { stdout } = await langoHere(['eval', 'drift', '--home', home]);
  expect(stdout).toContain('0 of 0 tasks would be asked something else');
});
