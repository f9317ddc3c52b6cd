import type { Figure, Samples } from './figures.js';
import { figureOf, quantile, ratios, versus } from './figures.js';
import type { CostReport } from './load.js';
import { measure } from './load.js';
import { callText, requireCharacters } from './requests.js';
import type { Scenario } from './scenario.js';
import { inTurns, samplesOf } from './scenario.js';
import type { Target } from './target.js';
import type { Work } from './work.js';
import { CHUNK_CHARACTERS, chunkAt } from './work.js';

const LENGTHS = [200, 1_000, 5_000];
const SHORTEST = 200;
const LONGEST = 5_000;
const APPENDED = 1_000;
const CROWD = 100;
const PACED = 50;
const PACED_CHUNKS = 100;
/** Streams of one round whose first text is timed. */
const TIMED = 30;

/** Measures one stream after the other. Every turn has the same number of chunks, for streams of every length. */
export const streams: Scenario = async ({ start, sizes }) => {
  const targets = [await start('lango'), await start('stock'), await start('bare')];
  const sides: Record<string, () => Promise<number>> = {};
  for (const target of targets) {
    const perChunk = async (work: Work): Promise<number> => {
      const requests = Math.max(1, Math.round(sizes.chunks / work.chunks));
      const { cpu } = await stream(target, { work, requests, connections: 1 });
      return cpu / (requests * work.chunks);
    };
    await perChunk({ kind: 'stream', chunks: SHORTEST }); // until its code is compiled
    for (const chunks of LENGTHS) {
      if (target.kind === 'stock' && chunks > sizes.longestStockStream) continue;
      sides[`${target.kind} ${chunks}`] = () => perChunk({ kind: 'stream', chunks });
    }
    if (target.kind === 'stock') continue;
    sides[`${target.kind} appended`] = () => perChunk({ kind: 'append', chunks: APPENDED });
  }
  const samples = Object.fromEntries(await inTurns(sizes.rounds, sides));
  return [
    ...LENGTHS.map((chunks) => lengthFigure(chunks, ofSide(samples, String(chunks)))),
    growthFigure(samples),
    appendedFigure(ofSide(samples, 'appended')),
  ];
};

/** Measures many streams at the same time. */
export const crowd: Scenario = async ({ start, sizes }) => {
  const work: Work = { kind: 'stream', chunks: SHORTEST };
  const sides: Record<string, () => Promise<CostReport>> = {};
  for (const kind of ['lango', 'stock', 'bare'] as const) {
    const target = await start(kind);
    sides[kind] = () => stream(target, { work, requests: CROWD, connections: CROWD });
    await sides[kind](); // until its code is compiled
  }
  const reports = await inTurns(sizes.rounds, sides);
  const wall = samplesOf(reports, ({ wallMs }) => wallMs);
  const cpu = samplesOf(reports, (report) => report.cpu / 1_000);
  return [
    figureOf({
      id: 'crowd.wall',
      title: `${CROWD} streams of ${SHORTEST} chunks at once`,
      unit: 'ms',
      samples: wall,
      result: versus(wall, 'lango', 'stock'),
    }),
    figureOf({
      id: 'crowd.cpu',
      title: '  CPU of them all',
      unit: 'ms',
      samples: cpu,
      result: versus(cpu, 'lango', 'stock'),
    }),
  ];
};

/** Measures streams as models send them: a chunk every 20 ms, so that no chunk waits for another of its stream. */
export const paced: Scenario = async ({ start, sizes }) => {
  const sides: Record<string, () => Promise<number>> = {};
  for (const kind of ['lango', 'bare'] as const) {
    const target = await start(kind);
    const work: Work = { kind: 'paced', chunks: PACED_CHUNKS };
    sides[kind] = async () => {
      const { cpu } = await stream(target, { work, requests: PACED, connections: PACED });
      return cpu / (PACED * PACED_CHUNKS);
    };
    await sides[kind](); // until its code is compiled
  }
  const samples = Object.fromEntries(await inTurns(sizes.rounds, sides));
  return [
    figureOf({
      id: 'stream.paced',
      title: `CPU of ${PACED} streams with a chunk each 20 ms`,
      unit: 'µs per chunk',
      samples,
      result: { ...versus(samples, 'lango', 'bare'), atMost: 1.5 },
    }),
  ];
};

/** Measures the time from a request to the first text of a model that takes its time, beyond that of node:http alone. */
export const first: Scenario = async ({ start, sizes }) => {
  const sides: Record<string, () => Promise<number>> = {};
  for (const kind of ['lango', 'bare'] as const) {
    const target = await start(kind);
    sides[kind] = async () => {
      const times: number[] = [];
      for (let index = 0; index < TIMED; index += 1) times.push(await firstTextMs(target));
      return quantile(times, 0.5);
    };
    await sides[kind](); // until its code is compiled
  }
  const samples = Object.fromEntries(await inTurns(sizes.rounds, sides)) as Record<
    'lango' | 'bare',
    number[]
  >;
  const added = samples.lango.map((ms, round) => ms - samples.bare[round]!);
  return [
    figureOf({
      id: 'stream.first',
      title: 'time to the first text, 60 ms after the request',
      unit: 'ms',
      samples,
      result: { of: 'lango - bare', rounds: added, atMost: 3 },
    }),
  ];
};

async function firstTextMs(target: Target): Promise<number> {
  const connection = await target.connect();
  const startedAt = performance.now();
  await connection.until(
    callText(target.kind, { method: 'SendStreamingMessage', text: 'late 2' }),
    chunkAt(0),
  );
  const ms = performance.now() - startedAt;
  connection.close();
  return ms;
}

interface StreamLoad {
  readonly work: Work;
  readonly requests: number;
  readonly connections: number;
}

function stream(target: Target, { work, ...load }: StreamLoad): Promise<CostReport> {
  const text = `${work.kind} ${work.chunks}`;
  return measure(target, {
    ...load,
    call: () => ({ method: 'SendStreamingMessage', text }),
    check: (answer) => requireCharacters(answer, work.chunks * CHUNK_CHARACTERS),
  });
}

/** The samples of the sides named "SERVER WORD", by server. */
function ofSide(samples: Samples, word: string): Samples {
  const sides = Object.entries(samples).map(([side, list]) => [side.split(' '), list] as const);
  return Object.fromEntries(
    sides.filter(([[, last]]) => last === word).map(([[kind = ''], list]) => [kind, list]),
  );
}

function lengthFigure(chunks: number, samples: Samples): Figure {
  return figureOf({
    id: `stream.${chunks}`,
    title: `CPU of a stream of ${chunks} chunks`,
    unit: 'µs per chunk',
    samples,
    result: { ...versus(samples, 'lango', 'bare'), atMost: chunks === LONGEST ? 0.6 : 4 },
  });
}

function growthFigure(samples: Samples): Figure {
  const growth = (kind: string) => ratios(samples[`${kind} ${LONGEST}`]!, samples[`${kind} ${SHORTEST}`]!);
  const lango = growth('lango');
  return figureOf({
    id: 'stream.growth',
    title: `  at ${LONGEST}, as a multiple of that at ${SHORTEST}`,
    unit: 'times',
    samples: { lango, bare: growth('bare') },
    result: { of: 'lango', rounds: lango, atMost: 1.2 },
  });
}

function appendedFigure(samples: Samples): Figure {
  return figureOf({
    id: 'stream.appended',
    title: '  each chunk durable and sent before the next',
    unit: 'µs per chunk',
    samples,
    result: versus(samples, 'lango', 'bare'),
  });
}
