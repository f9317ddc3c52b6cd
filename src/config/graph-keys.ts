import { z } from 'zod';
import { count, text } from './fields.js';

const extraction = z
  .strictObject({
    enabled: z
      .boolean()
      .default(true)
      .describe(
        'Have the model tell the graph what saved knowledge states, in the background. The offline model cannot: then only what is added is there.',
      ),
    documents: z
      .boolean()
      .default(false)
      .describe('Ingested documents too: each costs a call of the model for about 8,000 characters.'),
    model: text().optional().describe('Which model of `model.provider` does it. Default: `model.name`.'),
    maxCharacters: count().default(24_000).describe('What is read of one entry or document at most.'),
    callsPerHour: count().default(120).describe('Calls of the model in any hour; the rest waits.'),
  })
  .prefault({})
  .describe('Triples from what is kept.');

export const graph = z
  .strictObject({
    enabled: z.boolean().default(true).describe('Offer the tools of the knowledge graph.'),
    extraction,
  })
  .prefault({})
  .describe('The knowledge graph: triples with their sources, in the database.');
