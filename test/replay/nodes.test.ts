import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { defineTool, replayTask } from '../../src/index.js';
import type { TaskFile } from '../../src/replay/task-file.js';
import { startStockServer } from '../a2a/client/stock-server.js';
import { langoHere } from '../cli/lango-here.js';
import { cleanEnv, mainFile } from '../cli/lango-process.js';
import { freePort } from '../support/free-port.js';
import { ScriptedModel, ask, call, say } from '../support/scripted-model.js';
import { sendText, startServer, type TestServer } from '../support/server.js';

/** A task over three nodes as one file: an orchestrator, a second one of ours, and below it a server of the stock SDK. */

let stock: Awaited<ReturnType<typeof startStockServer>>;
let second: TestServer;
let front: TestServer;
let folder: string;
let out: string;
let file: TaskFile;
let reads = 0;

const read = defineTool({
  ...{ name: 'fs_read', description: 'Reads.', schema: z.object({ path: z.string() }), effect: 'pure' },
  execute: async ({ path: name }) => ({ content: `${name} was read ${(reads += 1)} times` }),
});
const atFront = new ScriptedModel({ orchestrator: [call(ask('second', 'do both')), say('Both are done.')] });
const atSecond = new ScriptedModel({
  orchestrator: [call(ask('operator', 'read it'), ask('painter', 'stream')), say('Read and painted.')],
  operator: [call(['fs_read', { path: 'a' }]), say('It is read.')],
});
const asked = () => [atFront.requests.length, atSecond.requests.length, reads, stock.executor.calls.length];

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'lango-nodes-'));
  stock = await startStockServer();
  const [port, frontPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const root = 'lango-orchestrator';
  second = await startServer({
    ...{ model: atSecond, tools: [read] },
    settings: {
      server: { port },
      auth: { nodes: [{ name: 'front', jwks: `http://127.0.0.1:${frontPort}/.well-known/jwks.json` }] },
      a2a: {
        ...{ enabled: true, baseUrl: url, publish: [root, 'operator'] },
        remoteAgents: [{ name: 'painter', url: stock.origin, allowPrivate: true, owners: 'shared' }],
      },
    },
  });
  const there = { name: 'second', url: `${url}/agents/${root}`, allowPrivate: true, audience: `${url}/` };
  front = await startServer({
    model: atFront,
    settings: {
      server: { port: frontPort },
      a2a: { enabled: true, publish: [root], remoteAgents: [{ ...there, owners: 'forward' }] },
    },
  });
  const { taskId, end } = await sendText(front, 'do both');
  expect(end.state).toBe('completed');
  out = path.join(folder, 'task.json');
  const env = { LANGO_URL: front.address.origin, LANGO_TOKEN: front.address.token! };
  expect(await langoHere(['tasks', 'export', taskId, '--out', out], { env })).toMatchObject({ code: 0 });
  file = JSON.parse(await readFile(out, 'utf8')) as TaskFile;
});

afterAll(async () => {
  await Promise.all([front.stop(), second.stop(), stock.close()]);
  await rm(folder, { recursive: true });
});

/** A network namespace of its own, which has no interface but a loopback one that is down. */
const ALONE = ['--user', '--map-root-user', '--net', '--'] as const;
const canBeAlone = spawnSync('unshare', [...ALONE, 'true']).status === 0;
if (!canBeAlone)
  console.warn('SKIPPED: the replay without interfaces, as no network namespace can be made here.');

describe('a task over three nodes, one of them a server of the stock SDK', () => {
  it('is one file: the tasks of our nodes, and that of the foreign agent as its caller saw it', () => {
    expect(file.tasks.map(({ agent }) => agent)).toEqual([
      ...['lango-orchestrator', 'lango-orchestrator', 'operator'],
    ]);
    expect(new Set(file.tasks.map(({ node }) => node.id)).size).toBe(2);
    const [, below] = file.tasks;
    const seen = stock.executor.calls[0]!.taskId;
    expect(file.elsewhere).toEqual([{ agent: 'painter', taskId: seen, parentTaskId: below!.id }]);
    expect(JSON.stringify(below)).toContain('one two three');
  });

  it('runs again without a difference while all three nodes are asked nothing', async () => {
    const before = asked();
    expect(before).toEqual([2, 4, 1, 1]);
    expect(await replayTask(file)).toMatchObject({ tasks: 3, divergence: undefined });
    expect(asked()).toEqual(before);
  });

  (canBeAlone ? it : it.skip)('runs again in a network namespace without interfaces', async () => {
    const args = [...ALONE, process.execPath, mainFile(), 'replay', out];
    const { stdout } = await promisify(execFile)('unshare', args, { env: cleanEnv() });
    const events = file.tasks.reduce((sum, { events: { length } }) => sum + length, 0);
    expect(stdout).toBe(`Identical: 3 tasks with ${events} events.\n`);
  });
});
