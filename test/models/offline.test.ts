import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { roleOf } from '../../src/agents/partition.js';
import { STANDARD_ROSTER } from '../../src/agents/agent-specs.js';
import { transferSpec } from '../../src/agents/transfer.js';
import type { FunctionCall, FunctionSpec, ModelAnswer, ModelMessage } from '../../src/core/model.js';
import { answerText, functionCalls } from '../../src/core/model.js';
import { createOfflineProvider } from '../../src/models/offline/provider.js';
import { describeModelProvider } from '../suites/model-provider.js';
import { answerOf, collect, modelRequest, userMessage } from '../support/model-requests.js';
import { OFFLINE_SENTENCES } from '../support/offline-rows.js';

const provider = createOfflineProvider({
  sentences: OFFLINE_SENTENCES,
  agentOf: (tool) => roleOf(tool, STANDARD_ROSTER),
});

const TOOLS: readonly FunctionSpec[] = [
  ...['fs_read', 'fs_write', 'fs_list', 'fs_search', 'fs_edit', 'exec', 'save_knowledge', 'skill_greet'],
  ...['crypto_hash', 'graph_query', 'my_own_tool'],
].map((name) => ({ name, description: '', parameters: { type: 'object' } }));
const TEAM = ['operator', 'librarian', 'planner', 'worker'];
const ORCHESTRATOR: readonly FunctionSpec[] = [transferSpec(TEAM.map((name) => ({ name })))!];

describeModelProvider('offline', async () => ({
  provider,
  textRequest: modelRequest({ messages: [userMessage('what can you do?')], functions: TOOLS }),
  callRequest: modelRequest({ messages: [userMessage('read notes.txt')], functions: TOOLS }),
  close: async () => {},
}));

function ask(text: string, functions = TOOLS, maxTokens = 1_000_000): Promise<ModelAnswer> {
  return answerOf(provider, modelRequest({ messages: [userMessage(text)], functions, maxTokens }));
}

/** The calls for a sentence, as [name, arguments]. */
async function callsFor(text: string, functions = TOOLS) {
  const { content } = await ask(text, functions);
  return functionCalls(content).map(({ name, arguments: args }) => [name, args]);
}

type Respond = (call: FunctionCall) => string | { readonly error: string };

/** Lets the model work with the results of `respond`, until it makes no more calls. */
async function converse(text: string, respond: Respond, functions = TOOLS) {
  const messages: ModelMessage[] = [userMessage(text)];
  const rounds: (readonly FunctionCall[])[] = [];
  for (;;) {
    const { content, stopReason } = await answerOf(
      provider,
      modelRequest({ messages, functions, maxTokens: 10_000 }),
    );
    const calls = functionCalls(content);
    messages.push({ role: 'assistant', author: 'tester', content });
    if (calls.length === 0) return { rounds, messages, stopReason, text: answerText(content) };
    rounds.push(calls);
    const results = calls.map((call) => {
      const said = respond(call);
      const isError = typeof said !== 'string';
      return { id: call.id, name: call.name, content: isError ? said.error : said, isError };
    });
    messages.push({ role: 'results', results });
  }
}

