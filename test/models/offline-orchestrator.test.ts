import { describe, expect, it } from '@jest/globals';
import type { FunctionCall, FunctionSpec, ModelMessage } from '../../src/core/model.js';
import { findQuotations } from '../../src/models/offline/quotes.js';
import {
  answerTo,
  argument,
  converse,
  modelRequest,
  transferSpec,
  userSays,
  CARDS,
  ORCHESTRATOR,
  type Respond,
} from './offline-world.js';

const answer: Respond = (call) => `answer of ${agentOf(call)}`;

async function run(
  text: string,
  { respond = answer, functions = ORCHESTRATOR, earlier = [] as readonly ModelMessage[] } = {},
) {
  const request = modelRequest({ messages: [...earlier, userSays(text)], functions });
  const { rounds, text: said, messages } = await converse(request, respond);
  return { rounds: rounds.map((calls) => calls.map(toTriple)), said, messages };
}

function agentOf(call: FunctionCall): string {
  return argument(call.arguments, 'agent_name');
}

function toTriple(call: FunctionCall): readonly [agent: string, request: string, final: unknown] {
  expect(call.name).toBe('transfer_to_agent');
  return [agentOf(call), argument(call.arguments, 'request'), call.arguments?.final];
}

describe('an orchestrator on the offline model', () => {
  it.each([
    ['read notes.txt', 'operator', 'read notes.txt'],
    ['Please open https://example.com/x', 'navigator', 'Please open https://example.com/x'],
    ['remember my birthday is in May', 'librarian', 'remember my birthday is in May'],
    ['plan how to launch a website', 'planner', 'plan how to launch a website'],
    ['plan: write a to x, then read x', 'planner', 'plan: write a to x, then read x'],
    ["what's the weather in London?", 'weather', "what's the weather in London?"],
    ['ask the operator to read notes.txt', 'operator', 'read notes.txt'],
    ['tell weather about snow', 'weather', 'about snow'],
    ['read', 'operator', 'read'],
    ['Hello! Read notes.txt. Thank you.', 'operator', 'Read notes.txt.'],
  ])('routes "%s" and leaves the answer to that agent', async (text, agent, request) => {
    const { rounds } = await run(text);
    expect(rounds).toEqual([[[agent, request, true]]]);
  });

  it('sends consecutive steps of one agent to it in one request', async () => {
    const { rounds } = await run('write a to x.txt. Then read x.txt and at the same time run ls');
    expect(rounds).toEqual([
      [['operator', 'write a to x.txt. and then read x.txt and at the same time run ls', true]],
    ]);
  });

  it('asks several agents at once and puts their answers together', async () => {
    const { rounds, said } = await run('read a.txt and at the same time open example.com');
    expect(rounds).toEqual([
      [
        ['operator', 'read a.txt', false],
        ['navigator', 'open example.com', false],
      ],
    ]);
    expect(said).toBe(
      'operator on "read a.txt": answer of operator\n\nnavigator on "open example.com": answer of navigator',
    );
  });

  it('puts an earlier result into a request that refers to it', async () => {
    const text = 'one "two"\nthree';
    const { rounds } = await run('write x to a.txt and then read a.txt and then remember the result', {
      respond: () => text,
    });
    expect(rounds.map(([call]) => call!.slice(0, 1))).toEqual([['operator'], ['operator'], ['librarian']]);
    const request = rounds[2]![0]![1];
    expect(findQuotations(request).map(({ inner }) => inner)).toEqual([text]);
    expect(request.startsWith('remember ')).toBe(true);
  });

  it('knows from the answer before what "it" is, also when the agent gave it to the user itself', async () => {
    const first = await run('read a.txt');
    const relayed: readonly ModelMessage[] = [
      ...first.messages.slice(0, 2),
      {
        role: 'results',
        results: [{ ...lastResult(first.messages), content: 'operator answered the user.' }],
      },
      { role: 'assistant', author: 'operator', content: [{ type: 'text', text: 'AAA' }] },
    ];
    expect((await run('remember it', { earlier: relayed })).rounds).toEqual([
      [['librarian', 'remember "AAA"', true]],
    ]);
  });

  it('does what it understood and says what it did not', async () => {
    const { rounds, said } = await run('read a.txt and then dance. Who are you?');
    expect(rounds).toEqual([[['operator', 'read a.txt', false]]]);
    expect(said).toContain("I am Lango's offline model");
    expect(said).toContain('answer of operator');
    expect(said).toContain('I did not understand: "dance"');
  });

  const twins = { first: ['read {path}'], second: ['read {path}', 'write {content} to {path}'] };
  const refuse =
    (...agents: readonly string[]): Respond =>
    (call) =>
      agents.includes(agentOf(call))
        ? { error: `${agentOf(call)} rejected the request: not mine. Do not ask it again; ask another.` }
        : answer(call);

  it('goes to the next agent whose examples fit when one turns a request down', async () => {
    const { rounds } = await run('read a.txt', {
      functions: [transferSpec(twins)],
      respond: refuse('first'),
    });
    expect(rounds).toEqual([[['first', 'read a.txt', true]], [['second', 'read a.txt', true]]]);
  });

  it('asks nobody twice and says plainly why nobody did it', async () => {
    const { rounds, said } = await run('read a.txt and then open example.com', {
      functions: [transferSpec({ ...twins, navigator: CARDS.navigator! })],
      respond: refuse('first', 'second'),
    });
    expect(rounds.flat().map(([agent]) => agent)).toEqual(['first', 'second']);
    expect(said).toBe(
      'I could not do this: read a.txt\nfirst rejected the request: not mine.\nsecond rejected the request: not mine.\n\nNot done because of that: "open example.com".',
    );
  });

  it('gives a whole request only to an agent that can do all of it', async () => {
    const cards = { first: ['read {path}', 'run {command}'], second: ['read {path}'] };
    const { rounds, said } = await run('read a.txt and then run ls', {
      functions: [transferSpec(cards)],
      respond: refuse('first'),
    });
    expect(rounds).toHaveLength(1);
    expect(said).toContain('I could not do this: read a.txt and then run ls');
  });

  it('goes on when an agent that turned something down is offered no more, and at the end of its rounds', async () => {
    const text = 'read a.txt and then open example.com';
    const messages: ModelMessage[] = [userSays(text)];
    const step = async (functions: readonly FunctionSpec[], respond: Respond) => {
      const { content } = await answerTo(modelRequest({ messages, functions }));
      const calls = content.filter((block) => block.type === 'function-call');
      messages.push({ role: 'assistant', author: 'o', content });
      const results = calls.map((call) => {
        const said = respond(call);
        const isError = typeof said !== 'string';
        return { id: call.id, name: call.name, content: isError ? said.error : said, isError };
      });
      messages.push({ role: 'results', results });
      return { agents: calls.map(agentOf), content };
    };
    const cards = { ...twins, navigator: CARDS.navigator! };
    expect((await step([transferSpec(cards)], refuse('first'))).agents).toEqual(['first']);
    const without = { second: cards.second, navigator: cards.navigator };
    expect((await step([transferSpec(without)], answer)).agents).toEqual(['second']);
    const { content } = await step([], answer);
    expect(JSON.stringify(content)).toContain('answer of second');
    expect(JSON.stringify(content)).toContain('I could not do this: open example.com');
  });

  it('takes nobody for an agent whose name it cannot know', async () => {
    const { parameters, ...rest } = transferSpec(twins);
    const properties = { agent_name: { type: 'string' }, request: { type: 'string' } };
    const functions = [{ ...rest, parameters: { ...parameters, properties } }];
    expect((await run('ask grandma to read a.txt', { functions })).rounds).toEqual([]);
  });

  it('leaves out "final" where the function has none, and agents that are not in its enum', async () => {
    const { parameters, ...rest } = transferSpec(twins);
    const properties = { agent_name: { enum: ['second'] }, request: { type: 'string' } };
    const { rounds } = await run('read a.txt', {
      functions: [{ ...rest, parameters: { ...parameters, properties } }],
    });
    expect(rounds).toEqual([[['second', 'read a.txt', undefined]]]);
  });
});

function lastResult(messages: readonly ModelMessage[]) {
  const found = messages.findLast((message) => message.role === 'results');
  if (found?.role !== 'results') throw new Error('no results');
  return found.results[0]!;
}
