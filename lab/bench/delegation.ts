import { figureOf } from './figures.js';
import { drive, measure } from './load.js';
import type { Scenario } from './scenario.js';
import { inTurns } from './scenario.js';

const CONNECTIONS = 8;
const WARM_UP = 500;
const REQUESTS = 200;
const MOST_US = 6_000;

/** Measures a request that the orchestrator delegates to an agent of its process, which answers at once. */
export const delegation: Scenario = async ({ start, sizes }) => {
  const target = await start('lango-team');
  const call = () => ({ method: 'SendMessage', text: 'make a plan for a walk' }) as const;
  await drive(target, { connections: CONNECTIONS, requests: WARM_UP, call });
  const lango = async (): Promise<number> => {
    const { cpu } = await measure(target, { connections: CONNECTIONS, requests: REQUESTS, call });
    return cpu / REQUESTS;
  };
  const samples = Object.fromEntries(await inTurns(sizes.rounds, { lango }));
  return [
    figureOf({
      id: 'delegation',
      title: 'CPU of a request that is delegated within the process',
      unit: 'µs',
      samples,
      result: { of: 'lango', rounds: samples['lango']!, atMost: MOST_US },
    }),
  ];
};
