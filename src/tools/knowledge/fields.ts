import { z } from 'zod';

export const SAVE_TIME_MS = 15_000;
const LONGEST_TAG = 64;
const MOST_TAGS = 20;
export const DEFAULT_CATEGORY = 'general';
const LONGEST_NAME = 200;
const LONGEST_SOURCE = 2_000;

/** A short text on one line. */
export function nameField(description: string, longest = LONGEST_NAME): z.ZodString {
  return z.string().trim().min(1).max(longest).describe(description);
}

/** The text itself. */
export function contentField(description: string, longest: number): z.ZodString {
  return z.string().trim().min(1).max(longest).describe(description);
}

export function tagsField() {
  return z.array(nameField('A tag', LONGEST_TAG)).max(MOST_TAGS).optional().describe('Words to find it by');
}

export function sourceField() {
  return nameField('Where it comes from: an address, a file, a person', LONGEST_SOURCE).optional();
}
