import { type AllStores } from '../all-stores.js';
import type { Dice } from './corpus.js';
import { diceOf } from './corpus.js';
import type { Figure } from './figures.js';
import { figureOf } from './figures.js';
import type { Trials } from './trials.js';
import { inGroups, timeFigure, timesOf } from './trials.js';

const OWNER = { tenant: 'bench', owner: 'with vectors' };
/** The dimensions of small models that run on any machine. */
const DIMENSION = 384;
const MODEL = 'bench';
const LIMIT = 20;
const TARGET_MS = 100;
const GROUP = 1_000;

/** Measures finding the nearest of many vectors, each with a passage of a few words. */
export async function vectorSearch({ library }: AllStores, trials: Trials): Promise<readonly Figure[]> {
  const { vectors, rounds, questions: count } = trials;
  const dice = diceOf(11);
  await inGroups(vectors, async (index) => {
    const text = `chunk ${index}`;
    const passage = { text, start: 0, end: text.length, lines: undefined, heading: [] };
    const document = { collection: 'documents', origin: text, name: text, hash: text, passages: [passage] };
    const facts = { fromOutside: true };
    await library.put(OWNER, { ...document, modifiedAt: 0, bytes: text.length, facts });
  });
  for (;;) {
    const passages = await library.unembedded(OWNER, MODEL, GROUP);
    if (passages.length === 0) break;
    await library.addVectors(OWNER, MODEL, new Map(passages.map(({ id }) => [id, vectorOf(dice)])));
  }
  const find = async (): Promise<void> => {
    const hits = await library.findNear(OWNER, { vector: vectorOf(dice), model: MODEL, limit: LIMIT });
    if (hits.length !== LIMIT) throw new Error(`${hits.length} of ${LIMIT} nearest were found`);
  };
  const startedAt = performance.now();
  await find();
  const first = performance.now() - startedAt;
  const times = await timesOf({ rounds, count }, find);
  const title = `by vectors: ${LIMIT} nearest of ${vectors.toLocaleString('en-US')} with ${DIMENSION} numbers`;
  return [
    timeFigure({ id: 'knowledge.vectors', title, times, atMost: TARGET_MS }),
    figureOf({
      id: 'knowledge.vectors.first',
      title: '  the first time, which reads all of them',
      unit: 'ms',
      samples: { lango: [first] },
    }),
  ];
}

/** A vector of length 1 in a random direction. */
function vectorOf(dice: Dice): Float32Array {
  const numbers = Float32Array.from({ length: DIMENSION }, () => dice() + dice() + dice() - 1.5);
  const length = Math.hypot(...numbers);
  return numbers.map((number) => number / length);
}
