import { type AllStores } from '../all-stores.js';
import { cutIntoPassages } from '../../src/parsing/passages.js';
import type { Dice } from './corpus.js';
import { codeName, diceOf, entryOf, plantedIn, plantedIndex, wordOf } from './corpus.js';
import type { Figure } from './figures.js';
import { figureOf } from './figures.js';
import type { Trials } from './trials.js';
import { inGroups, timeFigure, timesOf } from './trials.js';

const OWNER = { tenant: 'bench', owner: 'somebody' };
/** Keeps as many as one of a hundred, among all the others. */
const SMALL_OWNER = { tenant: 'bench', owner: 'with little' };
const SMALL_ENTRIES = 100;
const LIMIT = 20;
const TARGET_MS = 50;

interface Question {
  readonly text: string;
  /** Part of the key of an entry that must be found. */
  readonly finds?: string;
}

/** The questions, by their kind of difficulty. */
function questions(entries: number): Readonly<Record<string, (dice: Dice) => Question>> {
  const planted = (which: keyof ReturnType<typeof plantedIn>) => (dice: Dice) => {
    const index = plantedIndex(entries, dice);
    return { text: plantedIn(index)[which], finds: ` ${index}` };
  };
  const words = (ranks: readonly number[]) => ({ text: ranks.map(wordOf).join(' ') });
  return {
    'one rare word': planted('word'),
    'one common word': (dice) => words([Math.floor(3 + dice() * 40)]),
    'a word of every entry': () => ({ text: 'server' }),
    'three words of every entry': () => ({ text: 'server status report' }),
    'four of the most frequent': (dice) => words([0, 1, 2, Math.floor(3 + dice() * 9)]),
    'three names that share parts': (dice) => ({ text: [0, 1, 2].map(() => codeName(dice)).join(' ') }),
    'a name of code': planted('name'),
    'a part of a name': (dice) => {
      const { text, finds } = planted('name')(dice);
      return { text: text.slice(2, -2), finds };
    },
    'a Korean word': planted('korean'),
    'a frequent Korean word': () => ({ text: '금요일' }),
    'a Chinese word': planted('chinese'),
    'a frequent Chinese word': () => ({ text: '部署密钥' }),
    'twenty words': (dice) => words(Array.from({ length: 20 }, () => Math.floor(200 * dice()))),
  };
}

/** Measures storing entries, and finding them by their words. */
export async function textSearch(
  { library, knowledge }: AllStores,
  trials: Trials,
): Promise<readonly Figure[]> {
  const { entries, rounds, questions: count } = trials;
  const dice = diceOf(7);
  const every = Math.ceil(entries / SMALL_ENTRIES);
  const startedAt = performance.now();
  await inGroups(entries, async (index) => {
    const { key, content } = entryOf(index, dice);
    await knowledge.save(index % every === 1 ? SMALL_OWNER : OWNER, {
      kind: 'knowledge',
      key,
      category: 'bench',
      content,
      tags: [],
      provenance: { fromOutside: false },
      callKey: key,
      passages: cutIntoPassages(content, { syntax: 'markdown', hasLines: false }),
    });
  });
  const seconds = (performance.now() - startedAt) / 1_000;
  const size = entries.toLocaleString('en-US');
  const search = async (scope: typeof OWNER, { text, finds }: Question): Promise<void> => {
    const hits = await library.findText(scope, { text, limit: LIMIT });
    if (hits.length === 0 || (finds !== undefined && !hits[0]!.name.endsWith(finds))) {
      throw new Error(`"${text}" did not find what it should among ${hits.length} results`);
    }
  };
  const figures = [
    figureOf({
      id: 'knowledge.ingest',
      title: `keeping ${size} entries`,
      unit: 'per second',
      samples: { lango: [entries / seconds] },
    }),
  ];
  for (const [title, ask] of Object.entries(questions(entries))) {
    const times = await timesOf({ rounds, count }, () => search(OWNER, ask(dice)));
    figures.push(timeFigure({ id: 'knowledge.text', title: `by words: ${title}`, times, atMost: TARGET_MS }));
  }
  const title = `  three, of an owner with ${SMALL_ENTRIES} of the ${size}`;
  const times = await timesOf({ rounds, count }, () =>
    search(SMALL_OWNER, { text: `server status ${wordOf(1)}` }),
  );
  return [...figures, timeFigure({ id: 'knowledge.text', title, times, atMost: TARGET_MS })];
}
