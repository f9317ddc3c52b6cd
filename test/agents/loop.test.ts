import { describe, expect, it } from '@jest/globals';
import { DEFAULT_LIMITS } from '../support/agent-fixtures.js';
import type { AgentLimits } from '../../src/core/agent.js';
import type { ModelAnswer } from '../../src/core/model.js';
import type { Executed } from '../support/agent-fixtures.js';
import { flat, toolNamed } from '../support/agent-fixtures.js';
import { MemoryRun } from '../support/memory-run.js';
import { USAGE, call, inHalves, resultsIn, say, withPreamble } from '../support/scripted-model.js';
import type { Play } from '../support/scripted-model.js';
import { until } from '../support/until.js';

const limits = (change: Partial<AgentLimits>): { limits: AgentLimits } => ({
  limits: { ...DEFAULT_LIMITS, ...change },
});
const read = (path: string): readonly [string, { path: string }] => ['fs_read', { path }];
const fsRead = toolNamed('fs_read');

async function perform(script: readonly Play[], change: Parameters<typeof flat>[1] = {}, grant = {}) {
  const { agent, model } = flat(script, { tools: [fsRead], ...change });
  const run = MemoryRun.of('lango-agent', 'do it', { grant: { chain: [], depth: 5, ...grant } });
  return { end: await run.perform(agent), run, model };
}