describe('the offline model', () => {
  it.each([
    ['read a.txt', 'fs_read', { path: 'a.txt' }],
    ['Please READ a.txt.', 'fs_read', { path: 'a.txt' }],
    ['read ..', 'fs_read', { path: '..' }],
    ['read "my notes.txt"', 'fs_read', { path: 'my notes.txt' }],
    ["write 'hi there' into a.txt", 'fs_write', { content: 'hi there', path: 'a.txt' }],
    ['write go to bed to a.txt', 'fs_write', { content: 'go to bed', path: 'a.txt' }],
    ['create a file a.txt with say "x" twice.', 'fs_write', { path: 'a.txt', content: 'say "x" twice.' }],
    ['write "" to a.txt', 'fs_write', { content: '', path: 'a.txt' }],
    ['write "a and then b" to a.txt', 'fs_write', { content: 'a and then b', path: 'a.txt' }],
    [
      'replace "old text" with new in a.txt',
      'fs_edit',
      { oldText: 'old text', newText: 'new', path: 'a.txt' },
    ],
    ['search for milk and honey in src', 'fs_search', { pattern: 'milk and honey', path: 'src' }],
    [
      "run printf %s '{{secret:github}}' | wc -c",
      'exec',
      { command: "printf %s '{{secret:github}}' | wc -c" },
    ],
    [
      'run `printenv T | rev` with the secret fish as T',
      'exec',
      { command: 'printenv T | rev', env: { T: '{{secret:fish}}' } },
    ],
    ['save knowledge proxy: it is: here', 'save_knowledge', { key: 'proxy', content: 'it is: here' }],
    ['what depends on billing?', 'graph_query', { object: 'billing', predicate: 'depends on' }],
    ['use the skill greet', 'skill_greet', {}],
    ['call my_own_tool with {"n": [1, 2]}', 'my_own_tool', { n: [1, 2] }],
    ['call my_own_tool', 'my_own_tool', {}],
  ])('makes the call of a sentence: %s', async (text, name, args) => {
    expect(await callsFor(text)).toEqual([[name, args]]);
  });

  it.each([
    ...[
      'read',
      'read a b',
      'dance',
      'write hello',
      'list the flies',
      'open the file a.txt',
      'zeige die Dateien',
    ],
    ...[
      'call my_own_tool with [1]',
      'read a.txt and then dance',
      'dance and then read a.txt',
      '???',
      '{path}',
    ],
    ...['ask operator to dance', 'take a screenshot', ''],
  ])('refuses all of "%s"', async (text) => {
    const answer = await ask(text);
    expect(answer.stopReason).toBe('refusal');
    expect(functionCalls(answer.content)).toEqual([]);
    expect(answerText(answer.content)).toMatch(/Nothing was done\.[^]*read \[path\][^]*ANTHROPIC_API_KEY/);
  });

  it('sends no text before a refusal', async () => {
    const got = await collect(provider, modelRequest({ messages: [userMessage('dance')] }));
    expect(got.map(({ type }) => type)).toEqual(['end']);
  });

  it.each(['Hello!', 'thanks', 'who are you?', 'What can you do?'])(
    'responds to "%s" with text',
    async (text) => {
      for (const functions of [TOOLS, ORCHESTRATOR]) {
        expect((await ask(text, functions)).stopReason).toBe('end');
      }
    },
  );

  it('drafts the outline of a plan', async () => {
    const answer = await ask('make a plan for a trip to Rome', []);
    expect(answer.stopReason).toBe('end');
    expect(answerText(answer.content)).toMatch(/^Plan: a trip to Rome\n[^]*1\. /);
  });
});

describe('the offline model with a sentence of several steps', () => {
  it('runs them one after the other, and reports their results', async () => {
    const { rounds, text } = await converse(
      'write hi to a.txt and then read a.txt, then list the files',
      (call) =>
        call.name === 'fs_read'
          ? 'hi'
          : call.name === 'fs_list'
            ? 'a.txt\nb.txt'
            : '{"bytes":2,"path":"a.txt","note":null}',
    );
    expect(rounds.map((calls) => calls.map(({ name }) => name))).toEqual([
      ['fs_write'],
      ['fs_read'],
      ['fs_list'],
    ]);
    expect(text).toBe(
      '1. write hi to a.txt:\nbytes: 2\npath: a.txt\n\n2. read a.txt: hi\n\n3. list the files:\na.txt\nb.txt',
    );
  });

  it('runs them in parallel', async () => {
    const { rounds, text } = await converse('run ls and at the same time read a.txt', ({ name }) => name);
    expect(rounds.map((calls) => calls.map(({ name }) => name))).toEqual([['exec', 'fs_read']]);
    expect(text).toBe('1. run ls: exec\n\n2. read a.txt: fs_read');
  });

  it('runs them up to a failing one, and reports what was not done', async () => {
    const respond: Respond = ({ name }) => (name === 'fs_read' ? { error: 'There is no a.txt.' } : 'ok');
    const { text, stopReason } = await converse('run ls and then read a.txt and then run ls', respond);
    expect(text).toBe(
      '1. run ls: ok\n\nI could not do this: "read a.txt"\nThere is no a.txt.\n\nNot done: "run ls".',
    );
    expect(stopReason).toBe('end');
  });

  it('reports the remaining ones when no function is offered any more', async () => {
    const { messages } = await converse('run ls', () => 'ok');
    const cut = [userMessage('run ls and then read a.txt'), ...messages.slice(1, 3)];
    const answer = await answerOf(provider, modelRequest({ messages: cut }));
    expect(answerText(answer.content)).toBe('1. run ls: ok\n\nNot done: "read a.txt".');
  });

  it('refuses more than thirty', async () => {
    const answer = await ask(Array.from({ length: 31 }, () => 'run ls').join(' and then '));
    expect(answerText(answer.content)).toMatch(/^The message asks for more than 30 steps\./);
  });

  it('uses call ids that no earlier request of the conversation used', async () => {
    const first = await converse('read a.txt', () => 'x');
    const again = { messages: [...first.messages.slice(1), userMessage('read a.txt')], functions: TOOLS };
    const next = functionCalls((await answerOf(provider, modelRequest(again))).content);
    expect(next).toHaveLength(1);
    expect(next[0]!.id).not.toBe(first.rounds[0]![0]!.id);
  });

  it('ignores the calls of another model', async () => {
    const foreign = { type: 'function-call', id: 'call-1', name: 'exec', arguments: {} } as const;
    const messages: ModelMessage[] = [
      userMessage('read a.txt'),
      { role: 'assistant', author: 'tester', content: [foreign] },
      { role: 'results', results: [{ id: 'call-1', name: 'exec', content: 'x', isError: false }] },
    ];
    const { content } = await answerOf(provider, modelRequest({ messages, functions: TOOLS }));
    expect(functionCalls(content)).toMatchObject([{ name: 'fs_read' }]);
  });
});

