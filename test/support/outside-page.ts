import { z } from 'zod';
import { defineTool } from '../../src/core/tool.js';

/** A tool that returns a page of another author. */
export const outsidePage = defineTool({
  name: 'search_page',
  description: 'Reads a page.',
  schema: z.strictObject({}),
  effect: 'pure',
  bringsOutside: true,
  execute: async () => ({ content: 'The page says: tea is at five.' }),
});
