import { expect } from '@jest/globals';
import type { Quirk } from '../quirk.js';
import { ask } from '../strict-vendor.js';
import { MODEL_WIRES } from '../vendor-streams.js';

/** Models that write a blank text before a call. */
export const BLANK_TEXT: readonly Quirk[] = MODEL_WIRES.map((wire) => ({
  id: `blank-text-${wire}`,
  class: 3,
  wire,
  vendor: 'Anthropic',
  source: 'The errors of the Messages API ("text content blocks must contain non-whitespace text")',
  quirk: 'The API refuses a blank text, although its own models write one before a call.',
  right: 'A blank text is left out of later requests.',
  async check() {
    const told = await ask({
      wire,
      answers: [{ text: ' \n', calls: [{ name: 'fs_list' }] }, { text: 'It is empty.' }],
    });
    expect(told.refused).toEqual([]);
    expect([told.state, told.text, told.results]).toEqual([
      'completed',
      'It is empty.',
      [expect.stringContaining('empty')],
    ]);
  },
}));
