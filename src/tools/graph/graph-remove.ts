import { z } from 'zod';
import { LangoError } from '../../core/errors.js';
import type { GraphStore } from '../../core/graph.js';
import { counted } from '../../core/text.js';
import type { Tool } from '../../core/tool.js';
import { defineTool } from '../../core/tool.js';
import { GRAPH_TIME_MS, nameField } from './fields.js';

const removeSchema = z.strictObject({
  subject: nameField('What the statement is about').optional(),
  predicate: nameField('The relation').optional(),
  object: nameField('What it is related to').optional(),
  source: nameField('Everything that comes from this source, instead of a pattern').optional(),
});

export function removeTool(graph: GraphStore): Tool {
  return defineTool({
    name: 'graph_remove',
    description:
      'Removes triples from the knowledge graph: those that match every part that is named, or all that one source stated.',
    schema: removeSchema,
    // What is gone stays gone: removing it again removes nothing.
    effect: 'keyed',
    danger: () => 'moderate',
    timeoutMs: () => GRAPH_TIME_MS,
    examples: [
      {
        text: 'remove from the graph that {subject} depends on {object}',
        arguments: { predicate: 'depends on' },
      },
      { text: 'remove from the graph: {subject} | {predicate} | {object}' },
      { text: 'remove everything about {subject} from the graph' },
    ],
    async execute({ source, ...pattern }, { tenant, owner }) {
      const scope = { tenant, owner };
      const isNamed = Object.values(pattern).some((name) => name !== undefined);
      if (isNamed === (source !== undefined)) {
        throw new LangoError('invalid-input', 'either parts of a triple or a source are needed', {
          hint: 'Name subject, predicate or object, or only source. Nothing was removed.',
        });
      }
      const removed =
        source === undefined ? await graph.remove(scope, pattern) : await graph.removeSource(scope, source);
      return { content: removed === 0 ? 'Nothing matched.' : `Removed ${counted(removed, 'triple')}.` };
    },
  });
}
