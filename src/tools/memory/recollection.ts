import { NOTHING_RECALLED, type Recollection } from '../../core/run.js';
import type { MemoryStore, Observation } from '../../stores/memory.js';
import type { Run } from '../../core/run.js';
import { estimateTokens } from '../../core/text.js';
import { formatTime, outsideMark } from './transcript.js';

export interface RecollectionOptions {
  readonly memory: MemoryStore;
  /** Maximum (estimated) tokens of memory in one prompt. */
  readonly promptTokens: number;
}

const ENTRIES_MAX = 500;

/**
 * Selects the memory that a run for a person begins with: the newest observations that fit, those of this conversation
 * first, then the newest reflections. A delegated run gets none, because its request contains what it needs.
 */
export async function recall(run: Run, { memory, promptTokens }: RecollectionOptions): Promise<Recollection> {
  const { task } = run;
  if (run.grant.chain.length > 0) return NOTHING_RECALLED;
  const upTo = await memory.observedUpTo(task, task.agent, task.contextId);
  const open = await memory.observations(task, { open: true, limit: ENTRIES_MAX });
  const reflections = await memory.reflections(task, ENTRIES_MAX);
  const isHere = ({ contextId }: { readonly contextId: string }) => contextId === task.contextId;
  const budget = new Budget(promptTokens);
  const noted = ({ at, ...one }: Observation) => line(formatTime(at), one);
  const here = budget.take(open.filter(isHere).map(noted));
  const elsewhere = budget.take(open.filter((one) => !isHere(one)).map(noted));
  const older = budget.take(reflections.map(({ to, ...one }) => line(`until ${formatTime(to)}`, one)));
  const text = [
    ...section('Earlier times, condensed', older),
    ...section('Other conversations with this user', elsewhere),
    ...section('Earlier in this conversation', here),
  ].join('\n');
  const fromOutside = [...here, ...elsewhere, ...older].some((line) => line.fromOutside);
  return { text: text === '' ? undefined : text, upTo, fromOutside };
}

interface Line {
  readonly text: string;
  readonly fromOutside: boolean;
}

function line(date: string, { text, fromOutside }: Line): Line {
  return { text: `- ${date}: ${text}${outsideMark(fromOutside)}`, fromOutside };
}

/** Takes lines, newest first, while they fit the budget. Returns them oldest first. */
class Budget {
  #left: number;

  constructor(tokens: number) {
    this.#left = tokens;
  }

  take(newestFirst: readonly Line[]): readonly Line[] {
    const taken: Line[] = [];
    for (const line of newestFirst) {
      const tokens = estimateTokens(line.text);
      if (tokens > this.#left) break;
      this.#left -= tokens;
      taken.push(line);
    }
    return taken.reverse();
  }
}

function section(title: string, lines: readonly Line[]): readonly string[] {
  return lines.length === 0 ? [] : [`${title}:`, ...lines.map(({ text }) => text)];
}
