import { describe, expect, it } from '@jest/globals';
import { conversationOf } from '../../src/agents/events-adapter.js';
import { textPart } from '../../src/core/message.js';
import type { ModelMessage } from '../../src/core/model.js';
import { replyPart } from '../../src/core/questions.js';
import { rootAgentName } from '../../src/core/agent.js';
import type { EventBody, TaskEvent } from '../../src/core/task.js';
import { MemoryRun } from '../support/memory-run.js';
import { team, toolNamed } from '../support/agent-fixtures.js';
import { USAGE, call, say } from '../support/scripted-model.js';

let seq = 0;
const event = (taskId: string, body: EventBody, author?: string): TaskEvent => ({
  ...{ taskId, author, body },
  ...{ seq: (seq += 1), at: 0 },
});
const user = (taskId: string, text: string) =>
  event(taskId, { type: 'message', message: { id: text, role: 'user', parts: [textPart(text)] } }, 'user');
const answered = (
  taskId: string,
  step: string,
  { author, ...answer }: ReturnType<typeof say> & { author?: string },
) => event(taskId, { type: 'turn-end', step, ...answer }, author);
const result = (taskId: string, step: string, content: string) =>
  event(taskId, {
    type: 'tool-result',
    step,
    result: { id: 'call-0', name: 'fs_read', content, isError: false },
  });

const adapter = (change: Partial<Parameters<typeof conversationOf>[1]> = {}) => ({
  toMessages: (events: Parameters<typeof conversationOf>[0]) =>
    conversationOf(events, { rootAgentName: 'lango-agent', historyTokens: 10_000, ...change }),
});

function authors(messages: readonly ModelMessage[]): string[] {
  return messages.flatMap((message) => (message.role === 'assistant' ? [message.author] : []));
}

const read = call(['fs_read', { path: 'a' }]);

