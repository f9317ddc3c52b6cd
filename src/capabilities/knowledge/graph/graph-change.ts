import { z } from 'zod';
import { LangoError } from '../../../core/errors.js';
import type { GraphStore } from '../stores/graph.js';
import { counted } from '../../../core/text.js';
import { defineTool, type Tool } from '../../../core/tool.js';
import { isFromOutside, outsideField } from '../provenance.js';
import { nameField, patternFields, TRIPLES_MAX } from './fields.js';

const triple = z.strictObject({
  subject: nameField('What the statement is about'),
  predicate: nameField('The relation'),
  object: nameField('What the subject is related to'),
});

const addSchema = z.strictObject({
  ...patternFields,
  triples: z
    .array(triple)
    .min(1)
    .max(TRIPLES_MAX)
    .optional()
    .describe('Several triples, instead of a single one'),
  source: nameField('The source of the statement; this task by default').optional(),
  fromOutside: outsideField(),
});

export function addTool(graph: GraphStore): Tool {
  return defineTool({
    name: 'graph_add',
    description:
      'Adds one triple (subject, predicate, object) or a list of triples to the knowledge graph, with their source. A known triple is not added again.',
    schema: addSchema,
    // The graph is a set, so adding a known triple changes nothing.
    effect: 'keyed',
    danger: 'moderate',
    async execute(input, context) {
      const { tenant, owner, taskId, contextId } = context;
      const { source = `task ${taskId}` } = input;
      const fromOutside = isFromOutside(input, context);
      const triples = triplesOf(input);
      const added = await graph.add(
        { tenant, owner },
        triples.map((one) => ({ ...one, source, fromOutside, contextId })),
      );
      const known = triples.length - added;
      const rest = known === 0 ? '' : `, ${known} known already`;
      return { content: `Added ${counted(added, 'triple')}${rest}. Source: ${source}.` };
    },
  });
}

type Named = z.infer<typeof triple>;

function triplesOf({ subject, predicate, object, triples }: z.infer<typeof addSchema>): readonly Named[] {
  const single = triple.safeParse({ subject, predicate, object });
  const isSingle = subject !== undefined || predicate !== undefined || object !== undefined;
  if (triples && !isSingle) return triples;
  if (!triples && single.success) return [single.data];
  throw new LangoError(
    'invalid-input',
    'subject, predicate, object: all three are required, or a list of triples in triples.',
    { hint: 'Pass subject, predicate and object, or only triples.' },
  );
}

const removeSchema = z.strictObject({
  ...patternFields,
  source: nameField('Remove everything that comes from this source, instead of a pattern').optional(),
});

export function removeTool(graph: GraphStore): Tool {
  return defineTool({
    name: 'graph_remove',
    description:
      'Removes triples from the knowledge graph: those that match all given parts, or all triples from one source.',
    schema: removeSchema,
    // Removing a triple again changes nothing.
    effect: 'keyed',
    danger: 'moderate',
    async execute({ source, ...pattern }, { tenant, owner }) {
      const scope = { tenant, owner };
      const isNamed = Object.values(pattern).some((name) => name !== undefined);
      if (isNamed === (source !== undefined)) {
        throw new LangoError('invalid-input', 'Give either parts of a triple or a source.', {
          hint: 'Pass subject, predicate or object, or only source. Nothing was removed.',
        });
      }
      const removed =
        source === undefined ? await graph.remove(scope, pattern) : await graph.removeSource(scope, source);
      return { content: removed === 0 ? 'Nothing matched.' : `Removed ${counted(removed, 'triple')}.` };
    },
  });
}
