import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../abuse/fuzz/random.js';
import { check, readLog } from './check.js';
import type { Story } from './client.js';
import { Client } from './client.js';
import { Database } from './database.js';
import { Replica } from './stack.js';

export interface ChaosOptions {
  readonly seed: number;
  readonly replicas: number;
  readonly clients: number;
  /** The number of injections of each fault. */
  readonly faults: Readonly<Record<Fault, number>>;
  /** Seconds by which the clock of the second replica is ahead, and that of the third one behind. */
  readonly clockSeconds: number;
  /** Puts a PgBouncer with session pooling before each replica's way to the database. */
  readonly isPooled: boolean;
  /** Gets a line for each fault. */
  readonly onFault?: (text: string) => void;
}

/** The default counts of each fault. */
export const FAULTS = {
  /** A replica is killed with SIGKILL. */
  kill: 20,
  /** A replica is stopped with SIGSTOP for some seconds. */
  stop: 4,
  /** The database cannot be reached for some seconds. */
  cut: 2,
  /** A replica is stopped with SIGTERM. */
  term: 4,
  /** The database ends all connections and starts again. */
  restart: 2,
  /** The database ends the connections of all replicas, many times in two seconds. */
  terminate: 2,
  /** The database ends all connections and starts again, several times in a row. */
  flap: 1,
  /** The database keeps all connections open and says nothing, for some seconds. */
  hang: 1,
  /** Each statement takes longer, for some seconds. */
  slow: 1,
  /** The database has no connection left for some seconds. */
  exhausted: 1,
  /** The disk of the database is full for some seconds. Only as root, who can mount a small disk. */
  full: 1,
  /** The database ends, and its standby takes over. */
  failover: 1,
} as const;
export type Fault = keyof typeof FAULTS;
const NAMES = Object.keys(FAULTS) as readonly Fault[];
/** The faults of a single replica. The others are faults of the database. */
const OF_REPLICA: ReadonlySet<Fault> = new Set(['kill', 'stop', 'cut', 'term']);

export interface ChaosFigures {
  readonly seed: number;
  readonly seconds: number;
  readonly faults: Readonly<Record<Fault, number>>;
  readonly tasks: number;
  /** Connections of the clients, and messages that were sent more than once. */
  readonly connections: number;
  readonly repeatedSends: number;
  /** Counts by SQLSTATE: how often the database had no space, and how many connections of replicas it ended. */
  readonly refused: Readonly<Record<string, number>>;
  /** Milliseconds from the fault to the next run of a task that was running. */
  readonly takeover: Readonly<Partial<Record<Fault, Spread>>>;
  readonly findings: readonly string[];
}

interface Spread {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
}

/** Milliseconds that a process is stopped or cut off: longer than its lease. */
const AWAY_MS = 6_000;
const PAUSE_MS = 400;
/** Restarts in a row. */
const FLAPS = 4;
/** The least milliseconds that a statement takes at a slow database. */
const SLOW_MS = 100;

