import { NOTHING_RECALLED, type Recollection, type Run } from '../../core/run.js';
import { estimateTokens } from '../../core/text.js';
import type { MemoryStore, Observation } from '../../stores/memory.js';
import { formatTime, outsideMark } from './transcript.js';

export interface RecollectionOptions {
  readonly memory: MemoryStore;
  /** Maximum (estimated) tokens of memory in one prompt. */
  readonly promptTokens: number;
}

const MAX_ENTRIES = 500;

/**
 * Selects the memory that a run for a person begins with: the newest observations that fit, those of this conversation
 * first, then the newest reflections. A delegated run gets none, because its request contains what it needs.
 */
export async function recall(run: Run, { memory, promptTokens }: RecollectionOptions): Promise<Recollection> {
  const { task } = run;
  if (run.grant.chain.length > 0) return NOTHING_RECALLED;
  const upTo = await memory.observedUpTo(task, task.agent, task.contextId);
  const open = await memory.observations(task, { open: true, limit: MAX_ENTRIES });
  const reflections = await memory.reflections(task, MAX_ENTRIES);
  const isHere = ({ contextId }: Observation) => contextId === task.contextId;
  const noted = (one: Observation) => line(formatTime(one.at), one);
  const here = open.filter(isHere).map(noted);
  const elsewhere = open.filter((one) => !isHere(one)).map(noted);
  const older = reflections.map((one) => line(`until ${formatTime(one.to)}`, one));
  // In the order of importance, each newest first.
  const taken = takeWithin(promptTokens, [here, elsewhere, older]);
  const titles = [
    'Earlier in this conversation',
    'Other conversations with this user',
    'Earlier times, condensed',
  ];
  const sections = taken.map((lines, index) => [
    ...(lines.length === 0 ? [] : [`${titles[index]}:`]),
    ...lines.map(({ text }) => text).reverse(),
  ]);
  const text = sections.reverse().flat().join('\n');
  const fromOutside = taken.flat().some((one) => one.fromOutside);
  return { text: text === '' ? undefined : text, upTo, fromOutside };
}

interface Line {
  readonly text: string;
  readonly fromOutside: boolean;
}

function line(date: string, { text, fromOutside }: Line): Line {
  return { text: `- ${date}: ${text}${outsideMark(fromOutside)}`, fromOutside };
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
