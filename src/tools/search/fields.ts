import { z } from 'zod';

export const SEARCH_TIME_MS = 30_000;
export const DEFAULT_LIMIT = 5;
const MOST = 20;
const LONGEST_QUERY = 1_000;

export const querySchema = z.strictObject({
  query: z.string().trim().min(1).max(LONGEST_QUERY).describe('What to look for, in plain words'),
  limit: z.number().int().min(1).max(MOST).optional().describe(`${DEFAULT_LIMIT} results by default`),
});
