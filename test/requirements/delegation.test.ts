import { describe, expect, it } from '@jest/globals';
import Database from 'better-sqlite3';
import { eventsIn, type EventRow } from '../../src/storage/event-rows.js';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { textPart } from '../../src/core/message.js';
import type { FunctionSpec, ModelAnswer, ModelProvider } from '../../src/core/model.js';
import { defineAgent, type ServerOptions } from '../../src/index.js';
import { langoHere } from '../cli/lango-here.js';
import { toolNamed } from '../support/agent-fixtures.js';
import { ScriptedModel, ask, call, resultsIn, say } from '../support/scripted-model.js';
import type { TestServer } from '../support/server.js';
import { doings, sendText, withServer } from '../support/server.js';

const BARE = { fs: { enabled: false }, exec: { enabled: false } };
type Settings = NonNullable<ServerOptions['settings']>;

const ONE_MILLION = { input: 1_000_000, output: 0, cached: 0 };

async function* of<Item>(item: Item): AsyncGenerator<Item> {
  yield item;
}

const TOOLS = ['exec_shell', 'search_web'].map((name) => toolNamed(name));

describe('D. Delegation', () => {
  it('D1 transfer_to_agent takes an enum of the exact names, and another name never ends the task', async () => {
    const model = new ScriptedModel({
      orchestrator: [call(ask('exec')), call(ask('operator')), say('done')],
      operator: [say('worked')],
    });
    await withServer({ tools: TOOLS, model }, async (server) => {
      const { end } = await sendText(server, 'work');
      expect(end.state).toBe('completed');
      const [first, second] = model.asked('orchestrator');
      expect(namesIn(first!.functions[0]!).sort()).toEqual(['librarian', 'operator', 'planner']);
      expect(resultsIn(second)[0]).toContain('Valid names: librarian, operator, planner.');
    });
  });

  it('D1 a model that keeps inventing names is corrected each time, and stopped by the limits', async () => {
    const invent = Array.from({ length: 10 }, (_, n) => call(ask(`stranger-${n}`)));
    const model = new ScriptedModel({ orchestrator: invent });
    const settings = { server: { port: 0 }, agent: { limits: { turns: 3 } } };
    await withServer({ tools: TOOLS, model, settings }, async (server) => {
      const { end } = await sendText(server, 'work');
      expect(end).toMatchObject({ state: 'failed', text: expect.stringContaining('agent.limits.turns') });
      expect(model.requests).toHaveLength(3);
      expect(resultsIn(model.requests[2])[0]).toContain('There is no agent named "stranger-1"');
    });
  });

  it('D2 A4 a delegation is a task of the sub-agent in the same context, live under its name', async () => {
    const model = new ScriptedModel({
      orchestrator: [call(ask('operator', 'read it')), say('all done')],
      operator: [call(['exec_shell', { path: 'x' }]), say('it says x')],
    });
    await withServer({ tools: TOOLS, model }, async (server) => {
      const outcome = await sendText(server, 'work', { contextId: 'talk-1' });
      expect(doings(outcome)).toEqual([
        'lango-orchestrator: delegation-start operator',
        'operator: tool-call exec_shell',
        'operator: tool-result exec_shell',
        'operator: text "it says x"',
        'lango-orchestrator: delegation-end operator',
      ]);
      const { tasks } = await server.client.list({ agent: 'operator' });
      expect(tasks).toMatchObject([{ contextId: 'talk-1', state: 'completed' }]);
      const message = await firstMessage(server, tasks[0]!.id);
      expect(JSON.stringify(message.metadata)).toContain(`"parentTaskId":"${outcome.taskId}"`);
    });
  });

  it('D2 the caller sees the activity of a sub-agent while it happens', async () => {
    const seen = Promise.withResolvers<void>();
    const execute = async () => {
      // The call ends only after the caller has seen it begin.
      await seen.promise;
      return { content: 'seen' };
    };
    const model = new ScriptedModel({
      orchestrator: [call(ask('operator')), say('done')],
      operator: [call(['exec_shell', { path: 'x' }]), say('worked')],
    });
    await withServer({ tools: [toolNamed('exec_shell', { execute })], model }, async ({ client }) => {
      const events = [];
      for await (const event of client.send({ parts: [textPart('work')] }, AbortSignal.timeout(100_000))) {
        events.push(event);
        if (event.type === 'activity' && event.activity.type === 'tool-call') seen.resolve();
      }
      expect(events.at(-1)).toMatchObject({ type: 'end', state: 'completed', text: 'done' });
    });
  });

  it('the bill has the usage of each agent, over a delegation and a restart, by the price of each kind of token', async () => {
    const usage = { input: 1_000_000, output: 100_000, cached: 200_000, written: 100_000 };
    const used = (answer: ModelAnswer): ModelAnswer => ({ ...answer, usage });
    const model = new ScriptedModel({
      orchestrator: [used(call(ask('operator'))), used(call(ask('operator'))), used(say('done'))],
      operator: [used(say('worked')), used(say('worked again'))],
    });
    const price = { input: 2, output: 10, cacheRead: 0.1, cacheWrite: 2.5 };
    const settings = {
      ...{ server: { port: 0 }, node: { name: 'loom' } },
      ...{ prices: { scripted: price }, agent: { limits: { tokens: 1e9 } } },
    };
    const home = await mkdtemp(path.join(tmpdir(), 'lango-bill-'));
    const bill = async (server: TestServer): Promise<unknown> => (await server.fetch('/lango/bill')).json();
    let first: unknown;
    await withServer({ home, tools: TOOLS, model, settings }, async (server) => {
      expect((await sendText(server, 'work')).end.state).toBe('completed');
      first = await bill(server);
      // 0.7 M plain, 0.2 M read, 0.1 M written and 0.1 M of output: 1.4 + 0.02 + 0.25 + 1 each.
      expect(first).toMatchObject({
        rows: [
          {
            agent: 'lango-orchestrator',
            model: 'scripted',
            input: 3e6,
            written: 3e5,
            currency: 'USD',
            cost: 8.01,
          },
          { agent: 'operator', model: 'scripted', input: 2e6, output: 2e5, cached: 4e5, cost: 5.34 },
        ],
      });
      const env = { LANGO_URL: server.address.origin, LANGO_TOKEN: server.address.token! };
      const shown = await langoHere(['bill', '--by', 'model'], { env });
      expect(shown.stdout).toBe('scripted  5,000,000 in, 500,000 out  13.3500 USD\n');
      const json = (await langoHere(['bill', '--by', 'agent', '--json'], { env })).stdout;
      expect(JSON.parse(json)).toMatchObject({ by: 'agent', bill: [{ cost: 8.01 }, { cost: 5.34 }] });
      const byNode = await langoHere(['bill', '--by', 'node'], { env });
      expect(byNode.stdout).toBe('loom  5,000,000 in, 500,000 out  13.3500 USD\n');
    });
    // Later changes of prices do not affect earlier cost.
    await withServer({ home, tools: TOOLS, model }, async (server) =>
      expect(await bill(server)).toEqual(first),
    );
    await rm(home, { recursive: true });
  });

  it('the bill lists an agent with a model of its own by the name and the price of that model', async () => {
    const stream = () => of({ type: 'end' as const, answer: { ...say('done'), usage: ONE_MILLION } });
    const own = { id: 'vendor/small', stream } as unknown as ModelProvider;
    const clerk = defineAgent({ name: 'clerk', description: 'Files.', instruction: 'You file.', model: own });
    const prices = { small: { input: 3, output: 0 }, scripted: { input: 5, output: 0 } };
    const settings = { server: { port: 0 }, prices, agent: { limits: { tokens: 1e9 } } };
    await withServer({ agents: [clerk], model: new ScriptedModel({}), settings }, async (server) => {
      expect((await sendText(server, 'file it', { agent: 'clerk' })).end.state).toBe('completed');
      const { rows } = (await (await server.fetch('/lango/bill')).json()) as { rows: unknown[] };
      expect(rows).toMatchObject([{ agent: 'clerk', model: 'vendor/small', input: 1e6, cost: 3 }]);
    });
  });

  it("the bill lists an agent of another node at that node's prices, also when the task is canceled", async () => {
    const usage = { input: 1_000, output: 0, cached: 0 };
    const used = (answer: ModelAnswer): ModelAnswer => ({ ...answer, usage });
    const far = new ScriptedModel({ operator: [used(call(['ask_user', { question: 'Go on?' }]))] });
    const near = new ScriptedModel({ orchestrator: [used(call(ask('operator')))] });
    const priced = (input: number): Settings => ({ prices: { scripted: { input, output: 0 } } });
    const node = {
      ...{ server: { port: 0 }, auth: { token: 'token-of-the-node-4f7a92' } },
      a2a: { publish: ['operator'] },
      ...priced(3),
    };
    await withServer({ tools: TOOLS, model: far, settings: node }, async ({ address }) => {
      const peer = { name: 'operator', url: address.origin, token: node.auth.token, allowPrivate: true };
      const a2a = { enabled: true, publish: ['lango-orchestrator'], remoteAgents: [peer] };
      const settings = { server: { port: 0 }, a2a, ...priced(2) };
      await withServer({ model: near, settings }, async (server) => {
        const { end, taskId } = await sendText(server, 'work');
        expect(end).toMatchObject({ state: 'input-required', text: 'Go on?' });
        await server.client.cancel({ taskId });
        const { rows } = (await (await server.fetch('/lango/bill')).json()) as { rows: { node: string }[] };
        expect(rows).toMatchObject([
          { agent: 'lango-orchestrator', input: 1_000, cost: 0.002 },
          { agent: 'operator', input: 1_000, cost: 0.003 },
        ]);
        expect(rows[0]!.node).not.toBe(rows[1]!.node);
      });
    });
  });

  it('the cost of a call is reserved before the call, and a sub-agent gets the remaining amount', async () => {
    const usage = { input: 1_000, output: 1_000, cached: 0 };
    const model = new ScriptedModel({
      orchestrator: [{ ...call(ask('operator')), usage }, say('done')],
      operator: [
        { ...call(['exec_shell', { path: 'x' }]), usage: { ...usage, output: 6_000 } },
        say('worked'),
      ],
    });
    const limits = { cost: 0.1, answerTokens: 8_000 };
    const settings = {
      server: { port: 0 },
      prices: { scripted: { input: 0, output: 10 } },
      agent: { limits },
    };
    await withServer({ tools: TOOLS, model, settings }, async (server) => {
      const { end, taskId } = await sendText(server, 'work');
      expect(model.requests.map(({ maxTokens }) => maxTokens)).toEqual([8_000, 8_000, 3_000, 2_995]);
      expect(end).toMatchObject({ state: 'completed', text: 'done' });
      const { tasks } = await server.client.list({ agent: 'operator' });
      const { metadata } = await firstMessage(server, tasks[0]!.id);
      const cost = { amount: 0.09, currency: 'USD' };
      expect(metadata).toMatchObject({ 'urn:lango:a2a:chain:v1': { parentTaskId: taskId, cost } });
    });
  });

  it('D3 delegations of one turn run in parallel', async () => {
    let arrived = 0;
    let both = () => {};
    const together = new Promise<void>((resolve) => (both = resolve));
    const meet = async () => {
      if ((arrived += 1) === 2) both();
      await together;
      return { content: 'met' };
    };
    const tools = ['exec_meet', 'search_meet'].map((name) => toolNamed(name, { execute: meet }));
    const model = new ScriptedModel({
      orchestrator: [call(ask('operator'), ask('librarian')), say('both done')],
      operator: [call(['exec_meet', { path: 'x' }]), say('one')],
      librarian: [call(['search_meet', { path: 'x' }]), say('two')],
    });
    await withServer({ tools, model }, async (server) => {
      // Each call waits for the other: in sequence, the first would time out.
      expect((await sendText(server, 'work')).end).toMatchObject({ state: 'completed', text: 'both done' });
      for (const agent of ['operator', 'librarian'])
        expect(resultsIn(model.asked(agent)[1])).toEqual(['met']);
    });
  });

  it('D4 a refusal has the state rejected, and the orchestrator delegates again, but not to the same agent', async () => {
    const model = new ScriptedModel({
      orchestrator: [call(ask('operator')), call(ask('operator')), call(ask('librarian')), say('found')],
      operator: [call(['decline_request', { reason: 'not an action' }])],
      librarian: [say('here it is')],
    });
    await withServer({ tools: TOOLS, model }, async (server) => {
      const { end } = await sendText(server, 'look it up');
      expect(end).toMatchObject({ state: 'completed', text: 'found' });
      const { tasks } = await server.client.list({ agent: 'operator' });
      expect(tasks).toMatchObject([{ state: 'rejected', text: 'not an action' }]);
      const asked = model.asked('orchestrator');
      expect(resultsIn(asked[1])[0]).toContain('not an action');
      expect(namesIn(asked[1]!.functions[0]!)).not.toContain('operator');
    });
  });

  it('D4 the orchestrator responds with what it has when all agents have refused', async () => {
    const refuse = (reason: string) => [call(['decline_request', { reason }])];
    const names = ['operator', 'librarian', 'planner'];
    const model = new ScriptedModel({
      orchestrator: [...names.map((name) => call(ask(name))), say('Nobody could.')],
      ...Object.fromEntries(names.map((name) => [name, refuse(`not for the ${name}`)])),
    });
    await withServer({ tools: TOOLS, model }, async (server) => {
      const { end, events } = await sendText(server, 'work');
      expect(end).toMatchObject({ state: 'completed', text: 'Nobody could.' });
      expect(model.asked('orchestrator').at(-1)!.functions).toEqual([]);
      const said = events.flatMap((event) => (event.type === 'text-delta' ? [event.text] : []));
      expect(said.join('')).toBe('Nobody could.');
    });
  });

  it.each([
    { key: 'toolCalls', limits: { toolCalls: 2 }, reason: 'toolCalls' },
    { key: 'turns', limits: { turns: 2 }, reason: 'turns' },
    { key: 'tokens', limits: { tokens: 20 }, reason: 'tokens' },
    { key: 'repeats', limits: { repeats: 1 }, reason: 'repeat' },
  ])('D5 agent.limits.$key ends an endless run in exactly one state', async ({ limits, reason }) => {
    const same = reason === 'repeat';
    const turns = Array.from({ length: 30 }, (_, n) => call(['exec_shell', { path: same ? 'x' : `x${n}` }]));
    const model = new ScriptedModel({ operator: turns });
    const settings = { server: { port: 0 }, tools: BARE, agent: { limits } };
    await withServer({ tools: TOOLS, model, settings }, async (server) => {
      const { end, events } = await sendText(server, 'go on', { agent: 'operator' });
      expect(end.state).toBe('failed');
      expect(end.text).toMatch(new RegExp(reason, 'i'));
      expect(model.requests.length).toBeLessThan(10);
      expect(events.filter(({ type }) => type === 'end')).toHaveLength(1);
    });
  });

  it('D5 agent.limits.seconds ends a run whose tool never returns', async () => {
    const execute = (_path: string, { signal }: { signal: AbortSignal }) =>
      new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))));
    const tools = [toolNamed('exec_wait', { execute, timeoutMs: () => 60_000 })];
    const model = new ScriptedModel({ operator: [call(['exec_wait', { path: 'x' }])] });
    const settings = { server: { port: 0 }, tools: BARE, agent: { limits: { seconds: 1 } } };
    await withServer({ tools, model, settings }, async (server) => {
      const { end } = await sendText(server, 'go', { agent: 'operator' });
      expect(end).toMatchObject({ state: 'failed' });
      expect(end.text).toMatch(/time limit/);
    });
  });

  it('D6 a final delegation costs the orchestrator one model call, and its output has the sub-agent as author', async () => {
    const model = new ScriptedModel({
      orchestrator: [call(ask('operator', 'go', true))],
      operator: [say('I did it')],
    });
    await withServer({ tools: TOOLS, model }, async (server) => {
      const { end, events } = await sendText(server, 'work');
      expect(end).toMatchObject({ state: 'completed', text: 'I did it' });
      expect(model.asked('orchestrator')).toHaveLength(1);
      const deltas = events.filter((event) => event.type === 'text-delta');
      expect(deltas.map(({ author }) => author)).toEqual(deltas.map(() => 'operator'));
      expect(deltas.length).toBeGreaterThan(0);
    });
  });

  it('D6 the output of a final delegation reaches the user while it is generated', async () => {
    const seen = Promise.withResolvers<void>();
    const scripted = new ScriptedModel({ orchestrator: [call(ask('operator', 'go', true))] });
    const model: ModelProvider = {
      id: 'slow',
      async *stream(request) {
        if (request.functions.some(({ name }) => name === 'transfer_to_agent')) {
          yield* scripted.stream(request);
          return;
        }
        yield { type: 'text', text: 'first ' };
        // The model continues only after the user has seen the text.
        await seen.promise;
        yield { type: 'text', text: 'second' };
        yield { type: 'end', answer: say('first second') };
      },
    };
    await withServer({ tools: TOOLS, model }, async ({ client }) => {
      const events = [];
      for await (const event of client.send({ parts: [textPart('work')] }, AbortSignal.timeout(100_000))) {
        events.push(event);
        if (event.type === 'text-delta' && event.text.includes('firs')) seen.resolve();
      }
      expect(events.at(-1)).toMatchObject({ state: 'completed', text: 'first second' });
    });
  });

  it("D7 a sub-agent sees the request, the user's message, and its own earlier work in the context", async () => {
    const model = new ScriptedModel({
      // The operator's history holds its own call and its own output.
      orchestrator: [
        call(ask('operator', 'first request', true)),
        say('never said'),
        call(ask('operator', 'second request', true)),
      ],
      operator: [say('first answer'), say('second answer')],
    });
    await withServer({ tools: TOOLS, model }, async (server) => {
      await sendText(server, 'my own words', { contextId: 'talk' });
      await sendText(server, 'and then', { contextId: 'talk' });
      const [, second] = model.asked('operator');
      const seen = JSON.stringify([second!.system, second!.messages]);
      for (const words of ['first request', 'first answer', 'second request', 'and then'])
        expect(seen).toContain(words);
      const other = JSON.stringify(model.asked('operator')[0]!.messages);
      expect(other).not.toContain('second request');
    });
  });

  it('D7 a grant that names tools keeps all others from running, also one delegation further down', async () => {
    const log: { tool: string; key: string; path: string }[] = [];
    const tools = ['exec_shell', 'exec_other'].map((name) => toolNamed(name, { log }));
    const model = new ScriptedModel({
      orchestrator: [call(ask('operator', 'go', true))],
      operator: [call(['exec_other', { path: 'x' }], ['exec_shell', { path: 'x' }]), say('done')],
    });
    await withServer({ tools, model }, async (server) => {
      const grant = { 'urn:lango:a2a:chain:v1': { tools: ['exec_shell'] } };
      const message = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'work' }], metadata: grant };
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } });
      const answer = await (await server.fetch('/', { method: 'POST', body })).json();
      expect(answer).toMatchObject({ result: { task: { status: { state: 'TASK_STATE_COMPLETED' } } } });
      expect(log.map(({ tool }) => tool)).toEqual(['exec_shell']);
    });
  });
});

