import { type AllStores } from '../all-stores.js';
import type { NewTriple } from '../../src/capabilities/knowledge/stores/graph.js';
import { traverse } from '../../src/capabilities/knowledge/graph/index.js';
import type { Dice } from './corpus.js';
import { diceOf } from './corpus.js';
import type { Figure } from './figures.js';
import { figureOf } from './figures.js';
import type { Trials } from './trials.js';
import { timeFigure, timesOf } from './trials.js';

const OWNER = { tenant: 'bench', owner: 'with a graph' };
const TRIPLES_A_NODE = 10;
const RELATIONS = ['depends on', 'calls', 'owns', 'mentions', 'replaces'];
const GROUP = 1_000;
const TARGET_MS = 100;
/** The default and the largest number of triples that the tool returns. */
const LIMITS = [100, 1_000];

/** Measures two steps from a node in both directions, through nodes with very many edges. */
export async function graphWalk({ graph }: AllStores, trials: Trials): Promise<readonly Figure[]> {
  const { triples, rounds, questions: count } = trials;
  const nodes = triples / TRIPLES_A_NODE;
  const dice = diceOf(13);
  const startedAt = performance.now();
  for (let made = 0; made < triples; made += GROUP) {
    await graph.add(
      OWNER,
      Array.from({ length: GROUP }, () => tripleOf(nodes, dice)),
    );
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  const walk = async (start: string, limit: number): Promise<void> => {
    const { signal } = new AbortController();
    const options = { scope: OWNER, start, maxDepth: 2, predicates: undefined, signal };
    const { steps } = await traverse(graph, { ...options, direction: 'both', limit });
    if (steps.length < 2) throw new Error(`a walk from ${start} found ${steps.length} triples`);
  };
  const size = triples.toLocaleString('en-US');
  const figures = [
    figureOf({
      id: 'knowledge.graph.add',
      title: `adding ${size} triples`,
      unit: 'per second',
      samples: { lango: [triples / seconds] },
    }),
  ];
  for (const limit of LIMITS) {
    const times = await timesOf({ rounds, count }, () => walk(nodeOf(Math.floor(nodes * dice())), limit));
    const title = `two steps among ${size} triples, ${limit.toLocaleString('en-US')} at most`;
    figures.push(timeFigure({ id: 'knowledge.graph.walk', title, times, atMost: TARGET_MS }));
  }
  const times = await timesOf({ rounds, count }, () => walk(nodeOf(0), LIMITS[0]!));
  const title = '  from the node that most lead to';
  return [...figures, timeFigure({ id: 'knowledge.graph.walk', title, times, atMost: TARGET_MS })];
}

/** An edge from any node to one of the few frequent nodes, or to one of the many rare ones. */
function tripleOf(nodes: number, dice: Dice): NewTriple {
  return {
    subject: nodeOf(Math.floor(nodes * dice())),
    predicate: RELATIONS[Math.floor(RELATIONS.length * dice())]!,
    object: nodeOf(Math.floor(nodes ** dice()) - 1),
    source: `document ${Math.floor(nodes * dice())}`,
    fromOutside: false,
  };
}

function nodeOf(number: number): string {
  return `component ${number}`;
}
