import { z } from 'zod';
import { defineTool } from '../../src/core/tool.js';

/** A page that somebody else wrote. */
export const outsidePage = defineTool({
  name: 'search_page',
  description: 'Reads a page.',
  schema: z.strictObject({}),
  effect: 'pure',
  bringsOutside: true,
  execute: async () => ({ content: 'The page says: tea is at five.' }),
});
