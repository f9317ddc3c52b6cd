import { describe, expect, it, jest } from '@jest/globals';
import type { Peer, PeerDirectory, PeerEvent, AgentLimits } from '../../src/core/agent.js';
import { DEFAULT_LIMITS } from '../support/agent-fixtures.js';
import type { Message } from '../../src/core/message.js';
import { textPart } from '../../src/core/message.js';
import { replyPart } from '../../src/core/questions.js';
import type { Grant } from '../../src/core/task.js';
import type { Executed } from '../support/agent-fixtures.js';
import { team, toolNamed, tree } from '../support/agent-fixtures.js';
import { MemoryRun } from '../support/memory-run.js';
import { directoryOf, ending, fakePeer } from '../support/fake-peer.js';
import { ScriptedModel, ask, call, inHalves } from '../support/scripted-model.js';
import { resultsIn, say, withPreamble, type Play } from '../support/scripted-model.js';
import { until } from '../support/until.js';

const ROOT = 'lango-orchestrator';
const TOOLS = [toolNamed('fs_read'), toolNamed('rag_query')];

const read = call(['fs_read', { path: 'a' }]);

async function perform(
  scripts: Record<string, readonly Play[]>,
  change: Parameters<typeof team>[1] = {},
  grant: Partial<Grant> = {},
) {
  const made = team(scripts, { tools: TOOLS, ...change });
  const run = MemoryRun.of(ROOT, 'what is in a?', { grant: { chain: [], depth: 5, ...grant } });
  return { ...made, run, end: await run.perform(made.root) };
}

const limited = (change: Partial<AgentLimits>) => ({ limits: { ...DEFAULT_LIMITS, ...change } });

async function performWith(peers: PeerDirectory, script: readonly Play[]) {
  const model = new ScriptedModel({ orchestrator: script });
  const run = MemoryRun.of(ROOT, 'hello');
  return { run, model, end: await run.perform(tree({ model, peers }).root!) };
}

