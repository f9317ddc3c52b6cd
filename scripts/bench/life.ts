import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Samples } from './figures.js';
import { figureOf, ratios, versus } from './figures.js';
import { drive } from './load.js';
import type { Call } from './requests.js';
import { cardRequestText } from './requests.js';
import type { Scenario } from './scenario.js';
import { inTurns } from './scenario.js';
import type { Kind } from './target.js';

/** Time a server gets to come to rest before its memory is read. */
const REST_MS = 3_000;
const CONNECTIONS = 32;
const OURS = 'lango-serve';

/** From the start of the process to the first card in the client's hands. */
export const coldStart: Scenario = async ({ start, sizes }) => {
  const side = (kind: Kind) => async (): Promise<number> => {
    const startedAt = performance.now();
    const target = await start(kind);
    const connection = await target.connect();
    const { status } = await connection.request(cardRequestText());
    const ms = performance.now() - startedAt;
    connection.close();
    await target.stop();
    if (status !== 200) throw new Error(`the card was answered with ${status}`);
    return ms;
  };
  const sides = { lango: side(OURS), stock: side('stock') };
  await inTurns(1, sides); // until the files are in the system's cache and our database exists
  const samples = Object.fromEntries(await inTurns(sizes.rounds, sides));
  return [
    figureOf({
      id: 'start.cold',
      title: 'start of the process to first card',
      unit: 'ms',
      samples,
      result: { ...versus(samples, 'lango', 'stock'), atMost: 1.5 },
    }),
  ];
};

/** Resident memory of the default server with all its agents, at rest and after requests to its root agent. */
export const memory: Scenario = async ({ start, sizes }) => {
  if (!existsSync('/proc/self/status')) return [];
  const targets = [await start(OURS), await start('stock')];
  const read = async (): Promise<Samples> => {
    await delay(REST_MS);
    const sizes = targets.map(async (target) => [target.kind, [await target.residentMb()]] as const);
    return Object.fromEntries(await Promise.all(sizes));
  };
  const atRest = await read();
  const requests = sizes.lastingRequests / 2;
  for (const target of targets) await drive(target, { connections: CONNECTIONS, requests, call: greeting });
  const halfway = await read();
  for (const target of targets) await drive(target, { connections: CONNECTIONS, requests, call: greeting });
  const after = await read();
  return [
    figureOf({
      id: 'memory.rest',
      title: 'resident memory at rest',
      unit: 'MB',
      samples: atRest,
      result: { of: OURS, rounds: atRest[OURS]!, atMost: 90 },
    }),
    figureOf({ id: 'memory.half', title: `  after ${requests} requests`, unit: 'MB', samples: halfway }),
    figureOf({
      id: 'memory.after',
      title: `  after ${2 * requests}`,
      unit: 'MB',
      samples: after,
      result: { of: 'second half', rounds: ratios(after[OURS]!, halfway[OURS]!), atMost: 1.05 },
    }),
  ];
};

function greeting(): Call {
  return { method: 'SendMessage', text: 'hello' };
}
