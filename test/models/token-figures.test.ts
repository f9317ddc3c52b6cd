import { describe, expect, it } from '@jest/globals';
import { transferSpec } from '../../src/agents/transfer.js';
import type { FunctionCall, ModelMessage, ModelRequest } from '../../src/core/model.js';
import { toAnthropicRequest } from '../../src/models/anthropic/request.js';
import { outputTokens, requestTokens } from '../../src/models/conversation.js';
import { createOfflineProvider } from '../../src/models/offline/provider.js';
import { toOpenaiRequest } from '../../src/models/openai/request.js';
import { answerOf, modelRequest, READ_FILE, userMessage } from '../support/model-requests.js';

const call: FunctionCall = {
  type: 'function-call',
  id: 'offline_1',
  name: 'fs_read',
  arguments: { path: 'a.txt' },
};
const result = { id: 'offline_1', name: 'fs_read', content: 'word '.repeat(300), isError: false };
const CONTEXT = {
  ...{ origin: 'offline', endpoint: { model: 'm', baseUrl: 'http://127.0.0.1/' }, tuning: {} },
  adjusted: { has: () => false },
};

function conversation(messages: readonly ModelMessage[]): ModelRequest {
  return modelRequest({
    system: [
      { text: 'You are the operator. '.repeat(100), stable: true },
      { text: '  ', stable: false },
    ],
    messages,
    functions: [READ_FILE, transferSpec([{ name: 'operator' }])!],
  });
}

describe('the token counts of the offline model', () => {
  const request = conversation([
    userMessage('read a.txt'),
    {
      role: 'assistant',
      author: 'operator',
      content: [call, { type: 'opaque', provider: 'other', block: { a: 'x'.repeat(4_000) } }],
    },
    { role: 'results', results: [result] },
  ]);

  it.each([
    ['Anthropic', () => toAnthropicRequest(request, CONTEXT)],
    ['OpenAI', () => toOpenaiRequest(request, CONTEXT)],
  ])('equal those of a request to %s within a tenth', async (_, build) => {
    const sent = Buffer.byteLength(JSON.stringify(build())) / 4;
    const { usage } = await answerOf(createOfflineProvider({ sentences: [] }), request);
    expect(usage.input).toBeGreaterThan(0.9 * sent);
    expect(usage.input).toBeLessThan(1.1 * sent);
  });

  it('count a picture as vendors do, not by its bytes', () => {
    const picture = { kind: 'file', bytes: 'A'.repeat(1_000_000), mediaType: 'image/png' } as const;
    const without = requestTokens(conversation([userMessage('look')]), 'offline');
    const shown = conversation([{ role: 'user', parts: [{ kind: 'text', text: 'look' }, picture] }]);
    const tokens = requestTokens(shown, 'offline') - without;
    expect(tokens).toBeGreaterThan(1_000);
    expect(tokens).toBeLessThan(2_000);
  });

  it('count a response in the form in which it is sent back', () => {
    expect(outputTokens([call])).toBe(Math.ceil('{"name":"fs_read","input":{"path":"a.txt"}}'.length / 4));
  });
});
