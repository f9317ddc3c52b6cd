import { describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { LangoError } from '../../src/core/errors.js';
import { DEFAULT_LIMITS } from '../support/agent-fixtures.js';
import type { Message } from '../../src/core/message.js';
import { textPart } from '../../src/core/message.js';
import { replyPart } from '../../src/core/questions.js';
import type { Reply, EffectClass } from '../../src/core/task.js';
import type { Tool, ToolOutput } from '../../src/core/tool.js';
import type { Executed } from '../support/agent-fixtures.js';
import { flat, toolNamed } from '../support/agent-fixtures.js';
import { MemoryRun } from '../support/memory-run.js';
import { call, resultsIn, say } from '../support/scripted-model.js';
import { until } from '../support/until.js';

const rm = (path: string): readonly [string, { path: string }] => ['fs_rm', { path }];
const SCRIPT = [call(rm('a')), say('done')];

function setUp(change: Parameters<typeof toolNamed>[1], more: Parameters<typeof flat>[1] = {}) {
  const log: Executed[] = [];
  const tool: Tool = toolNamed('fs_rm', { log, ...change });
  const { agent, model } = flat(SCRIPT, { tools: [tool], ...more });
  return { agent, model, log, run: MemoryRun.of('lango-agent', 'remove a') };
}

function answering(answer: Reply): Message {
  return { id: `answer-${answer.decision}-${answer.hash}`, role: 'user', parts: [replyPart(answer)] };
}

describe('a tool call', () => {
  it.each([
    [
      'a typed error with its advice',
      new LangoError('tool', 'path: no such file', { hint: 'try fs_list' }),
      'fs_rm failed: path: no such file (try fs_list)',
    ],
    ['anything else', new Error('boom'), 'fs_rm failed: boom'],
  ])(
    'has a result that the model can read, without a stack, when the tool throws %s',
    async (_, error, words) => {
      const { agent, model, run } = setUp({ execute: () => Promise.reject(error) });
      expect(await run.perform(agent)).toEqual({ state: 'completed' });
      expect(resultsIn(model.requests[1])).toEqual([words]);
    },
  );

  it.each<readonly [string, unknown]>([
    ['nothing', undefined],
    ['a text alone', 'removed'],
    ['no content', { isError: false }],
    ['a number that JSON has not', { content: 10n }],
    ['a function', { content: { run: () => 1 }.run }],
    ['files that are none', { content: 'x', files: [{ kind: 'file' }] }],
    ['a file that stands alone', { content: 'x', files: 7 }],
  ])(
    'is reported to the model as failed when the tool returns %s, and the run continues',
    async (_, given) => {
      const { agent, model, run } = setUp({ execute: async () => given as ToolOutput });
      expect(await run.perform(agent)).toEqual({ state: 'completed' });
      expect(resultsIn(model.requests[1])).toEqual([expect.stringMatching(/^fs_rm failed: /)]);
    },
  );

  it('returns the full description of a rare tool when it has no arguments, where the prompt has one sentence', async () => {
    const tool = toolNamed('fs_rm', { isRare: true, description: 'Removes a file. It is gone for good.' });
    const { agent, model } = flat([call(['fs_rm', {}]), say('done')], { tools: [tool] });
    await MemoryRun.of('lango-agent', 'remove a').perform(agent);
    const [spec] = model.requests[0]!.functions;
    expect(spec?.description).toBe('Removes a file. Call it without arguments first.');
    expect(resultsIn(model.requests[1])).toEqual([
      expect.stringMatching(/^Removes a file\. It is gone for good\. Its arguments: \{"type":"object"/),
    ]);
  });

  it('has long output cut, with a note of how much is missing', async () => {
    const { agent, model, run } = setUp(
      { execute: async () => ({ content: 'x'.repeat(1_000) }) },
      { limits: { ...DEFAULT_LIMITS, toolOutputBytes: 100 } },
    );
    await run.perform(agent);
    expect(resultsIn(model.requests[1])[0]).toMatch(/^x{70}\n\[… 900 bytes left out; .*\]\nx{30}$/);
  });

  it('hands files to the person as artifacts, and images to the model', async () => {
    const image = { kind: 'file', bytes: 'aGk=', mediaType: 'image/png', filename: 'shot.png' } as const;
    const { agent, run } = setUp({ execute: async () => ({ content: { ok: true }, files: [image] }) });
    await run.perform(agent);
    expect(run.bodies('artifact')).toEqual([
      {
        type: 'artifact',
        artifact: { id: 't1.c0.f0', name: 'shot.png', parts: [image] },
        append: false,
        lastChunk: true,
      },
    ]);
    expect(run.bodies('tool-result')[0]!.result).toMatchObject({ content: '{"ok":true}', images: [image] });
  });

  it('ends at its time limit, also when the tool ignores its signal', async () => {
    let told = false;
    const { agent, model, run } = setUp({
      timeoutMs: () => 10,
      execute: (_, { signal }) => new Promise(() => signal.addEventListener('abort', () => (told = true))),
    });
    await run.perform(agent);
    expect(told).toBe(true);
    expect(resultsIn(model.requests[1])[0]).toMatch(/fs_rm failed: it gave no result within 0.01 s/);
  });

  it('accepts any time limit, also one longer than a timer of Node', async () => {
    const { agent, model, run } = setUp({
      timeoutMs: () => 1e12,
      execute: async (_, { signal }) => ({ content: await sleep(30, 'late', { signal }) }),
    });
    await run.perform(agent);
    expect(resultsIn(model.requests[1])).toEqual(['late']);
  });

  it('D5 is aborted with its run, and no result is recorded', async () => {
    const { agent, run } = setUp({
      execute: (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('stopped')));
          run.abort();
        }),
    });
    await expect(run.perform(agent)).rejects.toThrow('The task was canceled.');
    expect(run.bodies('tool-call')).toHaveLength(1);
    expect(run.bodies('tool-result')).toHaveLength(0);
  });

  it('D7 is refused when the grant leaves out its tool', async () => {
    const { agent, model, log } = setUp({});
    const run = MemoryRun.of('lango-agent', 'x', { grant: { chain: [], depth: 1, tools: ['fs_read'] } });
    await run.perform(agent);
    expect(log).toEqual([]);
    expect(resultsIn(model.requests[1])[0]).toBe('this task may not use fs_rm; it may use: fs_read');
  });

  it.each<readonly [EffectClass, number]>([
    ['pure', 2],
    ['keyed', 2],
  ])('is made again with the same key after a crash when its effect is %s', async (effect, times) => {
    const { agent, log, run } = setUp({ effect });
    await run.perform(agent);
    const intent = run.events.findIndex(({ body }) => body.type === 'tool-call');
    const resumed = run.resumed(intent + 1);
    await resumed.perform(agent);
    expect(log).toHaveLength(times);
    expect(resumed.bodies('tool-call').map((intent) => intent.effect)).toEqual([effect]);
    expect(log[0]!.key).toBe(log[1]!.key);
    expect(log[0]!.key).toMatch(/^[0-9a-f]{64}$/);
  });

  it.each([
    ['happened', { content: 'it happened' }, 0],
    ['never happened', undefined, 1],
  ])(
    'asks its target for the outcome after a crash when its effect is queryable: the call %s',
    async (_, settled, times) => {
      const { agent, log, run, model } = setUp({ effect: 'queryable', settle: async () => settled });
      await run.perform(agent);
      log.length = 0;
      const intent = run.events.findIndex(({ body }) => body.type === 'tool-call');
      await run.resumed(intent + 1).perform(agent);
      expect(log).toHaveLength(times);
      expect(resultsIn(model.requests.at(-1))).toEqual([settled ? settled.content : 'fs_rm of a']);
    },
  );

  it('is never repeated by itself when its effect is unsafe, and made once for each approval', async () => {
    const { agent, log, run, model } = setUp({ effect: 'unsafe' });
    await run.perform(agent);
    log.length = 0;
    const crash = (broken: MemoryRun) =>
      broken.resumed(1 + broken.events.findLastIndex(({ body }) => body.type === 'tool-call'));

    const first = crash(run);
    const asked = await first.perform(agent);
    expect(asked).toMatchObject({
      state: 'input-required',
      questions: [{ kind: 'outcome-unknown', tool: 'fs_rm' }],
    });
    expect(log).toEqual([]);

    const approved = first.followedBy(answering({ hash: asked.questions![0]!.hash, decision: 'approve' }));
    expect(await approved.perform(agent)).toEqual({ state: 'completed' });
    expect(log).toHaveLength(1);

    const second = crash(approved);
    const askedAgain = await second.perform(agent);
    expect(askedAgain.state).toBe('input-required');
    expect(askedAgain.questions![0]!.hash).not.toBe(asked.questions![0]!.hash);
    expect(log).toHaveLength(1);

    const denied = second.followedBy(
      answering({ hash: askedAgain.questions![0]!.hash, decision: 'deny', text: 'leave it' }),
    );
    expect(await denied.perform(agent)).toEqual({ state: 'completed' });
    expect(log).toHaveLength(1);
    expect(resultsIn(model.requests.at(-1))[0]).toMatch(/outcome is unknown.*"leave it"/);
  });
});

