import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Samples } from './figures.js';
import { figureOf, ratios, versus } from './figures.js';
import { drive } from './load.js';
import type { Call } from './requests.js';
import { cardRequestText } from './requests.js';
import type { Scenario } from './scenario.js';
import { inTurns, samplesOf } from './scenario.js';
import type { Kind } from './target.js';

/** Time a server gets to come to rest before its memory is read. */
const REST_MS = 3_000;
const CONNECTIONS = 32;
const OURS = 'lango-serve';
const HAS_PROC = existsSync('/proc/self/status');

/** From the start of the process to the first card in the client's hands: `lango serve`, and the library in a program. */
export const coldStart: Scenario = async ({ start, sizes }) => {
  const side = (kind: Kind) => async (): Promise<Start> => {
    const startedAt = performance.now();
    const target = await start(kind);
    const connection = await target.connect();
    const { status } = await connection.request(cardRequestText());
    const ms = performance.now() - startedAt;
    const cpuMs = HAS_PROC ? await target.systemCpuMs() : 0;
    connection.close();
    await target.stop();
    if (status !== 200) throw new Error(`the card was answered with ${status}`);
    return { ms, cpuMs };
  };
  const sides = { [OURS]: side(OURS), stock: side('stock') };
  const library = { lango: side('lango'), stock: sides.stock };
  await inTurns(1, { ...sides, ...library }); // until the files are in the system's cache and our database exists
  const program = await inTurns(sizes.rounds, sides);
  const [ms, cpuMs] = [samplesOf(program, (one) => one.ms), samplesOf(program, (one) => one.cpuMs)];
  const inProgram = samplesOf(await inTurns(sizes.rounds, library), (one) => one.ms);
  return [
    figureOf({
      id: 'start.cold',
      title: 'start of the process to first card',
      unit: 'ms',
      samples: ms,
      result: { ...versus(ms, OURS, 'stock'), atMost: 1.5 },
    }),
    ...(HAS_PROC
      ? [
          figureOf({
            id: 'start.cpu',
            title: '  CPU until then',
            unit: 'ms',
            samples: cpuMs,
            result: versus(cpuMs, OURS, 'stock'),
          }),
        ]
      : []),
    figureOf({
      id: 'start.library',
      title: '  as a library, in a program',
      unit: 'ms',
      samples: inProgram,
      result: versus(inProgram, 'lango', 'stock'),
    }),
  ];
};

interface Start {
  readonly ms: number;
  readonly cpuMs: number;
}

/** Resident memory of the default server with all its agents, at rest and after requests to its root agent. */
export const memory: Scenario = async ({ start, sizes }) => {
  if (!HAS_PROC) return [];
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
