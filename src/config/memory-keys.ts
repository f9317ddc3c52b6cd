import { z } from 'zod';
import { count, text } from './fields.js';

export const observationalMemory = z
  .strictObject({
    enabled: z
      .boolean()
      .default(false)
      .describe(
        'Note after runs what happened in a conversation, and tell later runs. With a model each note costs a call to it; the offline model notes by plain rules.',
      ),
    model: text()
      .optional()
      .describe('Which model of `model.provider` notes and condenses. Default: `model.name`.'),
    observeTokens: count()
      .default(6_000)
      .describe('Conversation not yet noted is noted from so many tokens on (estimated).'),
    reflectTokens: count().default(4_000).describe('Notes are condensed from so many tokens on.'),
    promptTokens: count().default(2_000).describe('What of it all goes into one prompt, in tokens.'),
  })
  .prefault({})
  .describe('Memory that works by itself: dated observations of conversations, and what they come to.');

export const memoryTools = z
  .strictObject({
    enabled: z.boolean().default(true).describe('Offer the tools that keep facts, and tell runs of them.'),
    promptTokens: count()
      .default(500)
      .describe('What of the facts that match a message goes into its prompt, in tokens (estimated).'),
  })
  .prefault({})
  .describe('Facts that a person wants remembered.');
