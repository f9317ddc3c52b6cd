import { z } from 'zod';
import type { KnownTriple } from '../../core/graph.js';

export const GRAPH_TIME_MS = 30_000;
export const NAME_MAX = 500;
export const TRIPLES_MAX = 200;

const NAME = z.string().trim().min(1, 'must not be empty').max(NAME_MAX);

/** A name in the graph; what is empty after trimming is none. */
export function nameField(description: string): z.ZodString {
  return NAME.describe(description);
}

/** The parts of a triple, as far as they are named. */
export const patternFields = {
  subject: nameField('What the statement is about').optional(),
  predicate: nameField('The relation, such as "depends on"').optional(),
  object: nameField('What it is related to').optional(),
};

/** One line a triple, with where it comes from. */
export function tripleLine({ subject, predicate, object, sources, fromOutside }: KnownTriple): string {
  const mark = fromOutside ? ', from outside' : '';
  return `${subject} | ${predicate} | ${object}  [${sources.join('; ')}${mark}]`;
}
