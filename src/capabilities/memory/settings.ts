import { count, flag, group, optional, text } from '../../core/fields.js';

const observationalMemory = group(
  'Automatic memory: dated observations of conversations, condensed into reflections.',
  {
    enabled: flag(
      false,
      'Record observations of conversations after their runs, and add them to the prompts of later runs. With a model, each recording costs a model call. The offline model uses plain rules.',
    ),
    model: optional(
      text(),
      'The model of `model.provider` that observes and condenses. Default: `model.name`.',
    ),
    observeTokens: count(
      6_000,
      'Observations are recorded once a conversation has this many estimated tokens without any.',
    ),
    reflectTokens: count(
      4_000,
      'Observations are condensed into reflections once they have this many tokens.',
    ),
    promptTokens: count(2_000, 'The most tokens of observations and reflections in one prompt.'),
  },
);

export const MEMORY_SETTINGS = { observationalMemory };