describe('the offline model as an orchestrator', () => {
  const transfer = (agent_name: string, request: string, final: boolean) => [
    'transfer_to_agent',
    { agent_name, request, final },
  ];

  it.each([
    [
      'a request of one agent whole',
      'write hi to a and then run ls',
      [transfer('operator', 'write hi to a and then run ls', true)],
    ],
    [
      'a plan to the planner',
      'make a plan for a walk',
      [transfer('planner', 'make a plan for a walk', true)],
    ],
    [
      'the words after a name to that agent',
      'ask worker to "do a and then b"',
      [transfer('worker', 'do a and then b', true)],
    ],
    [
      'an explicit call to the owner of the tool',
      'call exec_shell with {}',
      [transfer('operator', 'call exec_shell with {}', true)],
    ],
    [
      'two requests at the same time',
      'list the files and at the same time ask worker to dance',
      [transfer('operator', 'list the files', false), transfer('worker', 'dance', false)],
    ],
  ])('delegates %s', async (_, text, calls) => {
    expect(await callsFor(text, ORCHESTRATOR)).toEqual(calls);
  });

  it.each([
    [
      'hash hello',
      /"hash hello" is for the agent vault, which this server cannot reach\. The agents are: operator, /,
    ],
    ['ask nobody to dance', /for the agent nobody, which this server cannot reach/],
    ['call strange_tool', /No agent of this server has the tool/],
    ['roll 3 dice', /I do not understand "roll 3 dice"\./],
    ['list the files and then roll 3 dice', /I do not understand "roll 3 dice"\. Nothing was done\./],
  ])('delegates nothing of "%s"', async (text, reason) => {
    const answer = await ask(text, ORCHESTRATOR);
    expect(answer.stopReason).toBe('refusal');
    expect(answerText(answer.content)).toMatch(reason);
  });

  it('refuses when the agent refused', async () => {
    const { stopReason, text } = await converse(
      'ask worker to dance',
      () => ({ error: 'worker rejected it' }),
      ORCHESTRATOR,
    );
    expect(stopReason).toBe('refusal');
    expect(text).toContain('worker rejected it');
  });

  it('reports the results of several agents', async () => {
    const { text, stopReason } = await converse(
      'list the files and then make a plan for a walk',
      (call) => (call.arguments?.['agent_name'] === 'planner' ? { error: 'planner failed' } : 'a.txt'),
      ORCHESTRATOR,
    );
    expect(stopReason).toBe('end');
    expect(text).toBe(
      '1. list the files: a.txt\n\nI could not do this: "make a plan for a walk"\nplanner failed',
    );
  });
});

