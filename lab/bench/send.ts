import type { Figure, Samples } from './figures.js';
import { figureOf, quantile, versus } from './figures.js';
import type { CostReport } from './load.js';
import { drive, measure } from './load.js';
import type { Scenario } from './scenario.js';
import { inTurns, samplesOf } from './scenario.js';
import type { Kind } from './target.js';

const CONNECTIONS = 32;

/**
 * The least seconds of a round, so that it contains work that is done from time to time: checkpoints, garbage
 * collection.
 */
const ROUND_SECONDS = 2;
const KINDS = ['lango', 'lango-executor', 'stock', 'stock-database', 'bare'] as const;

/** Measures SendMessage over 32 connections: the rate of a server, the time and the CPU of one request. */
export const send: Scenario = async ({ start, sizes: { rounds, requests, warmUp } }) => {
  const side = async (kind: Kind): Promise<() => Promise<Round>> => {
    const target = await start(kind);
    const call = () => ({ method: 'SendMessage', text: 'echo' }) as const;
    await drive(target, { connections: CONNECTIONS, requests: warmUp, call });
    // The mean of the whole warm-up would be that of a cold server, and rounds half as long.
    const last = Math.ceil(warmUp / 4);
    const { wallMs } = await drive(target, { connections: CONNECTIONS, requests: last, call });
    const enough = Math.ceil((last / wallMs) * 1_000 * ROUND_SECONDS);
    const count = Math.max(requests, Math.min(enough, warmUp));
    return async () => ({
      requests: count,
      ...(await measure(target, { connections: CONNECTIONS, requests: count, call })),
    });
  };
  const sides: Record<string, () => Promise<Round>> = {};
  for (const kind of KINDS) sides[kind] = await side(kind);
  const reports = await inTurns(rounds, sides);
  const rate = samplesOf(reports, ({ wallMs, requests }) => (requests * 1_000) / wallMs);
  const p50 = samplesOf(reports, ({ latencies }) => quantile(latencies, 0.5));
  const p99 = samplesOf(reports, ({ latencies }) => quantile(latencies, 0.99));
  const cpu = samplesOf(reports, (report) => report.cpu / report.requests);
  return [
    figureOf({
      id: 'send.rate',
      title: `SendMessage over ${CONNECTIONS} connections`,
      unit: 'per second',
      samples: rate,
      result: { ...versus(rate, 'lango', 'stock'), atLeast: 2.5 },
    }),
    ...pairs(rate),
    figureOf({
      id: 'send.p50',
      title: '  half are answered within',
      unit: 'ms',
      samples: p50,
      result: versus(p50, 'lango', 'stock'),
    }),
    figureOf({
      id: 'send.p99',
      title: '  99 of 100 are answered within',
      unit: 'ms',
      samples: p99,
      result: versus(p99, 'lango', 'stock'),
    }),
    figureOf({
      id: 'send.cpu',
      title: '  CPU of one',
      unit: 'µs',
      samples: cpu,
      result: versus(cpu, 'lango', 'stock'),
    }),
    figureOf({
      id: 'send.cpu.executor',
      title: '  CPU of one, the same executor behind both',
      unit: 'µs',
      samples: shown(cpu, 'lango-executor', 'stock'),
      result: versus(cpu, 'lango-executor', 'stock'),
    }),
  ];
};

/** Measures what a send costs when few and when many messages are kept. */
export const kept: Scenario = async ({ start, sizes }) => {
  const sides: Record<string, () => Promise<number>> = {};
  const call = () => ({ method: 'SendMessage', text: 'echo' }) as const;
  const counts = { few: FEW_KEPT, many: sizes.keptMessages };
  for (const [name, count] of Object.entries(counts)) {
    const target = await start('lango');
    await drive(target, { connections: CONNECTIONS, requests: count, call });
    sides[name] = async () => {
      const { cpu } = await measure(target, { connections: CONNECTIONS, requests: sizes.requests, call });
      return cpu / sizes.requests;
    };
  }
  const samples = Object.fromEntries(await inTurns(sizes.rounds, sides));
  const title = (count: number) => `${count.toLocaleString('en-US')} kept messages`;
  return [
    figureOf({
      id: 'kept.few',
      title: `CPU of a SendMessage beside ${title(FEW_KEPT)}`,
      unit: 'µs',
      samples: { lango: samples['few']! },
    }),
    figureOf({
      id: 'kept.many',
      title: `  beside ${title(sizes.keptMessages)}`,
      unit: 'µs',
      samples: { lango: samples['many']! },
      result: { ...versus(samples, 'many', 'few'), atMost: 1.1 },
    }),
  ];
};

const FEW_KEPT = 20_000;

interface Round extends CostReport {
  readonly requests: number;
}

/** The pairs of a Lango server and an SDK server that are compared, besides the first pair. */
const PAIRS = [
  {
    id: 'executor',
    title: 'the same executor behind both',
    ours: 'lango-executor',
    theirs: 'stock',
    atLeast: 2,
  },
  {
    id: 'database',
    title: 'beside the SDK with its database',
    ours: 'lango',
    theirs: 'stock-database',
    atLeast: 10,
  },
  {
    ...{ id: 'executor.database', title: 'the same executor, beside its database' },
    ...{ ours: 'lango-executor', theirs: 'stock-database', atLeast: 8 },
  },
] as const;

function pairs(rate: Samples): readonly Figure[] {
  return PAIRS.map(({ id, title, ours, theirs, atLeast }) =>
    figureOf({
      id: `send.${id}`,
      title: `  ${title}`,
      unit: 'per second',
      samples: shown(rate, ours, theirs),
      result: { ...versus(rate, ours, theirs), atLeast },
    }),
  );
}

/** The two sides of a figure, in the columns of the table. */
function shown(samples: Samples, ours: string, theirs: string): Samples {
  return { lango: samples[ours]!, stock: samples[theirs]! };
}
