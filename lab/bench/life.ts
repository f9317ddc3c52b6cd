import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Connection } from './connection.js';
import type { Samples } from './figures.js';
import { figureOf, ratios, versus } from './figures.js';
import { drive } from './load.js';
import type { Call } from './requests.js';
import { callText, cardRequestText } from './requests.js';
import type { Scenario } from './scenario.js';
import { inTurns, samplesOf } from './scenario.js';
import type { Kind, Target } from './target.js';

/** Milliseconds that a server gets to become idle before its memory is read. */
const REST_MS = 3_000;
const CONNECTIONS = 32;
const IDLE_STREAMS = 1_000;
const OURS = 'lango-serve';
const HAS_PROC = existsSync('/proc/self/status');

/**
 * Measures the time from the start of the process until the client has the first card: for `lango serve`, and for the
 * library in a program.
 */
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
      result: { ...versus(ms, OURS, 'stock'), atMost: 1.4 },
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

/**
 * Measures the resident memory of the default server with all its agents, at rest and after requests to its root agent.
 */
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
  const peak = { [OURS]: [await targets[0]!.peakMb()], stock: [await targets[1]!.peakMb()] };
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
    figureOf({
      id: 'memory.peak',
      title: `  the most, while ${CONNECTIONS} callers used it`,
      unit: 'MB',
      samples: peak,
      result: { of: OURS, rounds: peak[OURS], atMost: 210 },
    }),
  ];
};

/**
 * Measures the memory of a thousand open streams without events: in `lango serve`, which releases the memory that
 * their start took, and in a program with the library, which leaves that to V8. The programs have had as many streams
 * before: compiling for the first ones takes V8 several times the memory of the streams, and at random.
 */
export const idle: Scenario = async ({ start, home }) => {
  if (!HAS_PROC) return [];
  const limits = { streams: 2 * IDLE_STREAMS, streamsPerCaller: 2 * IDLE_STREAMS };
  const config = path.join(home, 'config.yaml');
  await writeFile(config, JSON.stringify({ server: { limits } }));
  const samples: Record<string, number[]> = {};
  for (const kind of [OURS, 'lango', 'bare'] as const) {
    const target = await start(kind);
    const texts = await idleCalls(target);
    if (kind !== OURS) {
      (await openStreams(target, texts)).forEach((connection) => connection.close());
      await delay(REST_MS);
      await target.heapKb();
    }
    const connections = await Promise.all(Array.from({ length: IDLE_STREAMS }, () => target.connect()));
    await delay(REST_MS);
    const before = await target.residentMb();
    for (const connection of connections) await connection.begin(texts);
    await delay(REST_MS);
    samples[kind] = [(await target.residentMb()) - before];
    connections.forEach((connection) => connection.close());
  }
  const heap = await heapOfStream(await start('lango'));
  await rm(config);
  const { [OURS]: served, lango, bare } = samples as Record<Kind, number[]>;
  return [
    figureOf({
      id: 'memory.idle',
      title: `memory of ${IDLE_STREAMS} idle streams`,
      unit: 'MB',
      samples: { [OURS]: served, bare },
      result: { of: OURS, rounds: served, atMost: 40 },
    }),
    figureOf({
      id: 'memory.idle.library',
      title: '  of the library in a program',
      unit: 'MB',
      samples: { lango },
      result: { of: 'lango - bare', rounds: [lango[0]! - bare[0]!], atMost: 25 },
    }),
    figureOf({
      id: 'memory.idle.heap',
      title: '  objects of one, with its connection',
      unit: 'KB',
      samples: { lango: [heap] },
      result: { of: 'lango', rounds: [heap], atMost: 12 },
    }),
  ];
};

/** Kilobytes of objects of one idle stream, with its connection. */
async function heapOfStream(target: Target): Promise<number> {
  const text = await idleCalls(target);
  const before = await target.heapKb();
  const connections = await openStreams(target, text);
  const heap = (await target.heapKb()) - before;
  connections.forEach((connection) => connection.close());
  return heap / IDLE_STREAMS;
}

async function openStreams(target: Target, text: string): Promise<readonly Connection[]> {
  const connections: Connection[] = [];
  while (connections.length < IDLE_STREAMS) {
    const connection = await target.connect();
    await connection.begin(text);
    connections.push(connection);
  }
  return connections;
}

/** Follows a waiting task of Lango; node:http alone has its own stream without events. */
async function idleCalls(target: Target): Promise<string> {
  if (target.kind === 'bare') return callText('bare', { method: 'SendStreamingMessage', text: 'ask' });
  const text = target.kind === OURS ? 'delete the folder drafts with everything in it' : 'ask';
  let id = '';
  await drive(target, {
    connections: 1,
    requests: 1,
    call: () => ({ method: 'SendMessage', text }),
    check: (answer) =>
      void ([, id = ''] = /"task":\{"id":"([^"]+)".*TASK_STATE_INPUT_REQUIRED/.exec(answer.text()) ?? []),
  });
  if (id === '') throw new Error(`${target.kind} asked nothing, so no task waits`);
  return callText(target.kind, { method: 'SubscribeToTask', params: { id } });
}

function greeting(): Call {
  return { method: 'SendMessage', text: 'hello' };
}
