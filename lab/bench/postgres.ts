import { readFile, readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Database } from '../chaos/database.js';
import { costsOf, messageOf } from '../scale/capacity.js';
import type { Figure, FigureOptions, Samples } from './figures.js';
import { figureOf, ratios, versus } from './figures.js';
import { drive } from './load.js';
import type { Load } from './load.js';
import { requireCharacters } from './requests.js';
import type { Scenario } from './scenario.js';
import { inTurns, samplesOf } from './scenario.js';
import type { Target } from './target.js';
import { CHUNK_CHARACTERS } from './work.js';
import type { Work } from './work.js';

const CONNECTIONS = 32;
const APPENDED = 500;
const PACED = 50;
const PACED_CHUNKS_PER_SECOND = 50;
/** A paced stream of the whole bench takes ten seconds. A short one stores more a second: its first row shares no words. */
const CHUNKS_PER_PACED_SECOND = 2_000;
const LEAST_PACED_SECONDS = 8;
const WARMING = { chunks: 1_000, streams: 200 };
const IDLE_MS = 5_000;
const REPLICAS = 3;
/** The CPU time, in microseconds, of one tick in /proc. */
const TICK_US = 10_000;

/** The cost of one unit of work (a send, an event, a second of a stream). */
interface Cost {
  readonly rate: number;
  /** CPU of Lango's process, in microseconds. */
  readonly cpu: number;
  readonly statements: number;
  /** CPU of all processes of PostgreSQL, in microseconds; 0 without it. */
  readonly database: number;
  /** Bytes of PostgreSQL's write-ahead log. */
  readonly log: number;
  /** Bytes by which its database grew. */
  readonly stored: number;
}

/** Measures the same work on SQLite and on PostgreSQL, then two and three servers on one database. */
export const postgres: Scenario = async ({ start, sizes }) => {
  const database = await Database.start();
  try {
    const url = database.url(database.port);
    const replicas = [await start('lango-postgres', url)];
    const targets = [await start('lango'), replicas[0]!];
    const sending: Load = {
      ...{ connections: CONNECTIONS, requests: sizes.requests },
      call: () => ({ method: 'SendMessage', text: 'echo' }),
    };
    const streams = Math.max(2, Math.round(sizes.chunks / APPENDED / 10));
    const seconds = Math.max(LEAST_PACED_SECONDS, Math.round(sizes.chunks / CHUNKS_PER_PACED_SECOND));
    const loads: Readonly<Record<string, Units>> = {
      send: { load: sending, units: sizes.requests },
      event: { load: streaming('append', APPENDED, streams), units: APPENDED * streams },
      stream: {
        load: streaming('paced', seconds * PACED_CHUNKS_PER_SECOND, PACED),
        units: PACED * seconds,
      },
    };
    const warmUp = { ...sending, requests: sizes.warmUp / 2 };
    for (const target of targets) {
      await drive(target, warmUp);
      await drive(target, streaming('stream', WARMING.chunks, WARMING.streams)); // until its code is compiled
    }
    const figures: Figure[] = [];
    let sends: ReadonlyMap<string, readonly Cost[]> = new Map();
    for (const [name, work] of Object.entries(loads)) {
      const sides = targets.map((target) => [target.kind, () => costOf(target, database, work)] as const);
      const costs = await inTurns(sizes.rounds, Object.fromEntries(sides));
      if (name === 'send') sends = costs;
      figures.push(...costFigures(name, name === 'stream' ? withoutSends(costs, sends, seconds) : costs));
    }
    while (replicas.length < REPLICAS) {
      replicas.push(await start('lango-postgres', url));
      await drive(replicas.at(-1)!, warmUp);
    }
    figures.push(...(await replicaFigures(replicas, sending, sizes.rounds)));
    figures.push(await idleFigure(database));
    return [...figures, ...messageFigures(figures)];
  } finally {
    await database.stop();
  }
};

