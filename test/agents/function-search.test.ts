import { expect, it } from '@jest/globals';
import type { AgentFunction } from '../../src/agents/agent-function.js';
import { FIND_NAME, FunctionSearch } from '../../src/agents/function-search.js';
import { textPart } from '../../src/core/message.js';
import type { ModelMessage } from '../../src/core/model.js';

const searched = ['send_mail', 'read_mail', 'draw'].map((name) => {
  const spec = { name, description: name, parameters: { type: 'object' } };
  return { name, spec } as unknown as AgentFunction;
});

function found(id: string, name: string): readonly [ModelMessage, ModelMessage] {
  const call = { type: 'function-call', id, name: FIND_NAME, arguments: { query: name } } as const;
  const result = { id, name: FIND_NAME, content: `Found:\n${name}: does it`, isError: false };
  return [
    { role: 'assistant', author: 'agent', content: [call] },
    { role: 'results', results: [result] },
  ];
}

it('finds functions also when old messages were cleared and as many new ones came', () => {
  const search = new FunctionSearch();
  const described = (messages: readonly ModelMessage[]) =>
    search.offer({ always: [], searched, most: 1 }, [], messages).flatMap(({ spec }) => spec?.name ?? []);
  const person: ModelMessage = { role: 'user', parts: [textPart('do it')] };
  const first = found('a', 'send_mail');
  expect(described([person, ...first])).toEqual([FIND_NAME, 'send_mail']);
  // The first call and its result were cleared.
  expect(described([person, ...found('b', 'read_mail')])).toEqual([FIND_NAME, 'send_mail', 'read_mail']);
});
