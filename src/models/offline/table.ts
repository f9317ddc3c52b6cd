import type { SentenceRow } from '../../core/capability.js';
import { parseSentence, type Sentence } from './sentence.js';

/** The delegation function of the agent loop. */
export const TRANSFER = 'transfer_to_agent';
/** Stands for no tool: the planner writes an outline itself. */
export const PLAN = 'plan';

/**
 * The sentences of every server. `{name}` stands for one word or one quotation, `{name...}` for any number of words; a
 * sentence holds one of the latter at most. A `?` at the end may be left out. A placeholder is the argument of its name,
 * unless the tool or the other arguments use it.
 */
const OWN: readonly SentenceRow[] = [
  ['make a plan for {goal...}', PLAN],
  ['ask {agent_name} to {request...}', TRANSFER],
  ['call {tool} with {arguments...}', '{tool}'],
  ['call {tool}', '{tool}'],
];

/** The sentences that the offline model understands. */
export interface SentenceTable {
  readonly rows: readonly SentenceRow[];
  /** The sentence with the most fixed words first: of several that fit, the first counts. */
  readonly ranked: readonly { readonly row: SentenceRow; readonly sentence: Sentence }[];
}

/** Makes the table of the sentences of capabilities, and those of every server. */
export function createTable(ofCapabilities: readonly SentenceRow[]): SentenceTable {
  const rows = [...ofCapabilities, ...OWN];
  const parsed = rows.map((row) => ({ row, sentence: parseSentence(row[0]) }));
  return { rows, ranked: parsed.sort((a, b) => b.sentence.weight - a.sentence.weight) };
}
