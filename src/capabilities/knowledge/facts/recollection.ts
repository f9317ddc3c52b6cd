import { MEMORY_COLLECTION, type Retrieval } from '../stores/library.js';
import { NOTHING_RECALLED, type Recollection, type Run } from '../../../core/run.js';
import { textOf } from '../../../core/message.js';
import { estimateTokens } from '../../../core/text.js';
import { abortable, Deadline } from '../../../core/time.js';

export interface FactRecollectionOptions {
  readonly retrieval: Retrieval;
  /** Maximum (estimated) tokens of facts in one prompt. */
  readonly promptTokens: number;
}

/** Selects the facts in a search. */
export const FACTS = { only: [MEMORY_COLLECTION] };
const QUERY_MAX_LENGTH = 1_000;
const FACTS_MAX = 20;
/** Maximum time that an answer waits for the search. */
const SEARCH_MS = 2_000;

/**
 * Finds the facts that match the last message of a person, best first, as many as fit into `promptTokens`. A delegated
 * run gets none, because its request contains what it needs. Rejects when the search takes too long.
 */
export async function recallFacts(run: Run, options: FactRecollectionOptions): Promise<Recollection> {
  const query = textOf(run.inputs.at(-1)?.message.parts ?? [])
    .slice(0, QUERY_MAX_LENGTH)
    .trim();
  if (run.grant.chain.length > 0 || query === '') return NOTHING_RECALLED;
  using deadline = new Deadline(run.signal).expect(SEARCH_MS);
  const search = options.retrieval.search(run.task, { query, limit: FACTS_MAX, ...FACTS }, deadline.signal);
  // The search itself may ignore the signal.
  const { hits } = await abortable(search, deadline.signal);
  const lines: string[] = [];
  let left = options.promptTokens;
  let fromOutside = false;
  for (const { text, facts, savedAt } of hits) {
    const day = new Date(savedAt).toISOString().slice(0, 10);
    const line = `- ${day}: ${text}${facts.fromOutside ? ' [from outside]' : ''}`;
    const tokens = estimateTokens(line);
    if (tokens > left) continue;
    left -= tokens;
    fromOutside ||= facts.fromOutside;
    lines.push(line);
  }
  const text = lines.length === 0 ? undefined : ['Remembered facts:', ...lines].join('\n');
  return { text, upTo: undefined, fromOutside };
}