/** The costs of seconds of streams that last so long, without those of the tasks, which are counted as sends. */
function withoutSends(
  streams: ReadonlyMap<string, readonly Cost[]>,
  sends: ReadonlyMap<string, readonly Cost[]>,
  seconds: number,
): ReadonlyMap<string, readonly Cost[]> {
  const less = (kind: string, cost: Cost, round: number): Cost => {
    const send = sends.get(kind)![round]!;
    const rest = (part: keyof Cost) => cost[part] - send[part] / seconds;
    const [cpu, statements, database] = [rest('cpu'), rest('statements'), rest('database')];
    return { rate: cost.rate, cpu, statements, database, log: rest('log'), stored: rest('stored') };
  };
  return new Map(
    [...streams].map(([kind, costs]) => [kind, costs.map((cost, round) => less(kind, cost, round))]),
  );
}

function streaming(kind: Work['kind'], chunks: number, streams: number): Load {
  return {
    ...{ connections: Math.min(streams, PACED), requests: streams },
    call: () => ({ method: 'SendStreamingMessage', text: `${kind} ${chunks}` }),
    check: (answer) => requireCharacters(answer, chunks * CHUNK_CHARACTERS),
  };
}

interface Units {
  readonly load: Load;
  readonly units: number;
}

async function costOf(target: Target, database: Database, { load, units }: Units): Promise<Cost> {
  const [own, its] = [await target.cost(), await used(database)];
  const { wallMs } = await drive(target, load);
  const [ownAfter, itsAfter] = [await target.cost(), await used(database)];
  return {
    rate: (units * 1_000) / wallMs,
    cpu: (ownAfter.cpu - own.cpu) / units,
    statements: (ownAfter.statements - own.statements) / units,
    database: (itsAfter.cpu - its.cpu) / units,
    log: (itsAfter.log - its.log) / units,
    stored: (itsAfter.stored - its.stored) / units,
  };
}

/** The resources that the database server has used since its start. */
async function used(database: Database): Promise<Pick<Figures, 'cpu' | 'log' | 'stored'>> {
  const [row] = await database.rows<Figures>(
    `SELECT pg_backend_pid() AS pid, (pg_current_wal_insert_lsn() - '0/0')::float8 AS log,
      pg_database_size(current_database())::float8 AS stored`,
  );
  const { pid, log, stored } = row!;
  return { cpu: await cpuOfFamily(pid), log, stored };
}

interface Figures {
  readonly pid: number;
  readonly cpu: number;
  readonly log: number;
  readonly stored: number;
}

/** CPU time of the parent of this process, and of all its children, also those that have ended. In microseconds. */
async function cpuOfFamily(pid: number): Promise<number> {
  const parent = (await statOf(String(pid)))[1];
  let ticks = 0;
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    // A process may have ended in the meantime.
    const stat = await statOf(entry).catch(() => []);
    const [own, ended] = [stat[11]! + stat[12]!, stat[13]! + stat[14]!];
    if (Number(entry) === parent) ticks += own + ended;
    else if (stat[1] === parent) ticks += own;
  }
  return ticks * TICK_US;
}

/** The fields of /proc/PID/stat after the name of the program: the second one is the parent. */
async function statOf(pid: string): Promise<readonly number[]> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  return stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
}

const UNITS: Readonly<Record<string, { readonly title: string; readonly of: string }>> = {
  send: { title: `SendMessage over ${CONNECTIONS} connections`, of: 'send' },
  event: { title: 'events, each durable before the next', of: 'event' },
  stream: { title: `${PACED} streams with a chunk each 20 ms`, of: 'second of a stream' },
};
/** The most that a figure may be, by its id, where it is not compared with another server. */
const MOST: Readonly<Record<string, number>> = {
  'postgres.send.statements': 2,
  'postgres.stream.database': 600,
  'postgres.message.cpu': 35_000,
  'postgres.message.database': 15_000,
  'postgres.message.log': 40_000,
  'postgres.message.stored': 25_000,
};
const MOST_TIMES_SQLITE = 2;

