import { NOTHING_RECALLED, type Recollection, type Run } from '../../core/run.js';
import { estimateTokens } from '../../core/text.js';
import type { MemoryStore, Observation, Reflection } from './memory-store.js';
import { formatTime, outsideMark, tokensOf } from './transcript.js';

export interface RecollectionOptions {
  readonly memory: MemoryStore;
  /** Maximum (estimated) tokens of memory in one prompt. */
  readonly promptTokens: number;
}

/** The most observations, and the most reflections, that are read. */
const MAX_READ = 500;
/** The share of the tokens that is reserved for reflections, because open observations alone could fill all of them. */
const REFLECTIONS_SHARE = 1 / 3;

/**
 * Selects the memory that a run for a person begins with: the newest observations that fit, those of this conversation
 * first, and the newest lines of reflections, which replace the observations that they summarize. A delegated run gets
 * none, because its request contains what it needs.
 */
export async function recall(run: Run, { memory, promptTokens }: RecollectionOptions): Promise<Recollection> {
  const { task } = run;
  if (run.grant.chain.length > 0) return NOTHING_RECALLED;
  const upTo = await memory.observedUpTo(task, task.agent, task.contextId);
  // Both are read at the same time, so that an observation that is condensed meanwhile appears in one of the two.
  const [open, reflections] = await Promise.all([
    memory.observations(task, { open: true, limit: MAX_READ }),
    memory.reflections(task, MAX_READ),
  ]);
  const isHere = ({ contextId }: Observation) => contextId === task.contextId;
  const noted = (one: Observation) => line(formatTime(one.at), one);
  const here = open.filter(isHere).map(noted);
  const elsewhere = open.filter((one) => !isHere(one)).map(noted);
  const older = reflections.flatMap(linesOf);
  const reserved = takeWithin(Math.floor(promptTokens * REFLECTIONS_SHARE), [older]).flat();
  // In the order of importance, each newest first.
  const [first = [], others = [], more = []] = takeWithin(promptTokens - tokensOf(reserved), [
    here,
    elsewhere,
    older.slice(reserved.length),
  ]);
  const sections = [
    { title: 'Earlier times, condensed', lines: [...reserved, ...more] },
    { title: 'Other conversations with this user', lines: others },
    { title: 'Earlier in this conversation', lines: first },
  ].filter(({ lines }) => lines.length > 0);
  const text = sections
    .flatMap(({ title, lines }) => [`${title}:`, ...lines.map((one) => one.text).reverse()])
    .join('\n');
  const fromOutside = sections.some(({ lines }) => lines.some((one) => one.fromOutside));
  return { text: text === '' ? undefined : text, upTo, fromOutside };
}

interface Line {
  readonly text: string;
  readonly fromOutside: boolean;
}

function line(date: string, { text, fromOutside }: Line): Line {
  return { text: `- ${date}: ${text}${outsideMark(fromOutside)}`, fromOutside };
}

/** The lines of a reflection, each understandable by itself, the newest first. */
function linesOf({ text, to, fromOutside }: Reflection): readonly Line[] {
  const lines = text.split('\n').filter((one) => one.trim() !== '');
  return lines.map((one) => line(`until ${formatTime(to)}`, { text: one, fromOutside })).reverse();
}

/** Takes lines from each list while they fit in the tokens that the lists before it left. */
function takeWithin(tokens: number, lists: readonly (readonly Line[])[]): readonly Line[][] {
  let left = tokens;
  return lists.map((lines) => {
    const taken: Line[] = [];
    for (const one of lines) {
      const cost = estimateTokens(one.text);
      if (cost > left) break;
      left -= cost;
      taken.push(one);
    }
    return taken;
  });
}
