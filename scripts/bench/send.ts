import { figureOf, quantile, versus } from './figures.js';
import type { CostReport } from './load.js';
import { drive, measure } from './load.js';
import type { Scenario } from './scenario.js';
import { inTurns, samplesOf } from './scenario.js';
import type { Kind } from './target.js';

const CONNECTIONS = 32;

/** SendMessage over 32 connections: what a server can take, how long one waits, what one costs. */
export const send: Scenario = async ({ start, sizes: { rounds, requests, warmUp } }) => {
  const side = async (kind: Kind): Promise<() => Promise<CostReport>> => {
    const target = await start(kind);
    const call = () => ({ method: 'SendMessage', text: 'echo' }) as const;
    await drive(target, { connections: CONNECTIONS, requests: warmUp, call });
    return () => measure(target, { connections: CONNECTIONS, requests, call });
  };
  const sides = { lango: await side('lango'), stock: await side('stock'), bare: await side('bare') };
  const reports = await inTurns(rounds, sides);
  const rate = samplesOf(reports, ({ wallMs }) => (requests * 1_000) / wallMs);
  const p50 = samplesOf(reports, ({ latencies }) => quantile(latencies, 0.5));
  const p99 = samplesOf(reports, ({ latencies }) => quantile(latencies, 0.99));
  const cpu = samplesOf(reports, (report) => report.cpu / requests);
  return [
    figureOf({
      id: 'send.rate',
      title: `SendMessage over ${CONNECTIONS} connections`,
      unit: 'per second',
      samples: rate,
      result: { ...versus(rate, 'lango', 'stock'), atLeast: 2.5 },
    }),
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
  ];
};
