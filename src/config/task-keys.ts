import { z } from 'zod';
import { count, KIB } from './fields.js';

const MAX_DAYS = 36_500;

export const tasks = z
  .strictObject({
    retentionDays: z
      .int()
      .min(0)
      .max(MAX_DAYS)
      .default(90)
      .describe(
        'Tasks that ended so many days ago are removed with everything that belongs to them; 0 keeps them for ever.',
      ),
    events: count()
      .min(100)
      .default(100_000)
      .describe('Entries in the journal of one task; a task that would need more fails.'),
    eventBytes: count(16 * KIB * KIB)
      .min(KIB)
      .default(256 * KIB)
      .describe('Size of one entry, a message or a whole artifact for instance. What is larger is refused.'),
  })
  .prefault({})
  .describe('What is kept of tasks.');
