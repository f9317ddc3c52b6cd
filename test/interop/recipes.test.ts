import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Part, textOf, textPart } from '../../src/core/message.js';
import type { Run, RunEnd } from '../../src/core/run.js';
import { type AgentClient, type ClientEvent, connect } from '../../src/index.js';
import { toolNamed } from '../support/agent-fixtures.js';
import { Obedient } from '../support/obedient-model.js';
import { PushReceiver } from '../support/push-receiver.js';
import { followOrders, scriptedAgent } from '../support/scripted-agent.js';
import type { TestServer } from '../support/server.js';
import { beginTask, decide, sendText, startServer, untilEnded } from '../support/server.js';
import { record } from './cell.js';
import type { Lines } from './line-peer.js';
import { Lock } from './lock.js';
import { RecipePrograms, type ServedAgent } from './recipe-programs.js';
import { RECIPES, type RecipeOperation, type RecipeRole } from './recipes.js';

/** The recipes of docs/guides/agents-of-other-frameworks.md, run exactly as printed, with scripted models. */

describe.each(RECIPES)('$name', (recipe) => {
  const programs = new RecipePrograms(recipe);
  if (!programs.areInstalled) {
    console.warn(
      `SKIPPED: ${recipe.name} is not installed: .ci/frameworks FOLDER all, LANGO_TEST_FRAMEWORKS=FOLDER`,
    );
    it.skip('this framework is not installed', () => undefined);
    return;
  }
  beforeAll(() => programs.open());
  afterAll(() => programs.close());

  /** A test of one cell of the page. It must fail where the framework has a known fault. */
  const cell = (role: RecipeRole, operation: RecipeOperation, run: () => Promise<void>): void => {
    const row = { peer: recipe.name, peerVersion: programs.version, role, operation };
    const { faults, without } = recipe.roles[role];
    const why = faults?.[operation];
    const missing = without?.[operation];
    if (missing !== undefined) {
      record({ peer: recipe.name, role: 'any', why: missing });
      return;
    }
    const tested = why === undefined ? it : it.failing;
    tested(
      operation,
      async () => {
        if (why !== undefined) record({ ...row, why });
        await run();
        if (why === undefined) record({ ...row, works: true });
      },
      // A known fault may be that no response arrives.
      why === undefined ? undefined : 30_000,
    );
  };

  describe('as a sub-agent of Lango', () => {
    const test = (operation: RecipeOperation, run: () => Promise<void>): void =>
      cell('as a sub-agent of Lango', operation, run);
    let served: ServedAgent;
    let server: TestServer;
    let client: AgentClient;
    let lock: Lock;
    beforeAll(async () => {
      served = await programs.serve();
      const { url } = served;
      client = connect({ url });
      lock = await Lock.open(url);
      const remoteAgents = [
        { name: 'clerk', url, allowPrivate: true },
        { name: 'locked', url: lock.url, allowPrivate: true, relocate: true, token: lock.token },
      ];
      const a2a = { enabled: true, remoteAgents };
      server = await startServer({ model: new Obedient(), settings: { server: { port: 0 }, a2a } });
      await server.log.saying('"agent joined","agent":"clerk"');
    });
    afterAll(async () => {
      await server?.stop();
      await lock?.close();
      await served?.stop();
    });
    const order = (request: string, agent = 'clerk'): string =>
      `transfer_to_agent ${JSON.stringify({ agent_name: agent, request })}`;
    const sendParts = async (to: AgentClient, parts: readonly Part[]): Promise<readonly ClientEvent[]> => {
      const events: ClientEvent[] = [];
      for await (const event of to.send({ parts }, AbortSignal.timeout(100_000))) events.push(event);
      return events;
    };
    /** The id of a completed task. */
    const doneTask = async (): Promise<string> => {
      const events = await sendParts(client, [textPart('say hello')]);
      return events.find((event) => event.type === 'task')!.taskId;
    };

    test('card', async () => {
      expect(await client.card()).toMatchObject({ name: expect.any(String) });
      expect(server.log.lines.join()).toMatch(/"agent joined","agent":"clerk"/);
    });
    test('send', async () => {
      const { end } = await sendText(server, order('say hello'));
      expect(end).toMatchObject({ state: 'completed', text: expect.stringContaining(recipe.answer) });
    });
    test('stream', async () => {
      const events = await sendParts(client, [textPart('say hello')]);
      expect(events.at(-1)).toMatchObject({
        state: 'completed',
        text: expect.stringContaining(recipe.answer),
      });
      expect(events.filter(({ type }) => type === 'text-delta').length).toBeGreaterThan(1);
    });
    test('two at once', async () => {
      const asked = ['say one', 'say two'].map((request) => sendText(server, order(request)));
      const ends = (await Promise.all(asked)).map(({ end }) => end.text);
      expect(ends.map((said) => /say (one|two)/.exec(said)?.[1])).toEqual(['one', 'two']);
    });
    test('ask', async () => {
      const asked = await sendText(server, order('question'));
      expect(asked.end).toMatchObject({
        state: 'input-required',
        text: expect.stringContaining('which colour?'),
      });
      const { end } = await sendText(server, 'deep blue', { taskId: asked.taskId });
      expect(end).toMatchObject({ state: 'completed', text: expect.stringMatching(/got: .*deep blue/) });
    });
    test('approve', async () => {
      for (const [word, wanted] of [
        ['approve', /wiped/],
        ['deny', /rejected|denied|not approved/],
      ] as const) {
        const asked = await sendText(server, order('wipe'));
        expect(asked.end).toMatchObject({ state: 'input-required', questions: [{ tool: 'wipe' }] });
        const { end } = await decide(server, asked, { decision: word });
        expect(end).toMatchObject({ state: 'completed', text: expect.stringMatching(wanted) });
      }
    });
    test('follow-up', async () => {
      const { taskId } = await sendText(server, order('say something memorable'));
      const { contextId } = await server.client.get({ taskId });
      const { end } = await sendText(server, order('recall'), { contextId });
      expect(end.text).toMatch(/heard: .*something memorable/);
    });
    test('get', async () => {
      const task = await client.get({ taskId: await doneTask() });
      expect(task).toMatchObject({ state: 'completed' });
      const answers = [...task.artifacts, ...task.history.filter(({ role }) => role === 'agent')];
      // The text of the task is that of its last state, which may hold the answer.
      const text = textOf(answers.flatMap(({ parts }) => parts)) + task.text;
      expect(text.replaceAll('\n', '')).toContain(recipe.answer);
    });
    test('list', async () => {
      const taskId = await doneTask();
      expect((await client.list({})).tasks.map(({ id }) => id)).toContain(taskId);
    });
    test('file in', async () => {
      const file = {
        kind: 'file',
        bytes: btoa('buy milk'),
        mediaType: 'text/plain',
        filename: 'notes.txt',
      } as const;
      const events = await sendParts(server.client, [textPart(order('read')), file]);
      expect(events.at(-1)).toMatchObject({ text: expect.stringMatching(/buy milk|YnV5IG1pbGs=/) });
    });
    test('file out', async () => {
      const { events } = await sendText(server, order('file'));
      const parts = events.flatMap((event) => (event.type === 'artifact' ? event.artifact.parts : []));
      expect(parts).toContainEqual(
        expect.objectContaining({ bytes: btoa('buy milk'), mediaType: 'text/plain' }),
      );
    });
    test('errors', async () => {
      const { end } = await sendText(server, order('fail'));
      expect(end.state).toBe('completed');
      expect(end.text).toMatch(/fail|error|away/i);
      expect(end.text).not.toContain('did: fail');
    });
    test('unknown task', async () => {
      await expect(client.get({ taskId: '00000000-0000-4000-8000-000000000000' })).rejects.toMatchObject({
        code: 'not-found',
      });
    });
    test('auth', async () => {
      const { end } = await sendText(server, order('say hello', 'locked'));
      expect(end.text).toContain(recipe.answer);
      expect(lock.calls).toBeGreaterThan(0);
    });
    // This test is the last one: an agent that runs one task at a time may be busy afterwards.
    test('cancel', async () => {
      const taskId = await beginTask(server, order('wait'));
      await delay(1_000);
      await server.client.cancel({ taskId });
      expect((await untilEnded(server, taskId)).state).toBe('canceled');
      const { end } = await sendText(server, order('say hello'));
      expect(end.text).toContain(recipe.answer);
    });
  });

  describe('with Lango as its sub-agent', () => {
    const test = (operation: RecipeOperation, run: () => Promise<void>): void =>
      cell('with Lango as its sub-agent', operation, run);
    const written: string[] = [];
    let server: TestServer;
    let toOperator: Lines;
    let toWorker: Lines;
    beforeAll(async () => {
      const write = async (file: string) => {
        if (file === 'full') throw new Error('the disk is full');
        written.push(file);
        return { content: `${file} is written` };
      };
      const tools = [
        toolNamed('exec_write', { execute: write }),
        toolNamed('exec_wipe', { execute: write, effect: 'unsafe', danger: () => 'dangerous' }),
      ];
      const agents = [scriptedAgent('worker', readOrFollow)];
      const settings = {
        server: { port: 0 },
        a2a: { publish: ['operator', 'worker'], push: { textSeconds: 0.01 } },
        egress: { allowPrivate: ['127.0.0.1'] },
      };
      server = await startServer({ model: new Obedient(), tools, agents, settings });
      toOperator = await use('operator');
      toWorker = await use('worker');
    });
    afterAll(async () => {
      await toOperator?.[Symbol.asyncDispose]();
      await toWorker?.[Symbol.asyncDispose]();
      await server.stop();
    });

    const use = (agent: string, token = server.address.token!): Promise<Lines> =>
      programs.use(`${server.address.origin}/agents/${agent}`, token);

    test('card', async () => {
      expect(await toWorker.do('card')).toMatchObject({ name: 'worker' });
    });
    test('send', async () => {
      const { answer } = await toOperator.do('say', { text: 'exec_write {"path":"one"}', session: 'send' });
      expect(answer).toContain('one is written');
      expect(written).toEqual(['one']);
    });
    test('stream', async () => {
      const { answer, pieces } = await toWorker.do('stream', { text: 'chunks 3' });
      expect(answer?.replaceAll('\n', '')).toBe('<0><1><2>');
      expect(pieces).toBeGreaterThan(2);
    });
    test('two at once', async () => {
      const { answers } = await toWorker.do('both', { texts: ['say one', 'say two'] });
      expect(answers).toEqual(['one', 'two']);
    });
    test('ask', async () => {
      const session = 'ask';
      expect((await toWorker.do('tell', { text: 'ask', session })).answer).toContain('what shall I say?');
      const { answer } = await toWorker.do('tell', { text: 'say yes', session });
      expect(answer).toBe('yes');
    });
    test('approve', async () => {
      const { answer } = await toOperator.do('say', { text: 'exec_wipe {"path":"two"}', session: 'approve' });
      expect(answer).toMatch(/approve \w{4}/);
      expect(written).not.toContain('two');
    });
    test('follow-up', async () => {
      const session = 'follow-up';
      const { answer: first } = await toWorker.do('tell', { text: 'context', session });
      expect(first).toMatch(/\w{8}/);
      expect((await toWorker.do('tell', { text: 'context', session })).answer).toBe(first);
    });
    test('cancel', async () => {
      expect(await toWorker.do('cancel', { text: 'wait' })).toMatchObject({ answer: 'canceled' });
    });
    test('get', async () => {
      expect((await toWorker.do('get', { text: 'say hello' })).answer).toContain('hello');
    });
    test('list', async () => {
      expect(await toWorker.do('list')).toMatchObject({ answer: expect.any(String) });
    });
    test('file in', async () => {
      const { answer } = await toWorker.do('tell', {
        text: 'contents',
        session: 'in',
        file: btoa('buy milk'),
      });
      expect(answer).toBe('buy milk');
    });
    test('file out', async () => {
      const { files } = await toWorker.do('tell', { text: 'echo', session: 'out', file: btoa('buy milk') });
      expect(files).toEqual([btoa('buy milk')]);
    });
    test('errors', async () => {
      const { answer } = await toOperator.do('say', {
        text: 'exec_write {"path":"full"}',
        session: 'errors',
      });
      expect(answer).toContain('the disk is full');
      const { answer: refusal = '', error = '' } = await toWorker.do('say', {
        text: 'refuse',
        session: 'refuse',
      });
      expect(`${refusal}${error}`).toContain('not my work');
    });
    test('push', async () => {
      await using receiver = await PushReceiver.open();
      await toWorker.do('push', { text: 'say hello', url: receiver.url });
      await receiver.until((got) => /completed/i.test(got.at(-1)?.text ?? ''));
    });
    test('auth', async () => {
      await using stranger = await use('operator', 'wrong');
      const told = await stranger.do('say', { text: 'exec_write {"path":"three"}', session: 'auth' });
      expect(written).not.toContain('three');
      const said = `${told.answer ?? ''}${told.error ?? ''}${stranger.complaints}`;
      expect(said).toMatch(/401|unauthorized|unauthenticated|token|fail|error/i);
    });
  });
});

/**
 * Runs `followOrders`, and three orders more: "contents" returns the text of the file, "context" the id of the
 * conversation, "echo" the file.
 */
async function readOrFollow(run: Run, text: string): Promise<RunEnd> {
  // ADK adds the earlier messages below the order, and Mastra above it.
  const [order = ''] = text.split('\nuser: ').at(-1)!.split('\n');
  const [, file, ...others] = run.inputs.at(-1)!.message.parts;
  const answers: Readonly<Record<string, string>> = {
    contents: file?.kind === 'file' && 'bytes' in file ? atob(file.bytes) : 'no file',
    context: run.task.contextId,
  };
  if (order !== 'echo') return followOrders(run, order in answers ? `say ${answers[order]}` : order);
  run.emit({ type: 'artifact', artifact: { id: 'echo', parts: [file!, ...others] }, append: false });
  return { state: 'completed' };
}
