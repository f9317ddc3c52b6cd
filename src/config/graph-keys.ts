import { z } from 'zod';

export const graph = z
  .strictObject({
    enabled: z.boolean().default(true).describe('Offer the tools of the knowledge graph.'),
  })
  .prefault({})
  .describe('The knowledge graph: triples with their sources, in the database.');
