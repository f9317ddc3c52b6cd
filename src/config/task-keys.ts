import { z } from 'zod';

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
  })
  .prefault({})
  .describe('What is kept of tasks.');