describe('a delegation', () => {
  it('D6 is not needed for a greeting, which costs one model call', async () => {
    const { model, peers, run } = await perform({ orchestrator: [say('Hello!')] });
    expect(model.requests).toHaveLength(1);
    expect(peers.tasks).toBe(0);
    expect(run.answer()).toBe('Hello!');
  });

  it('D6 costs the orchestrator one call when it is final, and streams the output of the agent', async () => {
    const { root, model } = team(
      {
        orchestrator: [withPreamble('One moment.', call(ask('operator', 'read a', true)))],
        operator: [
          withPreamble('Let me see.', read),
          () => inHalves(say('It says hi.'), () => until(() => run.answer() === 'It say')),
        ],
      },
      { tools: TOOLS },
    );
    const run = MemoryRun.of(ROOT, 'what is in a?');
    expect(await run.perform(root)).toEqual({ state: 'completed', author: 'operator' });
    expect(model.asked('orchestrator')).toHaveLength(1);
    expect([...run.artifacts()]).toEqual([['answer', 'It says hi.']]);
    expect(run.bodies('question')).toEqual([]);
    const spoken = run.events.filter(({ body }) => body.type === 'text-delta');
    expect(new Set(spoken.slice(1).map(({ author }) => author))).toEqual(new Set(['operator']));
    expect(spoken).toHaveLength(4);
  });

  it('D6 returns the output as a tool result when it is not final', async () => {
    const { run, model } = await perform({
      orchestrator: [call(ask('operator')), say('The file says hi.')],
      operator: [read, say('It says hi.')],
    });
    expect(resultsIn(model.asked('orchestrator')[1])).toEqual(['It says hi.']);
    expect(run.answer()).toBe('The file says hi.');
  });

  it('D6 ignores "final" when there are other calls beside it', async () => {
    const { run, model } = await perform({
      orchestrator: [call(ask('operator', 'a', true), ask('librarian', 'b', true)), say('Both.')],
      operator: [say('A.')],
      librarian: [say('B.')],
    });
    expect(resultsIn(model.asked('orchestrator')[1])).toEqual(['A.', 'B.']);
    expect(run.answer()).toBe('Both.');
  });

  it('D1 takes its target from an enum of the exact names', async () => {
    const { model } = await perform({ orchestrator: [say('hi')] });
    const [spec] = model.requests[0]!.functions;
    expect(spec!.parameters).toMatchObject({
      required: ['agent_name', 'request'],
      properties: { agent_name: { enum: ['librarian', 'operator', 'planner'] } },
    });
  });

  it('D1 returns the valid names to a model that invents a name, and the run continues', async () => {
    const { end, model, peers } = await perform({
      orchestrator: [call(ask('op')), call(ask('operator')), say('done')],
      operator: [say('ok')],
    });
    expect(resultsIn(model.asked('orchestrator')[1])[0]).toBe(
      'There is no agent named "op". Valid names: librarian, operator, planner.',
    );
    expect(end.state).toBe('completed');
    expect(peers.tasks).toBe(1);
  });

  it('D1 ends the run of a model that keeps inventing names, by the limit of refusals', async () => {
    const { end } = await perform({ orchestrator: Array.from({ length: 9 }, () => call(ask('op'))) });
    expect(end).toMatchObject({ state: 'failed', reason: 'limit-refusals' });
  });

  it("D2 is a task of the sub-agent in the same context, with the parent's id, shown live under its name", async () => {
    const isShown = () => JSON.stringify(run.events).includes('"text":"It say"');
    const { root, peers } = team(
      {
        orchestrator: [call(ask('operator')), say('done')],
        operator: [read, () => inHalves(say('It says hi.'), () => until(isShown))],
      },
      { tools: TOOLS },
    );
    const run = MemoryRun.of(ROOT, 'what is in a?');
    await run.perform(root);
    expect(peers.requests[0]!.request).toMatchObject({ contextId: 'context', parentTaskId: run.task.id });
    expect(run.bodies('delegation-task')).toEqual([
      { type: 'delegation-task', step: 't1.c0', taskId: 'child-1' },
    ]);
    const shown = run.events.filter(({ author }) => author === 'operator').map(({ body }) => body);
    expect(shown[0]).toEqual({
      type: 'activity',
      activity: { type: 'tool-call', tool: 'fs_read', arguments: { path: 'a' } },
    });
    expect(JSON.stringify(shown)).toContain('"text":"It say","replace":true,"isMessage":true');
  });

  it('D2 has a message id that is a key of task, step, agent and request', async () => {
    const once = await perform({ orchestrator: [call(ask('operator')), say('x')], operator: [say('a')] });
    const again = await perform({ orchestrator: [call(ask('operator')), say('x')], operator: [say('a')] });
    const other = await perform({
      orchestrator: [call(ask('operator', 'else')), say('x')],
      operator: [say('a')],
    });
    const id = ({ peers }: typeof once) => peers.requests[0]!.request.message.id;
    expect(id(once)).toBe(id(again));
    expect(id(once)).not.toBe(id(other));
    expect(once.run.bodies('delegation-start')[0]!.key).toBe(id(once));
  });

  it('D3 runs in parallel to the others of its turn', async () => {
    const both: string[] = [];
    let release = () => {};
    const together = new Promise<void>((resolve) => (release = resolve));
    const meet = async (path: string) => {
      both.push(path);
      if (both.length === 2) release();
      await together;
      return { content: path };
    };
    const { end } = await perform(
      {
        orchestrator: [call(ask('operator'), ask('librarian')), say('met')],
        operator: [read, say('A')],
        librarian: [call(['rag_query', { path: 'b' }]), say('B')],
      },
      { tools: [toolNamed('fs_read', { execute: meet }), toolNamed('rag_query', { execute: meet })] },
    );
    expect(end.state).toBe('completed');
    expect(both.sort()).toEqual(['a', 'b']);
  });

  it('D4 has a typed outcome when it is rejected, and its agent is not asked again in the task', async () => {
    const decline = withPreamble(
      'Not mine.',
      call(['decline_request', { reason: 'I only keep files.' }], ['fs_read', { path: 'a' }]),
    );
    const log: Executed[] = [];
    const { end, run, model, peers } = await perform(
      {
        orchestrator: [
          call(ask('operator', 'x', true)),
          call(ask('operator', 'other')),
          call(ask('librarian')),
          say('done'),
        ],
        operator: [decline],
        librarian: [say('found')],
      },
      { tools: [toolNamed('fs_read', { log }), toolNamed('rag_query')] },
    );
    const asked = model.asked('orchestrator');
    expect(run.bodies('delegation-end')[0]).toMatchObject({ agent: 'operator', state: 'rejected' });
    expect(resultsIn(asked[1])[0]).toContain(
      'operator rejected the request: I only keep files. Do not ask it again',
    );
    expect(JSON.stringify(asked[1]!.functions)).not.toContain('"operator"');
    expect(resultsIn(asked[2])[0]).toContain('is not asked again. Valid names: librarian, planner.');
    expect(resultsIn(asked[3])).toEqual(['found']);
    expect(end.state).toBe('completed');
    expect(peers.tasks).toBe(2);
    expect(log).toEqual([]);
    expect(run.answer()).toBe('done');
  });

  it('D4 is no longer offered once every agent has refused, and the orchestrator responds with what it has', async () => {
    const decline = call(['decline_request', { reason: 'no' }]);
    const { model, end } = await perform(
      { orchestrator: [call(ask('planner')), say('I cannot.')], planner: [decline] },
      { tools: [] },
    );
    expect(model.asked('orchestrator')[1]!.functions).toEqual([]);
    expect(end.state).toBe('completed');
  });

  it('D5 O6 counts against the limit of rounds in code; several in one turn are one round', async () => {
    const { end, model, peers } = await perform(
      {
        orchestrator: [
          call(ask('operator', '1'), ask('operator', '2')),
          call(ask('operator', '3')),
          call(ask('operator', '4')),
          say('enough'),
        ],
        operator: [say('ok')],
      },
      limited({ delegationRounds: 2 }),
    );
    const asked = model.asked('orchestrator');
    expect(peers.tasks).toBe(3);
    expect(asked.map(({ functions }) => functions.length)).toEqual([1, 1, 0, 0]);
    expect(resultsIn(asked[3])[0]).toContain('agent.maxDelegationRounds');
    expect(asked[2]!.system.at(-1)!.text).toContain('rounds of delegation are used up');
    expect(end.state).toBe('completed');
  });

  it('D5 waits while too many others run', async () => {
    const { model, peers } = await perform(
      {
        orchestrator: [call(ask('operator', '1'), ask('operator', '2'), ask('operator', '3')), say('ok')],
        operator: [say('ok')],
      },
      limited({ fanOut: 2 }),
    );
    expect(peers.tasks).toBe(2);
    expect(resultsIn(model.asked('orchestrator')[1])[2]).toContain('agent.limits.fanOut');
  });

  it.each([
    ['the grant', {}, { depth: 0 }],
    ['the configuration', limited({ depth: 1 }), { chain: ['a@elsewhere'] }],
  ])('D5 goes no deeper than %s allows', async (_, change, grant) => {
    const { model, peers } = await perform(
      { orchestrator: [call(ask('operator')), say('ok')] },
      change,
      grant,
    );
    expect(peers.tasks).toBe(0);
    expect(resultsIn(model.asked('orchestrator')[1])[0]).toContain('agent.limits.depth');
  });

  it('D5 counts the tokens of the sub-agent against the run', async () => {
    const { end } = await perform(
      { orchestrator: [call(ask('operator')), say('late')], operator: [say('ok')] },
      limited({ tokens: 30 }),
    );
    expect(end).toMatchObject({ state: 'failed', reason: 'limit-tokens' });
  });

  it('D7 narrows the grant: the chain grows, depth and tokens shrink, tools and deadline stay', async () => {
    const deadline = Date.now() + 60_000;
    const { peers } = await perform(
      {
        orchestrator: [call(ask('operator'), ask('librarian')), say('ok')],
        operator: [say('a')],
        librarian: [say('b')],
      },
      {},
      { chain: ['x@y'], depth: 3, tokens: 1_015, tools: ['fs_read'], deadline },
    );
    for (const { request } of peers.requests) {
      expect(request.grant).toEqual({
        chain: ['x@y', 'lango-orchestrator@node'],
        depth: 2,
        tokens: 500,
        tools: ['fs_read'],
        deadline,
        trace: { traceparent: expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/) },
      });
    }
  });

  it("D7 shows the sub-agent the request with the user's message beside it, and no reply to a question", async () => {
    const picture = { kind: 'file', bytes: 'iVBORw0KGgo=', mediaType: 'image/png' } as const;
    const { root, model } = team(
      { orchestrator: [call(ask('operator', 'describe it')), say('ok')], operator: [say('a')] },
      { tools: TOOLS },
    );
    const yes = replyPart({ hash: 'of no question', decision: 'approve' });
    const message: Message = { id: 'm', role: 'user', parts: [textPart('what is this?'), picture, yes] };
    await MemoryRun.of(ROOT, message).perform(root);
    const [asked] = model.asked('operator');
    expect(asked!.messages).toEqual([{ role: 'user', parts: [textPart('describe it'), picture] }]);
    expect(asked!.system.at(-1)).toMatchObject({ stable: false });
    expect(asked!.system.at(-1)!.text).toContain('<user-message>\nwhat is this?\n</user-message>');
  });

  it("D7 does not repeat the user's message beside a request in the same words", async () => {
    const { root, model } = team(
      { orchestrator: [call(ask('operator', 'what is this?')), say('ok')], operator: [say('a')] },
      { tools: TOOLS },
    );
    await MemoryRun.of(ROOT, 'what is this?').perform(root);
    const [asked] = model.asked('operator');
    expect(asked!.messages).toEqual([{ role: 'user', parts: [textPart('what is this?')] }]);
    expect(JSON.stringify(asked!.system)).not.toContain('what is this?');
  });

  it("D7 passes the user's message through any number of levels, cut to its limit", async () => {
    const { root, peers, model } = team(
      { orchestrator: [call(ask('operator')), say('ok')], operator: [say('a')] },
      { tools: TOOLS },
    );
    await MemoryRun.of(ROOT, 'x'.repeat(9_000)).perform(root);
    const [{ request: first }] = peers.requests as [(typeof peers.requests)[number]];
    const [word] = Object.values(first.message.metadata!);
    expect(word).toBe('x'.repeat(8_000));
    const [key] = Object.keys(first.message.metadata!);
    const metadata = { [key!]: `the user's own words ${'y'.repeat(9_000)}` };
    const relayed: Message = { id: 'm', role: 'user', parts: [textPart('a request')], metadata };
    await MemoryRun.of(ROOT, relayed, { id: 'other' }).perform(root);
    const passed = peers.requests.at(-1)!.request.message.metadata![key!];
    expect(passed).toMatch(/^the user's own words y+$/);
    expect(passed).toHaveLength(8_000);
    expect(JSON.stringify(model.asked('operator').at(-1)!.system)).toContain("the user's own words");
  });

  it('returns long output cut before the model reads it', async () => {
    const { model } = await perform(
      { orchestrator: [call(ask('operator')), say('ok')], operator: [say('z'.repeat(1_000))] },
      limited({ toolOutputBytes: 100 }),
    );
    expect(resultsIn(model.asked('orchestrator')[1])[0]).toContain('900 bytes left out');
  });

  it('reports a failure and a cancellation to the model', async () => {
    for (const [state, words] of [
      ['failed', /weather failed: no line.*the same request again/],
      ['canceled', /was canceled/],
    ] as const) {
      const peers = fakePeer('weather', [ending('weather', 'no line', state)]);
      const { end, model } = await performWith(peers, [call(ask('weather')), say('sorry')]);
      expect(resultsIn(model.requests[1])[0]).toMatch(words);
      expect(end.state).toBe('completed');
    }
  });

  it('fails, without a hang or a crash, when the stream of the peer ends without an end event', async () => {
    const { end, run } = await performWith(fakePeer('weather', []), [call(ask('weather')), say('sorry')]);
    expect(run.bodies('delegation-end')[0]).toMatchObject({ state: 'failed' });
    expect(end.state).toBe('completed');
  });

  it.each([true, false])(
    'names the entries that hold what it repeats, by parts of a text that is too long (final: %s)',
    async (final) => {
      const text = `${'x'.repeat(199)}\u{1f600}${'y'.repeat(149)}`;
      const about = { type: 'text-delta', author: 'weather', artifactId: 'x' } as const;
      const events: PeerEvent[] = [
        { ...about, text, replace: true, from: ['below', 3, 3] },
        { ...about, text: text.slice(0, 100), replace: false, from: ['below', 4, 4] },
        { ...about, text: text.slice(0, 210), replace: false, from: ['below', 5, 5, 50, 260] },
        ending('weather', `${text}${text.slice(0, 100)}${text.slice(0, 210)}`),
      ];
      const model = new ScriptedModel({ orchestrator: [call(ask('weather', 'r', final)), say('done')] });
      const { root } = tree({ model, peers: fakePeer('weather', events), ...limited({ entryBytes: 1_600 }) });
      const run = MemoryRun.of(ROOT, 'hello');
      const emitted = jest.spyOn(run, 'emit');
      await run.perform(root!);
      const repeated = emitted.mock.calls.flatMap(([body]) =>
        body.type === 'text-delta' && body.from ? [body] : [],
      );
      expect(repeated.map(({ from, text: said }) => [said.length, ...from!])).toEqual([
        [199, 'below', 3, 3, 0, 199],
        [151, 'below', 3, 3, 199],
        [100, 'below', 4, 4],
        [199, 'below', 5, 5, 50, 249],
        [11, 'below', 5, 5, 249, 260],
      ]);
      expect(run.artifacts().get(final ? 'answer' : 't1.c0/x.0')).toBe(
        `${text}${text.slice(0, 100)}${text.slice(0, 210)}`,
      );
    },
  );

  it('completes its final output when the peer streamed only a part of it, or nothing', async () => {
    const part: PeerEvent = {
      type: 'text-delta',
      author: 'weather',
      artifactId: 'x',
      text: 'shine',
      replace: false,
    };
    for (const events of [[part, ending('weather', 'sunshine')], [ending('weather', 'sunshine')]]) {
      const script = [withPreamble('I ask.', call(ask('weather', 'r', true)))];
      const { run } = await performWith(fakePeer('weather', events), script);
      expect(run.answer()).toBe('sunshine');
      expect(run.bodies('text-delta').at(-1)).toMatchObject({ text: 'sunshine', replace: true });
    }
    const silent = await performWith(fakePeer('weather', [ending('weather', '')]), [
      call(ask('weather', 'r', true)),
    ]);
    expect(silent.run.answer()).toBe('weather finished without any text.');
  });

  it("hands the agent's files on under its name, and tells the model of them", async () => {
    const artifact = { id: 'f', name: 'map.png', parts: [textPart('x')] };
    const events: PeerEvent[] = [
      { type: 'artifact', author: 'weather', artifact },
      ending('weather', 'see map'),
    ];
    const { run, model } = await performWith(fakePeer('weather', events), [call(ask('weather')), say('ok')]);
    const shown = run.events.find(({ body }) => body.type === 'artifact')!;
    expect(shown).toMatchObject({
      author: 'weather',
      body: { artifact: { id: 't1.c0/f', name: 'map.png' } },
    });
    expect(resultsIn(model.requests[1])[0]).toBe('see map\n[delivered to the user: map.png]');
  });

  it('ends without recording an end when its run is canceled', async () => {
    let stopped = false;
    const peer: Peer = {
      name: 'weather',
      description: '',
      skills: [],
      isRemote: false,
      async *send(_, signal) {
        yield { type: 'task', taskId: 'w1' };
        run.abort();
        stopped = signal.aborted;
        yield ending('weather', '', 'canceled');
      },
      cancel: async () => {},
    };
    const model = new ScriptedModel({ orchestrator: [call(ask('weather'))] });
    const { root } = tree({ model, peers: directoryOf(peer) });
    const run = MemoryRun.of(ROOT, 'hello');
    await expect(run.perform(root!)).rejects.toThrow('canceled');
    expect(stopped).toBe(true);
    expect(run.bodies('delegation-end')).toEqual([]);
  });
});