function costFigures(name: string, costs: ReadonlyMap<string, readonly Cost[]>): readonly Figure[] {
  const { title, of } = UNITS[name]!;
  const both = (read: (cost: Cost) => number) => samplesOf(costs, read);
  const ratio = (samples: Samples) => versus(samples, 'lango-postgres', 'lango');
  const its = (read: (cost: Cost) => number) => ({ database: costs.get('lango-postgres')!.map(read) });
  const figure = (id: string, [words, unit]: readonly [string, string], samples: Samples) =>
    limited({ id: `postgres.${name}.${id}`, title: `  ${words}`, unit, samples });
  const rate = both((cost) => cost.rate);
  const cpu = both((cost) => cost.cpu);
  return [
    figureOf({
      ...{ id: `postgres.${name}.rate`, title, unit: 'per second', samples: rate },
      ...(name === 'stream' ? {} : { result: ratio(rate) }),
    }),
    figureOf({
      ...{
        id: `postgres.${name}.cpu`,
        title: `  CPU of our process for one ${of}`,
        unit: 'µs',
        samples: cpu,
      },
      result: { ...ratio(cpu), ...(name === 'send' ? { atMost: MOST_TIMES_SQLITE } : {}) },
    }),
    figure(
      'statements',
      ['statements', 'each'],
      both((cost) => cost.statements),
    ),
    figure(
      'database',
      ['CPU of PostgreSQL', 'µs'],
      its((cost) => cost.database),
    ),
    figure(
      'log',
      ['write-ahead log', 'bytes'],
      its((cost) => cost.log),
    ),
    figure(
      'stored',
      ['growth of the database', 'bytes'],
      its((cost) => cost.stored),
    ),
  ];
}

/** A figure whose newest value has a limit of its own, if any. */
function limited(options: FigureOptions): Figure {
  const atMost = MOST[options.id];
  const [of, rounds] = Object.entries(options.samples).at(-1)!;
  return figureOf(atMost === undefined ? options : { ...options, result: { of, rounds, atMost } });
}

/** The cost of one message of a person, computed from the costs of what it leads to: see docs/scale.md. */
function messageFigures(figures: readonly Figure[]): readonly Figure[] {
  const { server, database, log, stored } = messageOf(costsOf({ figures }));
  const title = 'a message of a person, computed';
  return [
    limited({
      ...{ id: 'postgres.message.cpu', title: `${title}: CPU of our process`, unit: 'µs' },
      samples: { 'lango-postgres': [server] },
    }),
    limited({
      ...{ id: 'postgres.message.database', title: '  CPU of PostgreSQL', unit: 'µs' },
      samples: { database: [database] },
    }),
    limited({
      ...{ id: 'postgres.message.log', title: '  write-ahead log', unit: 'bytes' },
      samples: { database: [log] },
    }),
    limited({
      ...{ id: 'postgres.message.stored', title: '  growth of the database', unit: 'bytes' },
      samples: { database: [stored] },
    }),
  ];
}

/** Measures the same load on one, two and three of the running servers. */
async function replicaFigures(
  replicas: readonly Target[],
  load: Load,
  rounds: number,
): Promise<readonly Figure[]> {
  const counts = replicas.map((_, index) => index + 1);
  const rateOf = async (count: number): Promise<number> => {
    const [requests, connections] = [Math.ceil(load.requests / count), Math.ceil(load.connections / count)];
    const from = performance.now();
    await Promise.all(
      replicas.slice(0, count).map((each) => drive(each, { ...load, requests, connections })),
    );
    return (requests * count * 1_000) / (performance.now() - from);
  };
  const sides = counts.map((count) => [String(count), () => rateOf(count)] as const);
  const rates = await inTurns(rounds, Object.fromEntries(sides));
  return counts.map((count) => {
    const own = rates.get(String(count))!;
    return figureOf({
      ...{ id: `postgres.replicas.${count}`, title: `SendMessage to ${count} of ${replicas.length} servers` },
      ...{ unit: 'per second', samples: { 'lango-postgres': own } },
      ...(count > 1 ? { result: { of: `${count} / 1`, rounds: ratios(own, rates.get('1')!) } } : {}),
    });
  });
}

/** Measures what idle servers cost the database: they renew their leases, look for work and hold their locks. */
async function idleFigure(database: Database): Promise<Figure> {
  // What was written would be vacuumed meanwhile.
  await database.rows('VACUUM ANALYZE');
  await sleep(IDLE_MS / 5);
  const before = await used(database);
  await sleep(IDLE_MS);
  const { cpu } = await used(database);
  return figureOf({
    ...{
      id: 'postgres.idle.database',
      title: 'CPU of PostgreSQL for a second of an idle server',
      unit: 'µs',
    },
    samples: { database: [(cpu - before.cpu) / (IDLE_MS / 1_000) / REPLICAS] },
  });
}
