import type { SentenceRow } from '../../core/capability.js';

/** The sentences that the offline model understands. */
export const MEMORY_SENTENCES: readonly SentenceRow[] = [
  ['record the observation that {observation...}', 'observe_record'],
  ['list your observations', 'memory_list_observations'],
  ['what have you observed?', 'memory_list_observations'],
  ['reflect on what you observed', 'reflect_summarize'],
  ['list your reflections', 'memory_list_reflections'],
];
