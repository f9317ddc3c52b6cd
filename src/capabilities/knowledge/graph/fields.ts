import { z } from 'zod';
import type { KnownTriple } from '../stores/graph.js';

export const NAME_MAX = 500;
export const TRIPLES_MAX = 200;

const NAME = z.string().trim().min(1, 'must not be empty').max(NAME_MAX);

/** A name in the graph. An empty or blank name is refused. */
export function nameField(description: string): z.ZodString {
  return NAME.describe(description);
}

/** The optional parts of a triple pattern. */
export const patternFields = {
  subject: nameField('What the statement is about').optional(),
  predicate: nameField('The relation, such as "depends on"').optional(),
  object: nameField('What the subject is related to').optional(),
};

/** Describes a triple on one line, with its sources. */
export function tripleLine({ subject, predicate, object, sources, fromOutside }: KnownTriple): string {
  const mark = fromOutside ? ', from outside' : '';
  return `${subject} | ${predicate} | ${object}  [${sources.join('; ')}${mark}]`;
}
