import type { MemoryStore, Recollection } from '../../core/memory.js';
import type { Run } from '../../core/run.js';
import { estimateTokens } from '../../core/text.js';
import { day } from './transcript.js';

export interface RecollectionOptions {
  readonly memory: MemoryStore;
  /** What of it all goes into one prompt, in (estimated) tokens. */
  readonly promptTokens: number;
}

const ENTRIES_MAX = 500;
const NOTHING: Recollection = { text: undefined, upTo: undefined };

/**
 * What a person's own run begins with: the newest observations that fit, those of this conversation first, then the
 * newest reflections. A delegated run gets none: its request says what it needs.
 */
export async function recall(run: Run, { memory, promptTokens }: RecollectionOptions): Promise<Recollection> {
  const { task } = run;
  if (run.grant.chain.length > 0) return NOTHING;
  const upTo = await memory.observedUpTo(task, task.agent, task.contextId);
  const open = await memory.observations(task, { open: true, limit: ENTRIES_MAX });
  const reflections = await memory.reflections(task, ENTRIES_MAX);
  const isHere = ({ contextId }: { readonly contextId: string }) => contextId === task.contextId;
  const budget = new Budget(promptTokens);
  const here = budget.take(open.filter(isHere).map(({ at, text }) => `- ${day(at)}: ${text}`));
  const elsewhere = budget.take(
    open.filter((one) => !isHere(one)).map(({ at, text }) => `- ${day(at)}: ${text}`),
  );
  const older = budget.take(reflections.map(({ to, text }) => `- until ${day(to)}: ${text}`));
  const text = [
    ...section('Earlier times, condensed', older),
    ...section('Other conversations with this user', elsewhere),
    ...section('Earlier in this conversation', here),
  ].join('\n');
  return { text: text === '' ? undefined : text, upTo };
}

/** Lines, the newest first, as long as they fit; given back oldest first. */
class Budget {
  #left: number;

  constructor(tokens: number) {
    this.#left = tokens;
  }

  take(newestFirst: readonly string[]): readonly string[] {
    const taken: string[] = [];
    for (const line of newestFirst) {
      const tokens = estimateTokens(line);
      if (tokens > this.#left) break;
      this.#left -= tokens;
      taken.push(line);
    }
    return taken.reverse();
  }
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [`${title}:`, ...lines];
}
