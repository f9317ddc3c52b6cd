import { silentLogger } from '../../src/core/logger.js';
import { createAiSdkProvider } from '../../src/models/ai-sdk/provider.js';
import type { ModelWire } from './model-wire.js';
import { openaiWire } from './openai-wire.js';

/** The package `@ai-sdk/openai-compatible`, which speaks Chat Completions. */
export const aiSdkWire: ModelWire = {
  ...openaiWire,
  // Packages parse every event.
  unknownEvent: '{"type":"ping"}',
  create: ({ baseUrl, ...options }) =>
    createAiSdkProvider({
      package: '@ai-sdk/openai-compatible',
      folders: [process.cwd()],
      model: 'gpt-test',
      logger: silentLogger,
      // The address is checked before the path is added.
      baseUrl: URL.canParse(baseUrl) ? `${baseUrl}/v1` : baseUrl,
      ...options,
    }),
};
