import type { Figure } from './figures.js';
import { figureOf, quantile, ratios } from './figures.js';
import type { CostReport } from './load.js';
import { drive, measure } from './load.js';
import { EXTENSIONS } from '../../src/core/extensions.js';
import { tokensAsked } from './requests.js';
import type { Scenario } from './scenario.js';
import { inTurns, samplesOf } from './scenario.js';
import type { Kind, Target } from './target.js';

const SHORT = 10;
const LONG = 1_000;
/** The message of the user and the response. */
const MESSAGES_PER_SEND = 2;
const FILL_CONNECTIONS = 8;
const MOST = 1.5;

/** A conversation with a server. */
interface Way {
  readonly kind: Kind;
  readonly id: string;
  readonly title: string;
  /** The text of every message. */
  readonly text: string;
}

const SENTENCE = 'a question of about forty characters, ok';
const WAYS: readonly Way[] = [
  { kind: 'lango-flat', id: 'conversation', title: 'a message', text: SENTENCE },
  {
    kind: 'lango-memory',
    id: 'conversation.memory',
    title: 'a long message, noted by the memory,',
    text: `${SENTENCE} `.repeat(10),
  },
];

/**
 * Measures the cost of one message in a short and in a long conversation, with a model that responds at once. Each
 * message of a turn goes to its own short conversation, or all of them to one long conversation, which grows a little
 * meanwhile.
 */
export const conversation: Scenario = async ({ start, sizes: { rounds, messages } }) => {
  const figures: Figure[] = [];
  for (const way of WAYS) {
    const target = await start(way.kind);
    await fill(target, { ...way, contexts: ['long'], messages: LONG });
    let made = 0;
    const short = async (): Promise<TurnReport> => {
      const contexts = Array.from({ length: messages }, () => `short-${(made += 1)}`);
      await fill(target, { ...way, contexts, messages: SHORT });
      return ask(target, way, contexts);
    };
    const long = (): Promise<TurnReport> => ask(target, way, Array<string>(messages).fill('long'));
    await short(); // until the code is compiled
    await long();
    figures.push(...figuresOf(way, await inTurns(rounds, { short, long }), messages));
    await target.stop();
  }
  return figures;
};

interface TurnReport extends CostReport {
  /** Tokens that the model got for each message. */
  readonly tokens: readonly number[];
}

interface Filling extends Way {
  readonly contexts: readonly string[];
  /** Per context. */
  readonly messages: number;
}

/**
 * Sends so many messages to each conversation: one after the other in a conversation, several conversations at once.
 */
async function fill(target: Target, { contexts, messages, text }: Filling): Promise<void> {
  const sends = contexts.flatMap((contextId) =>
    Array.from({ length: messages / MESSAGES_PER_SEND }, () => contextId),
  );
  await drive(target, {
    connections: FILL_CONNECTIONS,
    requests: sends.length,
    call: (index) => ({ method: 'SendMessage', text, contextId: sends[index]! }),
  });
}

/** Sends one message to each, one after the other. */
async function ask(target: Target, { text }: Way, contexts: readonly string[]): Promise<TurnReport> {
  const tokens: number[] = [];
  const report = await measure(target, {
    connections: 1,
    requests: contexts.length,
    call: (index) => ({
      method: 'SendMessage',
      text,
      contextId: contexts[index]!,
      extension: EXTENSIONS.usage,
    }),
    check: (answer) => void tokens.push(tokensAsked(answer)),
  });
  return { ...report, tokens };
}

function figuresOf(
  { id, title }: Way,
  reports: ReadonlyMap<string, readonly TurnReport[]>,
  messages: number,
): readonly Figure[] {
  const pair = (
    what: Pick<Figure, 'id' | 'title' | 'unit'>,
    read: (report: TurnReport) => number,
    target: { readonly atMost?: number } = { atMost: MOST },
  ) => {
    const { short = [], long = [] } = samplesOf(reports, read);
    const result = { of: `${LONG} / ${SHORT}`, rounds: ratios(long, short), ...target };
    return [
      figureOf({ ...what, id: `${what.id}.short`, samples: { lango: short } }),
      figureOf({
        ...what,
        id: `${what.id}.long`,
        title: `  after ${LONG} others`,
        samples: { lango: long },
        result,
      }),
    ];
  };
  const after = `${title} after ${SHORT} others`;
  return [
    ...pair({ id, title: `CPU of ${after}`, unit: 'µs' }, ({ cpu }) => cpu / messages),
    ...pair(
      { id: `${id}.wait`, title: '  half are answered within', unit: 'ms' },
      ({ latencies }) => quantile(latencies, 0.5),
      {},
    ),
    ...pair({ id: `${id}.tokens`, title: '  given to the model', unit: 'tokens' }, ({ tokens }) =>
      quantile(tokens, 0.5),
    ),
  ];
}