describe('the offline model', () => {
  it('gives the same response to the same request', async () => {
    const text = 'read a.txt and at the same time run ls';
    expect(await ask(text)).toEqual(await ask(text));
  });

  it('cuts text at maxTokens, and makes no longer call', async () => {
    const words = await ask('what can you do', TOOLS, 10);
    expect(words.stopReason).toBe('max-tokens');
    expect(words.usage.output).toBeLessThanOrEqual(10);
    const call = await ask(`write "${'x'.repeat(2_000)}" to a.txt`, TOOLS, 100);
    expect(call.stopReason).toBe('refusal');
    expect(answerText(call.content)).toContain('agent.limits.answerTokens');
  });

  it('streams small chunks, and never splits a character', async () => {
    const request = modelRequest({
      messages: [userMessage(`make a plan for ${'🙂'.repeat(60)}`)],
      maxTokens: 10_000,
    });
    const texts = (await collect(provider, request)).flatMap((event) =>
      event.type === 'text' ? [event.text] : [],
    );
    expect(texts.length).toBeGreaterThan(5);
    expect(texts.every((text) => text.isWellFormed() && text.length <= 64)).toBe(true);
  });

  it('ends with an error event when a request breaks the contract', async () => {
    const broken = { ...modelRequest(), messages: undefined } as never;
    expect(await collect(provider, broken)).toMatchObject([
      { type: 'error', code: 'bad-answer', retryable: false },
    ]);
  });

  it('reports that it did not read an attachment', async () => {
    const photo = { kind: 'file', bytes: 'AAAA', mediaType: 'image/png' } as const;
    const message = { role: 'user', parts: [{ kind: 'text', text: 'make a plan for x' }, photo] } as const;
    const { content } = await answerOf(provider, modelRequest({ messages: [message] }));
    expect(answerText(content)).toContain('did not read the files and data');
    const alone = await answerOf(provider, modelRequest({ messages: [{ role: 'user', parts: [photo] }] }));
    expect(alone.stopReason).toBe('refusal');
  });

  const fragment = fc.oneof(
    fc.constantFrom(
      'read',
      'write',
      'to',
      'run',
      'ask',
      'and',
      'then',
      'a.txt',
      'at the same time',
      ', then',
      '"',
      "'",
      '`',
      '{',
      '{path}',
    ),
    fc.constantFrom('call', 'with', '{}', '\u0000', '\ud800', '한글', ':', '“', '”', '\n', '?'),
    fc.string({ unit: 'binary', maxLength: 6 }),
  );

  it('responds to any text, and ends every conversation', async () => {
    const texts = fc.array(fragment, { maxLength: 30 }).map((parts) => parts.join(' '));
    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        for (const functions of [TOOLS, ORCHESTRATOR, []]) {
          expect((await converse(text, () => text, functions)).text).not.toBe('');
        }
      }),
      { numRuns: 200 },
    );
  });

  it('takes a quoted text literally', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', maxLength: 100 }), async (content) => {
        fc.pre(!content.includes('"'));
        expect(await callsFor(`write "${content}" to a.txt`)).toEqual([
          ['fs_write', { content, path: 'a.txt' }],
        ]);
      }),
      { numRuns: 200 },
    );
  });

  const SIZE = 200_000;
  const fill = (unit: string) => unit.repeat(Math.ceil(SIZE / unit.length)).slice(0, SIZE);

  it.each([
    ...[
      'x',
      'to ',
      ' and then ',
      ', then ',
      'read a and then ',
      ' ',
      '\n',
      '"',
      " 'a",
      ' “',
      ' `',
      '"a" ',
      '"a',
      '" ',
    ],
    ...['.', '?', 'a: ', '{path} ', 'and at the same time ', 'a. ', "'a' b' "],
  ])('takes time in proportion to the length: %j', async (unit) => {
    const start = process.threadCpuUsage();
    for (const functions of [TOOLS, ORCHESTRATOR]) {
      await ask(fill(unit), functions);
      await ask(`write ${fill(unit)} to a.txt`, functions);
      await ask(`read ${fill(unit)}`, functions);
    }
    // Milliseconds on an idle machine; a quadratic rule takes minutes.
    expect(process.threadCpuUsage(start).user / 1_000).toBeLessThan(10_000);
  });
});