describe('the events adapter', () => {
  it('makes the messages of an event once, and again for another limit or root agent', () => {
    const events = [user('1', 'hi '.repeat(50)), answered('1', 't1', say('hello'))];
    const first = adapter().toMessages(events);
    const again = adapter().toMessages(events);
    expect(again.map((message, index) => message === first[index])).toEqual([true, true]);
    expect(authors(adapter({ rootAgentName: 'somebody' }).toMessages(events))).toEqual(['somebody']);
    expect(JSON.stringify(adapter({ historyTokens: 100 }).toMessages(events))).toContain('the whole text');
  });

  it('A1 gives an event its stored author', () => {
    const events = [user('1', 'hi'), answered('1', 't1', { ...say('hello'), author: 'lango-orchestrator' })];
    expect(authors(adapter().toMessages(events))).toEqual(['lango-orchestrator']);
  });

  it('A2 gives an event without a stored author the configured root agent', () => {
    const events = [user('1', 'hi'), answered('1', 't1', say('hello'))];
    expect(authors(adapter({ rootAgentName: 'somebody' }).toMessages(events))).toEqual(['somebody']);
  });

  it('A3 has lango-agent as the root agent alone and lango-orchestrator in a team, and keeps a stored one', () => {
    expect([rootAgentName(false), rootAgentName(true)]).toEqual(['lango-agent', 'lango-orchestrator']);
    const events = [user('1', 'hi'), answered('1', 't1', { ...say('hello'), author: 'lango-orchestrator' })];
    expect(authors(adapter({ rootAgentName: rootAgentName(false) }).toMessages(events))).toEqual([
      'lango-orchestrator',
    ]);
  });

  it('A4 keeps two agents apart that speak one after the other', () => {
    const events = [
      user('1', 'hi'),
      answered('1', 't1', { ...say('I am one.'), author: 'one' }),
      answered('1', 't2', { ...say('I am two.'), author: 'two' }),
    ];
    expect(adapter().toMessages(events).slice(1)).toEqual([
      { role: 'assistant', author: 'one', content: [{ type: 'text', text: 'I am one.' }] },
      { role: 'assistant', author: 'two', content: [{ type: 'text', text: 'I am two.' }] },
    ]);
  });

  it('A4 lists both the orchestrator and the agent after a final delegation', async () => {
    const made = team(
      {
        orchestrator: [call(['transfer_to_agent', { agent_name: 'operator', request: 'x', final: true }])],
        operator: [say('It says hi.')],
      },
      { tools: [toolNamed('fs_read')] },
    );
    const run = MemoryRun.of('lango-orchestrator', 'what is in a?');
    await run.perform(made.root);
    const messages = adapter().toMessages(run.events);
    expect(authors(messages)).toEqual(['lango-orchestrator', 'operator']);
    expect(messages.at(-2)).toMatchObject({ results: [{ content: 'operator answered the user.' }] });
    expect(messages.at(-1)).toMatchObject({ content: [{ text: 'It says hi.' }] });
  });

  it('pairs calls with their results, and closes those that have none', () => {
    const both = call(['fs_read', { path: 'a' }], ['fs_read', { path: 'b' }]);
    const events = [user('1', 'hi'), answered('1', 't1', both), result('1', 't1.c0', 'A')];
    expect(adapter().toMessages(events).at(-1)).toEqual({
      role: 'results',
      results: [
        { id: 'call-0', name: 'fs_read', content: 'A', isError: false },
        {
          id: 'call-1',
          name: 'fs_read',
          content: 'The task ended before there was a result.',
          isError: true,
        },
      ],
    });
  });

  it('uses the result of a repeated attempt, not one of another turn or of a wait', () => {
    const waiting: EventBody = {
      ...{ type: 'delegation-end', step: 't2.c0', agent: 'x', state: 'input-required', usage: USAGE },
      result: { id: 'call-0', name: 'fs_read', content: 'waits', isError: true },
    };
    const events = [
      ...[user('1', 'hi'), answered('1', 't1', read), result('1', 't1.c0.r1', 'first')],
      ...[answered('1', 't2', read), event('1', waiting), result('1', 't2.c0.x1', 'second')],
    ];
    const contents = adapter()
      .toMessages(events)
      .flatMap((message) =>
        message.role === 'results' ? message.results.map(({ content }) => content) : [],
      );
    expect(contents).toEqual(['first', 'second']);
    const cutOff = adapter().toMessages(events.slice(0, -1)).at(-1);
    expect(cutOff).toMatchObject({ results: [{ content: 'The task ended before there was a result.' }] });
  });

  it('leaves out a task whose first message was cut off, and empty output', () => {
    const events = [
      ...[result('1', 't1.c0', 'A'), answered('1', 't2', say('end of 1'))],
      ...[user('2', 'hi'), answered('2', 't1', say(''))],
    ];
    expect(adapter().toMessages(events)).toEqual([{ role: 'user', parts: [textPart('hi')] }]);
  });

  it('stays within its tokens: newest first, whole turns, each task with its first message', () => {
    const long = 'x'.repeat(400);
    const events = [
      ...[user('1', 'one'), answered('1', 't1', say('old'))],
      ...[user('2', 'two'), answered('2', 't1', say(long)), answered('2', 't2', say('b'))],
      ...[user('3', 'three'), answered('3', 't1', say('c'))],
    ];
    const kept = adapter({ historyTokens: 80 }).toMessages(events);
    expect(kept.map((message) => (message.role === 'user' ? textPartsOf(message) : 'answer'))).toEqual([
      ...['two', 'answer', 'three', 'answer'],
    ]);
    expect(JSON.stringify(kept)).not.toContain('xxx');
    expect(adapter({ historyTokens: 1 }).toMessages(events)).toEqual([]);
    const short = ['1', '2', '3'].flatMap((id) => [user(id, `task ${id}`), answered(id, 't1', say('ok'))]);
    expect(adapter({ historyTokens: 72 }).toMessages(short)).toHaveLength(4);
  });

  it('cuts a long old text rather than dropping the conversation', () => {
    const long = 'x'.repeat(10_000);
    const events = [user('1', long), answered('1', 't1', read), result('1', 't1.c0', long)];
    const messages = adapter({ historyTokens: 1_000 }).toMessages(events);
    expect(messages).toHaveLength(3);
    expect(JSON.stringify(messages).match(/9000 bytes left out/g)).toHaveLength(2);
  });

  it('leaves out replies to questions, keeps files, and drops the images of results', () => {
    const parts = [
      textPart('see'),
      { kind: 'file', bytes: 'aGk=', filename: 'a.png', mediaType: 'image/png' },
    ] as const;
    const image = { kind: 'file', bytes: 'aGk=', mediaType: 'image/png' } as const;
    const events = [
      event('1', { type: 'message', message: { id: 'a', role: 'user', parts } }),
      answered('1', 't1', read),
      event('1', {
        ...{ type: 'tool-result', step: 't1.c0' },
        result: { id: 'call-0', name: 'fs_read', content: 'A', isError: false, images: [image] },
      }),
      event('1', {
        type: 'message',
        message: { id: 'b', role: 'user', parts: [replyPart({ hash: 'f', decision: 'approve' })] },
      }),
    ];
    const messages = adapter().toMessages(events);
    expect(messages[0]).toEqual({
      role: 'user',
      parts: [textPart('see'), { kind: 'file', bytes: 'aGk=', mediaType: 'image/png', filename: 'a.png' }],
    });
    expect(messages).toHaveLength(3);
    expect(JSON.stringify(messages.slice(1))).not.toContain('aGk=');
  });
});

function textPartsOf(message: Extract<ModelMessage, { role: 'user' }>): string {
  return message.parts.map((part) => (part.kind === 'text' ? part.text : part.kind)).join();
}
