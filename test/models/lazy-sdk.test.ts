import { describe, expect, it, jest } from '@jest/globals';
import { RecordingLogger } from '../support/recording-logger.js';
import { collect, modelRequest } from '../support/model-requests.js';

const loaded: string[] = [];
for (const sdk of ['@anthropic-ai/sdk', 'openai']) {
  jest.unstable_mockModule(sdk, () => {
    loaded.push(sdk);
    throw new Error(`${sdk} is not installed`);
  });
}
const { createAnthropicProvider } = await import('../../src/models/anthropic/provider.js');
const { createOpenaiProvider } = await import('../../src/models/openai/provider.js');

describe.each([
  ['@anthropic-ai/sdk', createAnthropicProvider],
  ['openai', createOpenaiProvider],
])('the vendor’s package %s', (sdk, create) => {
  it('is loaded by the first call, and its absence is an error event', async () => {
    const logger = new RecordingLogger();
    const provider = create({ model: 'm', apiKey: 'k', baseUrl: 'http://127.0.0.1:9', logger });
    expect(loaded).not.toContain(sdk);
    const events = await collect(provider, modelRequest());
    expect(loaded).toContain(sdk);
    expect(events).toEqual([
      expect.objectContaining({ type: 'error', code: 'bad-answer', retryable: false }),
    ]);
    expect(logger.lines.join()).toContain(`${sdk} is not installed`);
  });
});
