import { figureOf, quantile, ratios } from './figures.js';
import type { CostReport } from './load.js';
import { drive, measure } from './load.js';
import type { Scenario } from './scenario.js';
import { inTurns, samplesOf } from './scenario.js';
import type { Target } from './target.js';

const SHORT = 10;
const LONG = 1_000;
/** A message and its answer. */
const MESSAGES_PER_SEND = 2;
const TEXT = 'a question of about forty characters, ok';
const FILL_CONNECTIONS = 8;

/**
 * What one message costs in a short and in a long conversation, with a model that answers at once. Each message of a
 * turn goes to a short conversation of its own, or all to one long one, which grows a little meanwhile.
 */
export const conversation: Scenario = async ({ start, sizes: { rounds, messages } }) => {
  const target = await start('lango-flat');
  await fill(target, ['long'], LONG);
  let made = 0;
  const short = async (): Promise<CostReport> => {
    const contexts = Array.from({ length: messages }, () => `short-${(made += 1)}`);
    await fill(target, contexts, SHORT);
    return ask(target, contexts);
  };
  const long = (): Promise<CostReport> =>
    ask(
      target,
      Array.from({ length: messages }, () => 'long'),
    );
  await short(); // until the code is compiled
  await long();
  const reports = await inTurns(rounds, { short, long });
  const cpu = samplesOf(reports, (report) => report.cpu / messages);
  const wait = samplesOf(reports, ({ latencies }) => quantile(latencies, 0.5));
  const compared = { of: `${LONG} / ${SHORT}`, rounds: ratios(cpu['long']!, cpu['short']!), atMost: 1.5 };
  const waits = { of: `${LONG} / ${SHORT}`, rounds: ratios(wait['long']!, wait['short']!) };
  const cost = { title: `CPU of a message after ${SHORT} others`, unit: 'µs' };
  return [
    figureOf({ ...cost, id: 'conversation.short', samples: { lango: cpu['short']! } }),
    figureOf({
      id: 'conversation.long',
      title: `  after ${LONG} others`,
      unit: 'µs',
      samples: { lango: cpu['long']! },
      result: compared,
    }),
    figureOf({
      id: 'conversation.wait',
      title: '  half are answered within',
      unit: 'ms',
      samples: { lango: wait['long']! },
      result: waits,
    }),
  ];
};

/** Puts so many messages into each conversation; the ones after another in each, several conversations at once. */
async function fill(target: Target, contexts: readonly string[], messages: number): Promise<void> {
  const sends = contexts.flatMap((contextId) =>
    Array.from({ length: messages / MESSAGES_PER_SEND }, () => contextId),
  );
  await drive(target, {
    connections: FILL_CONNECTIONS,
    requests: sends.length,
    call: (index) => ({ method: 'SendMessage', text: TEXT, contextId: sends[index]! }),
  });
}

/** One message to each, one after another. */
function ask(target: Target, contexts: readonly string[]): Promise<CostReport> {
  return measure(target, {
    connections: 1,
    requests: contexts.length,
    call: (index) => ({ method: 'SendMessage', text: TEXT, contextId: contexts[index]! }),
  });
}