describe('D. A malformed grant', () => {
  it('D7 does not raise a limit: the message is refused and nothing is stored', async () => {
    await withServer({ model: new ScriptedModel({}) }, async (server) => {
      const grant = { 'urn:lango:a2a:chain:v1': { tools: 'all' } };
      const message = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'work' }], metadata: grant };
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } });
      const answer = await (await server.fetch('/', { method: 'POST', body })).json();
      expect(answer).toMatchObject({ error: { code: -32602 } });
      expect((await server.client.list({})).totalSize).toBe(0);
    });
  });
});

describe('A. Authors', () => {
  it.each([
    { multiAgent: true, root: 'lango-orchestrator', speaker: 'orchestrator' },
    { multiAgent: false, root: 'lango-agent', speaker: 'flat' },
  ])(
    'A1 A3 multiAgent $multiAgent: output of the root agent is stored under $root, and keeps that author',
    async (mode) => {
      const { multiAgent, root, speaker } = mode;
      const model = new ScriptedModel({ [speaker]: [say('Hello!')] });
      const settings = { server: { port: 0 }, tools: BARE, agent: { multiAgent } };
      await withServer({ model, settings }, async (server) => {
        const { taskId, end } = await sendText(server, 'hi');
        expect(end.author).toBe(root);
        const task = await server.client.get({ taskId });
        expect(task.artifacts[0]?.metadata).toMatchObject({ 'urn:lango:a2a:author:v1': { author: root } });
      });
    },
  );

  it.each([
    { multiAgent: true, root: 'lango-orchestrator', speaker: 'orchestrator' },
    { multiAgent: false, root: 'lango-agent', speaker: 'flat' },
  ])('A1 A2 A3 multiAgent $multiAgent: a stored author stays, and a missing one is $root', async (mode) => {
    const { multiAgent, root, speaker } = mode;
    const home = await mkdtemp(path.join(tmpdir(), 'lango-authors-'));
    const model = new ScriptedModel({ [speaker]: [say('Hello!'), say('Yes?')] });
    const options = { home, model, settings: { server: { port: 0 }, tools: BARE, agent: { multiAgent } } };
    let taskId = '';
    await withServer(options, async (server) => {
      taskId = (await sendText(server, 'hi', { contextId: 'talk' })).taskId;
    });
    for (const stored of [null, 'lango-orchestrator', 'somebody']) {
      const database = new Database(path.join(home, 'lango.db'));
      const change = database.prepare(
        'UPDATE events SET body = ?, checksum = NULL WHERE task = ? AND seq = ?',
      );
      const rows = database.prepare<[], EventRow & { readonly task: number }>('SELECT * FROM events').all();
      for (const row of rows) {
        const lines = eventsIn(row).map(({ author, body }) => {
          const isSaid = /^\{"type":"(text-delta|turn-end)"/.test(body);
          return `[${JSON.stringify(isSaid ? stored : author)},${body}]`;
        });
        change.run(lines.join('\n'), row.task, row.seq);
      }
      database.close();
      await withServer(options, async (server) => {
        const author = stored ?? root;
        const task = await server.client.get({ taskId });
        expect(task.artifacts[0]?.metadata).toMatchObject({ 'urn:lango:a2a:author:v1': { author } });
        // The model gets the same names in the conversation so far.
        await sendText(server, 'and?', { contextId: 'talk' });
        const said = model.requests.at(-1)!.messages.find(({ role }) => role === 'assistant');
        expect(said).toMatchObject({ author });
      });
    }
    await rm(home, { recursive: true });
  });

  it('A4 two agents that speak one after the other stay two messages, each with its author', async () => {
    const model = new ScriptedModel({
      orchestrator: [call(ask('operator')), call(ask('librarian')), say('both')],
      operator: [say('from operator')],
      librarian: [say('from librarian')],
    });
    await withServer({ tools: TOOLS, model }, async (server) => {
      const { taskId } = await sendText(server, 'work');
      const { history } = await server.client.get({ taskId });
      const spoken = history
        .filter(({ role }) => role === 'agent')
        .map(({ parts, metadata }) => {
          const { author } = metadata!['urn:lango:a2a:author:v1'] as { author: string };
          return `${author}: ${parts.map((part) => (part.kind === 'text' ? part.text : '')).join('')}`;
        });
      expect(spoken).toEqual(['operator: from operator', 'librarian: from librarian']);
    });
  });
});

function namesIn({ parameters }: FunctionSpec): string[] {
  const properties = parameters['properties'] as { agent_name: { enum: string[] } };
  return properties.agent_name.enum;
}

async function firstMessage(server: TestServer, taskId: string) {
  const { history } = await server.client.get({ taskId, agent: 'operator' });
  return history[0]!;
}
