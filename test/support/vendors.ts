import { anthropicWire } from './anthropic-wire.js';
import { openaiWire } from './openai-wire.js';

/** The vendors by their configured name, with their wire format and the path of their API. */
export const VENDORS = [
  { provider: 'anthropic', wire: anthropicWire, base: '' },
  { provider: 'openai', wire: openaiWire, base: '/v1' },
] as const;