describe('an approval', () => {
  const dangerous: Pick<Tool, 'danger'> = { danger: () => 'dangerous' };

  it.each([
    ['dangerous', 'dangerous', false],
    ['dangerous', 'moderate', true],
    ['all', 'safe', false],
    ['none', 'dangerous', true],
    [['fs_rm'], 'safe', false],
    [['other'], 'dangerous', true],
  ] as const)('depends on the policy: %j lets a %s call run at once: %j', async (approval, level, atOnce) => {
    const { agent, log, run } = setUp({ danger: () => level }, { approval });
    expect((await run.perform(agent)).state).toBe(atOnce ? 'completed' : 'input-required');
    expect(log).toHaveLength(atOnce ? 1 : 0);
  });

  it('is asked for in the words of a tool that describes its calls, and counts for those words alone', async () => {
    let network = 'the test network';
    const describe = ({ path }: { readonly [name: string]: unknown }) =>
      `remove ${String(path)} on ${network}`;
    const { agent, log, run } = setUp({ ...dangerous, describe });
    const asked = await run.perform(agent);
    const [question] = asked.questions!;
    expect(question!.text).toBe('May lango-agent remove a on the test network?');
    const approved = run.followedBy(answering({ hash: question!.hash, decision: 'approve' }));
    network = 'the main network';
    const askedAgain = await approved.perform(agent);
    expect(askedAgain.questions![0]!.text).toBe('May lango-agent remove a on the main network?');
    expect(askedAgain.questions![0]!.hash).not.toBe(question!.hash);
    expect(log).toEqual([]);
  });

  it('is not asked for when the call cannot be made', async () => {
    const check = async () =>
      Promise.reject(new LangoError('limit-reached', 'path: too long', { hint: 'cut it' }));
    const { agent, log, run, model } = setUp({ ...dangerous, check });
    expect(await run.perform(agent)).toEqual({ state: 'completed' });
    expect(run.bodies('question')).toEqual([]);
    expect(log).toEqual([]);
    expect(resultsIn(model.requests.at(-1))).toEqual(['fs_rm failed: path: too long (cut it)']);
  });

  it('is asked for after a check of the call, which is not made again once it was allowed', async () => {
    let looks = 0;
    const check = async () => void (looks += 1);
    const { agent, log, run } = setUp({ ...dangerous, check });
    const { hash } = (await run.perform(agent)).questions![0]!;
    await run.followedBy(answering({ hash, decision: 'approve' })).perform(agent);
    expect([looks, log.length]).toEqual([1, 1]);
  });

  it('shows the tool and its exact arguments, and lets the call run once the reply names the hash', async () => {
    const { agent, log, run } = setUp(dangerous);
    const end = await run.perform(agent);
    expect(end.questions).toMatchObject([
      { kind: 'approval', author: 'lango-agent', tool: 'fs_rm', arguments: { path: 'a' } },
    ]);
    const { hash } = end.questions![0]!;
    const approved = run.followedBy(answering({ hash, decision: 'approve' }));
    expect(await approved.perform(agent)).toEqual({ state: 'completed' });
    expect(log).toHaveLength(1);
    expect(approved.bodies('question')).toHaveLength(1);
  });

  it("gives the model the person's reason when it is denied", async () => {
    const { agent, log, run, model } = setUp(dangerous);
    const { hash } = (await run.perform(agent)).questions![0]!;
    const denied = run.followedBy(answering({ hash, decision: 'deny', text: 'too risky' }));
    expect(await denied.perform(agent)).toEqual({ state: 'completed' });
    expect(log).toEqual([]);
    expect(resultsIn(model.requests.at(-1))[0]).toMatch(/a person refused this call \("too risky"\)/);
  });

  it('is asked for at most 16 calls at once, and the further calls are refused', async () => {
    const paths = Array.from({ length: 20 }, (_, index) => ['fs_rm', { path: `file${index}` }] as const);
    const { agent, model } = flat([call(...paths), say('done')], {
      tools: [toolNamed('fs_rm', { danger: () => 'dangerous' })],
    });
    const run = MemoryRun.of('lango-agent', 'clean up', {});
    const asked = await run.perform(agent);
    expect(asked.questions).toHaveLength(16);
    const parts = asked.questions!.map(({ hash }) => replyPart({ hash, decision: 'deny' }));
    expect(await run.followedBy({ id: 'all', role: 'user', parts }).perform(agent)).toEqual({
      state: 'completed',
    });
    expect(
      resultsIn(model.requests.at(-1)).filter((text) => text.startsWith('the call needs approval')),
    ).toHaveLength(4);
  });

  it('names the invisible characters of its question', async () => {
    const sly = {
      ...toolNamed('fs_rm', { danger: () => 'dangerous' }),
      describe: () => 'delete a\u202egpj.exe\u200b',
    };
    const { agent } = flat([call(['fs_rm', { path: 'a' }]), say('done')], { tools: [sly] });
    const asked = await MemoryRun.of('lango-agent', 'clean up', {}).perform(agent);
    expect(asked.text).toContain('delete a<U+202E>gpj.exe<U+200B>?');
  });

  it('cannot be a reply in prose or with another hash, after which the question is asked again', async () => {
    const { agent, log, run, model } = setUp(dangerous);
    const asked = await run.perform(agent);
    const again = { ...asked, text: `${asked.text}\nAny other reply leaves this open.` };
    const prose = run.followedBy('approved, go ahead');
    expect(await prose.perform(agent)).toEqual(again);
    const other = prose.followedBy(answering({ hash: 'f'.repeat(64), decision: 'approve' }));
    expect(await other.perform(agent)).toEqual(again);
    expect(log).toEqual([]);
    expect(model.requests).toHaveLength(1);

    const { hash } = asked.questions![0]!;
    const parts = [replyPart({ hash, decision: 'approve' }), textPart('and count them')];
    const approved = other.followedBy({ id: 'yes', role: 'user', parts });
    expect(await approved.perform(agent)).toEqual({ state: 'completed' });
    expect(log).toHaveLength(1);
    // Text in place of a reply is no request; text beside a reply is.
    const { messages } = model.requests.at(-1)!;
    expect(JSON.stringify(messages)).not.toContain('go ahead');
    expect(messages.at(-1)).toEqual({ role: 'user', parts: [textPart('and count them')] });
  });

  it('leaves the model a message that came before the person saw the question', async () => {
    // Another call of the same response takes long, and the person sends a message meanwhile.
    const read = toolNamed('fs_read', {
      async execute() {
        await until(() => run.bodies('question').length === 1);
        const message: Message = { id: 'm', role: 'user', parts: [textPart('and count')] };
        await run.append({ type: 'message', message }, 'user');
        return { content: '' };
      },
    });
    const script = [call(rm('a'), ['fs_read', { path: 'b' }]), say('done')];
    const { agent, model } = flat(script, { tools: [toolNamed('fs_rm', dangerous), read] });
    const run = MemoryRun.of('lango-agent', 'remove a');
    const { hash } = (await run.perform(agent)).questions![0]!;
    await run.followedBy(answering({ hash, decision: 'approve' })).perform(agent);
    expect(model.requests.at(-1)!.messages.at(-1)).toEqual({ role: 'user', parts: [textPart('and count')] });
  });

  it('is not accepted after its time, and the model is told that none came', async () => {
    const { agent, log, run, model } = setUp(dangerous);
    const before = Date.now();
    const { hash, expiresAt } = (await run.perform(agent)).questions![0]!;
    expect(expiresAt).toBeGreaterThanOrEqual(before + 86_400_000);
    const late = run.afterExpiry().followedBy(answering({ hash, decision: 'approve' }));
    expect(await late.perform(agent)).toEqual({ state: 'completed' });
    expect(log).toEqual([]);
    expect(resultsIn(model.requests.at(-1))[0]).toMatch(/nobody allowed this call in time/);
    const inTime = run.followedBy(answering({ hash, decision: 'approve' })).afterExpiry();
    await inTime.perform(agent);
    expect(log).toHaveLength(1);
  });

  it('is not accepted from before the question', async () => {
    const { agent, log, run } = setUp(dangerous);
    const { hash } = (await run.perform(agent)).questions![0]!;
    const parts = [textPart('remove a'), replyPart({ hash, decision: 'approve' })];
    const early = MemoryRun.of('lango-agent', { id: 'm', role: 'user', parts });
    expect((await early.perform(agent)).questions![0]!.hash).toBe(hash);
    expect((await early.resumed().perform(agent)).state).toBe('input-required');
    expect(log).toEqual([]);
  });

  it('counts the first reply only', async () => {
    const { agent, log, run } = setUp(dangerous);
    const { hash } = (await run.perform(agent)).questions![0]!;
    const twice = run
      .followedBy(answering({ hash, decision: 'deny' }))
      .followedBy(answering({ hash, decision: 'approve' }));
    await twice.perform(agent);
    expect(log).toEqual([]);
  });

  it('is awaited while the other calls continue', async () => {
    const log: Executed[] = [];
    const tools = [toolNamed('fs_rm', { log, ...dangerous }), toolNamed('fs_read', { log })];
    const { agent, model } = flat([call(rm('a'), ['fs_read', { path: 'b' }]), say('done')], { tools });
    const run = MemoryRun.of('lango-agent', 'both');
    const end = await run.perform(agent);
    expect(log.map(({ tool }) => tool)).toEqual(['fs_read']);
    expect(end.questions).toHaveLength(1);
    const { hash } = end.questions![0]!;
    await run.followedBy(answering({ hash, decision: 'approve' })).perform(agent);
    expect(log.map(({ tool }) => tool)).toEqual(['fs_read', 'fs_rm']);
    expect(model.requests).toHaveLength(2);
  });
});

describe('asking the user', () => {
  const script = [call(['ask_user', { question: 'Which color?' }]), say('Blue.')];

  it('waits for the reply and continues with it', async () => {
    const { agent, model } = flat(script);
    const run = MemoryRun.of('lango-agent', 'paint it');
    const end = await run.perform(agent);
    expect(end).toMatchObject({
      state: 'input-required',
      text: 'Which color?',
      questions: [{ kind: 'input', text: 'Which color?', author: 'lango-agent' }],
    });
    const next = run.followedBy('blue, please');
    expect(await next.perform(agent)).toEqual({ state: 'completed' });
    expect(resultsIn(model.requests[1])).toEqual(['blue, please']);
    expect(model.requests[1]!.messages.filter(({ role }) => role === 'user')).toHaveLength(1);
  });
});
