import { afterAll, describe, expect, it } from '@jest/globals';
import { registerHooks } from 'node:module';
import { createAnthropicProvider } from '../../src/models/anthropic/provider.js';
import { createOpenaiProvider } from '../../src/models/openai/provider.js';
import { RecordingLogger } from '../support/recording-logger.js';
import { collect, modelRequest } from '../support/model-requests.js';

const loaded: string[] = [];
const hooks = registerHooks({
  resolve(name, context, next) {
    if (name !== '@anthropic-ai/sdk' && name !== 'openai') return next(name, context);
    loaded.push(name);
    throw new Error(`${name} is not installed`);
  },
});
afterAll(() => hooks.deregister());

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