describe('the loop', () => {
  it('D6 handles small talk with one model call', async () => {
    const { end, run, model } = await perform([say('Hello!')]);
    expect(end).toEqual({ state: 'completed' });
    expect(run.answer()).toBe('Hello!');
    expect(model.requests).toHaveLength(1);
  });

  it('responds to a message that arrived during its first response', async () => {
    const { agent, model } = flat([say('one'), say('two')], { tools: [fsRead] });
    const run = MemoryRun.of('lango-agent', 'first', {});
    await run.perform(agent);
    // The journal does not close a run to which a message has come.
    const more = run.resumed(run.events.length - 1).followedBy('second');
    expect(await more.perform(agent)).toEqual({ state: 'completed' });
    expect(more.answer()).toBe('two');
    expect(model.requests).toHaveLength(2);
    expect(model.requests[1]!.messages.slice(-2)).toMatchObject([
      { role: 'assistant', content: [{ text: 'one' }] },
      { role: 'user', parts: [{ text: 'second' }] },
    ]);
  });

  it('streams text as it arrives, and starts the output anew in each turn', async () => {
    // The model says the rest of a text once its first half can be read.
    const script = [withPreamble('I will look.', call(read('a'))), say('It says hi.')];
    const halves = ['I will', 'It say'].map(
      (half, turn) => () => inHalves(script[turn]!, () => until(() => run.answer() === half)),
    );
    const { agent } = flat(halves, { tools: [fsRead] });
    const run = MemoryRun.of('lango-agent', 'do it');
    await run.perform(agent);
    expect(run.bodies('text-delta').map(({ text, replace }) => [text, replace])).toEqual([
      ['I will', true],
      [' look.', false],
      ['It say', true],
      ['s hi.', false],
    ]);
    expect([...run.artifacts()]).toEqual([['answer', 'It says hi.']]);
    expect(run.bodies('turn-end')[0]!.content[0]).toEqual({ type: 'text', text: 'I will look.' });
  });

  it('runs the calls of one response in parallel, and returns all results in order', async () => {
    const isSecondOver = Promise.withResolvers<void>();
    const tool = toolNamed('fs_read', {
      async execute(path) {
        if (path === 'a') await isSecondOver.promise;
        else setTimeout(isSecondOver.resolve, 1);
        return { content: path };
      },
    });
    const { model } = await perform([call(read('a'), read('b')), say('done')], { tools: [tool] });
    expect(resultsIn(model.requests[1])).toEqual(['a', 'b']);
  });

  it.each([
    ['an unknown function', call(['nope', {}]), /no function "nope"\. Valid names: fs_read, ask_user/],
    ['broken arguments', call(['fs_read', undefined]), /not a JSON object that can be used: \{"broken/],
    ['a wrong type', call(['fs_read', { path: ['a', 'b'] }]), /argument path: .*expected string/],
    [
      'an unknown argument',
      call(['fs_read', { path: 'a', mode: 'r' }]),
      /unknown argument mode \(there are: path\)/,
    ],
  ])('reports %s to the model and continues', async (_, answer, words) => {
    const { end, run, model } = await perform([answer, say('I see.')]);
    expect(resultsIn(model.requests[1])[0]).toMatch(words);
    expect(run.bodies('tool-result')[0]!.result.isError).toBe(true);
    expect(end.state).toBe('completed');
  });

  it('fails the run with a plain reason when the model returns nothing', async () => {
    const { end, run } = await perform([say('')]);
    expect(end).toEqual({ state: 'failed', reason: 'model-empty', text: 'The model gave no answer.' });
    expect(run.answer()).toBeUndefined();
  });

  it('ends a run whose model calls one unknown function after another', async () => {
    const invented = Array.from({ length: 40 }, (_, index) => call([`made_up_${index}`, {}]));
    const { end, model } = await perform([...invented, say('done')]);
    expect(end).toMatchObject({ state: 'failed', reason: 'limit-refusals' });
    expect(end.text).toContain('there is no function "made_up_3"');
    expect(model.requests).toHaveLength(4);
  });

  it('resets the count of refused calls after a valid one', async () => {
    const wrong = call(['made_up', {}]);
    const script = [wrong, wrong, call(read('a')), call(['other', {}]), call(['another', {}]), say('done')];
    expect((await perform(script)).end.state).toBe('completed');
  });

  it('marks output that was cut off', async () => {
    const { end, run } = await perform([{ ...say('Once upon a'), stopReason: 'max-tokens' }]);
    expect(end).toEqual({ state: 'completed' });
    expect(run.answer()).toMatch(/^Once upon a\n\n\[The answer was cut off.*answerTokens/);
  });

  it('ends a run as rejected when the model refuses', async () => {
    const { end } = await perform([{ ...say('I cannot help with that.'), stopReason: 'refusal' }]);
    expect(end).toEqual({ state: 'rejected', reason: 'model-refusal', text: 'I cannot help with that.' });
  });

  it('makes no call of a refused response', async () => {
    const log: Executed[] = [];
    const refusal: ModelAnswer = { ...call(read('a')), stopReason: 'refusal' };
    const { end } = await perform([refusal], { tools: [toolNamed('fs_read', { log })] });
    expect(end).toMatchObject({ state: 'rejected', reason: 'model-refusal' });
    expect(log).toEqual([]);
  });

  it.each(['overloaded', 'rate-limited', 'unreachable', 'rejected', 'bad-answer'] as const)(
    "fails a run when the model is %s, and writes the vendor's message to the log only",
    async (code) => {
      const { end } = await perform([[{ type: 'error', code, message: 'vendor words', retryable: false }]]);
      expect(end).toMatchObject({ state: 'failed', reason: `model-${code}` });
      expect(end.text).not.toContain('vendor words');
    },
  );

  it('D5 stops after its turns, the last of which has no functions', async () => {
    const again = [call(read('a')), call(read('b')), say('All I know.')];
    const { end, run, model } = await perform(again, limits({ turns: 3 }));
    expect(end.state).toBe('completed');
    expect(run.answer()).toBe('All I know.');
    expect(model.requests.map(({ functions }) => functions.length)).toEqual([2, 2, 0]);
    expect(model.requests[2]!.system.at(-1)!.text).toContain('agent.limits.turns');
  });

  it('D5 fails when the model still makes calls in the last turn', async () => {
    const { end, run } = await perform([call(read('a')), call(read('b'))], limits({ turns: 2 }));
    expect(end).toMatchObject({ state: 'failed', reason: 'limit-turns' });
    expect(end.text).toContain('agent.limits.turns');
    expect(run.bodies('tool-call')).toHaveLength(1);
  });

  it('D5 stops after its tool calls', async () => {
    const log: Executed[] = [];
    const tools = [toolNamed('fs_read', { log })];
    const script = [call(read('a'), read('b'), read('c')), say('Two were enough.')];
    const { end, model } = await perform(script, { tools, ...limits({ toolCalls: 2 }) });
    expect(log.map(({ path }) => path)).toEqual(['a', 'b']);
    expect(resultsIn(model.requests[1])[2]).toContain('agent.limits.toolCalls');
    expect(model.requests[1]!.functions).toEqual([]);
    expect(end.state).toBe('completed');
  });

  it('D5 fails when the model still makes calls after the limit of tool calls', async () => {
    const { end } = await perform([call(read('a')), call(read('b'))], limits({ toolCalls: 1 }));
    expect(end).toMatchObject({ state: 'failed', reason: 'limit-tool-calls' });
  });

  it('D5 refuses a call that repeats its arguments too often, and ends the run of a model that insists', async () => {
    const log: Executed[] = [];
    const tools = [toolNamed('fs_read', { log })];
    const same = Array.from({ length: 10 }, () => call(read('a')));
    const { end, model } = await perform(same, { tools, ...limits({ repeats: 3 }) });
    expect(log).toHaveLength(3);
    expect(resultsIn(model.requests[4])[0]).toMatch(/^stopped: fs_read was already called 3 times/);
    expect(model.requests).toHaveLength(6);
    expect(end).toMatchObject({ state: 'failed', reason: 'limit-repeats' });
    expect(end.text).toContain('agent.limits.repeats');
  });

  it('D5 recognizes equal arguments in any order', async () => {
    const log: Executed[] = [];
    const one = call(['fs_read', { path: 'a' }]);
    const tools = [toolNamed('fs_read', { log })];
    await perform([one, one, say('x')], { tools, ...limits({ repeats: 1 }) });
    expect(log).toHaveLength(1);
  });

  const spender: ModelAnswer = { ...call(read('a')), usage: { ...USAGE, input: 90, output: 10 } };

  it('D5 stops when its tokens are used up', async () => {
    const { end, model } = await perform([spender, say('late')], limits({ tokens: 100 }));
    expect(end).toMatchObject({ state: 'failed', reason: 'limit-tokens' });
    expect(end.text).toContain('agent.limits.tokens');
    expect(model.requests).toHaveLength(1);
  });

  it("D5 stops when its grant's tokens are used up", async () => {
    const { end } = await perform([spender, say('late')], {}, { tokens: 100 });
    expect(end).toMatchObject({ state: 'failed', reason: 'limit-tokens' });
  });

  it.each<[string, [{ input: number; output: number } | undefined, string], string]>([
    ['its money is used up', [{ input: 1, output: 50 }, 'USD'], 'do not pay for another answer'],
    ['the model has no price', [undefined, 'USD'], 'the price of scripted in USD is not known'],
    ['its money is of another currency', [{ input: 1, output: 50 }, 'EUR'], 'the price of scripted in EUR'],
  ])('stops before a call when %s', async (_, [price, currency], reason) => {
    const meter = { node: 'n', model: 'scripted', currency: 'USD', price };
    const { end, model } = await perform(
      [spender],
      { meterOf: () => meter },
      { cost: { amount: 0.001, currency } },
    );
    expect(end).toMatchObject({ state: 'failed', reason: 'limit-cost' });
    expect(end.text).toContain(reason);
    expect(model.requests).toHaveLength(0);
  });

  it.each([
    ['a cycle', { chain: ['x@n', 'lango-agent@node'] }, 'delegation-cycle'],
    ['too deep', { depth: -1 }, 'limit-depth'],
    ['too long a chain', { chain: ['a@1', 'b@1', 'c@1', 'd@1', 'e@1', 'f@1'] }, 'limit-depth'],
    ['past its deadline', { deadline: 1 }, 'limit-seconds'],
    ['out of tokens', { tokens: 0 }, 'limit-tokens'],
  ])('rejects a request that is %s', async (_, grant, reason) => {
    const { end, model } = await perform([say('never')], {}, grant);
    expect(end).toMatchObject({ state: 'rejected', reason });
    expect(model.requests).toHaveLength(0);
  });

  it('does not reject a task that it has already begun', async () => {
    const { agent } = flat([say('ok')]);
    const run = MemoryRun.of('lango-agent', 'x', { grant: { chain: [], depth: 5, deadline: 1 } });
    expect((await run.perform(agent)).state).toBe('rejected');
    expect((await run.resumed(2).perform(agent)).state).toBe('completed');
  });

  it('accepts an agent of the same name on another node in its chain', async () => {
    const { end } = await perform([say('ok')], {}, { chain: ['lango-agent@elsewhere'] });
    expect(end.state).toBe('completed');
  });

  it('stops when its run is aborted', async () => {
    const { agent, model } = flat([() => say('never')], { tools: [fsRead] });
    const run = MemoryRun.of('lango-agent', 'do it');
    run.abort();
    await expect(agent.run(run)).rejects.toThrow('The task was canceled.');
    expect(model.requests).toHaveLength(1);
    expect(run.bodies('turn-end')).toHaveLength(0);
  });

  it('D7 remembers earlier tasks of its session', async () => {
    const first = (await perform([say('Blue it is.')])).run;
    const { agent, model } = flat([say('unused'), say('You said blue.')], {});
    const run = MemoryRun.of('lango-agent', 'which?', { id: 'second', history: first.events });
    expect(await run.perform(agent)).toEqual({ state: 'completed' });
    expect(model.requests[0]!.messages).toEqual([
      { role: 'user', parts: [{ kind: 'text', text: 'do it' }] },
      { role: 'assistant', author: 'lango-agent', content: [{ type: 'text', text: 'Blue it is.' }] },
      { role: 'user', parts: [{ kind: 'text', text: 'which?' }] },
    ]);
  });
});