/** Injects faults into working replicas, and compares what the clients saw with the log. */
export async function chaos(options: ChaosOptions): Promise<ChaosFigures> {
  const begun = Date.now();
  const folder = await mkdtemp(path.join(tmpdir(), 'lango-chaos-'));
  const marks = path.join(folder, 'marks');
  await writeFile(marks, '');
  const database = await Database.start({ isSmall: options.faults.full > 0 });
  const replicas: Replica[] = [];
  try {
    while (replicas.length < options.replicas) {
      const clockSeconds = [0, options.clockSeconds, -options.clockSeconds][replicas.length] ?? 0;
      replicas.push(await Replica.create({ database, marks, clockSeconds, isPooled: options.isPooled }));
    }
    const random = new Random(options.seed);
    const ports = replicas.map(({ port }) => port);
    const clients = Array.from(
      { length: options.clients },
      (_, index) => new Client(ports, new Random(options.seed + index + 1)),
    );
    const over = new AbortController();
    const callers = clients.map((client) => work(client, over.signal));
    const affected = await disturb({ options, random, replicas, database });
    over.abort();
    const results = (await Promise.all(callers)).flat();
    const stories = results.filter((result) => typeof result !== 'string');
    const failed = results.filter((result) => typeof result === 'string');
    const found = await check(stories, { database, client: clients[0]!, marks });
    return {
      seed: options.seed,
      seconds: Math.round((Date.now() - begun) / 1_000),
      faults: options.faults,
      tasks: stories.length,
      connections: stories.reduce((sum, { connections }) => sum + connections, 0),
      repeatedSends: stories.filter(({ sends }) => sends > 1).length,
      refused: database.refused,
      takeover: await takeovers(affected, database),
      findings: [...failed, ...found],
    };
  } finally {
    await Promise.all(replicas.map((replica) => replica.close()));
    await database.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Sends one task after the other, until the faults are over. */
async function work(client: Client, over: AbortSignal): Promise<readonly (Story | string)[]> {
  const stories: (Story | string)[] = [];
  while (!over.aborted) stories.push(await client.run().catch((error: unknown) => String(error)));
  return stories;
}

/** A task that was running at a replica at the time of the fault. */
interface Affected {
  readonly fault: Fault;
  readonly taskId: string;
  readonly at: number;
}

interface Disturbance {
  readonly options: ChaosOptions;
  readonly random: Random;
  readonly replicas: readonly Replica[];
  readonly database: Database;
}

async function disturb({ options, random, replicas, database }: Disturbance): Promise<readonly Affected[]> {
  const left = { ...options.faults };
  const affected: Affected[] = [];
  for (let number = 1; ; number += 1) {
    const due = NAMES.flatMap((fault) => Array<Fault>(left[fault]).fill(fault));
    if (due.length === 0) return affected;
    const fault = random.pick(due);
    left[fault] -= 1;
    await sleep(PAUSE_MS + random.below(2 * PAUSE_MS));
    const replica = random.pick(replicas);
    const tasks = OF_REPLICA.has(fault) ? await replica.tasks() : [];
    options.onFault?.(`${number} ${fault}: ${tasks.length} tasks in work`);
    const at = Date.now();
    affected.push(...tasks.map((taskId) => ({ fault, taskId, at })));
    await strike(fault, replica, { replicas, database });
  }
}

async function strike(
  fault: Fault,
  replica: Replica,
  { replicas, database }: Pick<Disturbance, 'replicas' | 'database'>,
): Promise<void> {
  switch (fault) {
    case 'kill':
    case 'term':
      await replica.end(fault === 'kill' ? 'SIGKILL' : 'SIGTERM');
      return replica.start();
    case 'stop':
      replica.pause(true);
      await sleep(AWAY_MS);
      return replica.pause(false);
    case 'cut':
      replica.way.cut(true);
      await sleep(AWAY_MS);
      return replica.way.cut(false);
    case 'restart':
      return database.restart();
    case 'terminate':
      return database.terminate();
    case 'flap':
      for (let times = 0; times < FLAPS; times += 1) await database.restart();
      return;
    case 'hang':
      for (const { way } of replicas) way.cut(true);
      await sleep(AWAY_MS);
      for (const { way } of replicas) way.cut(false);
      return;
    case 'slow':
      for (const { way } of replicas) way.slow(SLOW_MS);
      await sleep(AWAY_MS);
      for (const { way } of replicas) way.slow(0);
      return;
    case 'exhausted':
      return database.exhaust(AWAY_MS);
    case 'full':
      return database.fill(AWAY_MS);
    case 'failover':
      return database.failOver();
  }
}

/**
 * Milliseconds from each fault to the next run of the task. A task without a next run had ended already, or was
 * canceled.
 */
async function takeovers(
  affected: readonly Affected[],
  database: Database,
): Promise<ChaosFigures['takeover']> {
  const waits = new Map<Fault, number[]>();
  for (const { fault, taskId, at } of affected) {
    const log = await readLog(database, taskId);
    const next = log.find((event) => event.type === 'run-start' && event.at >= at);
    if (next) waits.set(fault, [...(waits.get(fault) ?? []), next.at - at]);
  }
  return Object.fromEntries([...waits].map(([fault, ms]) => [fault, spread(ms)]));
}

function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1]!;
  return { count: sorted.length, p50: at(0.5), p99: at(0.99) };
}
