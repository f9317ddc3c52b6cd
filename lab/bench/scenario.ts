import type { Figure, Samples } from './figures.js';
import type { Kind, Target } from './target.js';
import { startTarget } from './target.js';
import type { Trials } from './trials.js';

/** The amount of work to measure. */
export interface Sizes extends Trials {
  /** The number of turns of each server; the result is their median. */
  readonly rounds: number;
  /** Requests sent before anything is measured, until the code of the servers is compiled. */
  readonly warmUp: number;
  /** Requests of one turn at 32 connections. */
  readonly requests: number;
  /** Chunks of one turn, for streams of every length. */
  readonly chunks: number;
  /** The longest stream of the stock server, whose cost grows with the square of the length. */
  readonly longestStockStream: number;
  /** Messages of a conversation that are measured in one turn. */
  readonly messages: number;
  /** Requests during which memory must not grow. */
  readonly lastingRequests: number;
  /** Messages that are kept while a send is measured. */
  readonly keptMessages: number;
  /** Tasks of the caller who lists them. */
  readonly listedTasks: number;
}

export const FULL: Sizes = {
  rounds: 7,
  warmUp: 24_000,
  requests: 2_000,
  chunks: 20_000,
  longestStockStream: 1_000,
  messages: 60,
  lastingRequests: 10_000,
  keptMessages: 500_000,
  listedTasks: 20_000,
  entries: 100_000,
  vectors: 100_000,
  triples: 1_000_000,
  questions: 40,
};

export const QUICK: Sizes = {
  rounds: 3,
  warmUp: 1_500,
  requests: 300,
  chunks: 5_000,
  longestStockStream: 200,
  messages: 15,
  lastingRequests: 500,
  keptMessages: 60_000,
  listedTasks: 2_000,
  entries: 10_000,
  vectors: 10_000,
  triples: 50_000,
  questions: 20,
};

/** The servers and options of a scenario. */
interface Bench {
  readonly sizes: Sizes;
  /** The data folder of `lango serve`. */
  readonly home: string;
  /** Starts a server. It is stopped after the scenario if it still runs. */
  readonly start: (kind: Kind, databaseUrl?: string) => Promise<Target>;
}

export type Scenario = (bench: Bench) => Promise<readonly Figure[]>;

/** Runs a scenario and stops what it started, also when it fails. */
export async function runScenario(
  scenario: Scenario,
  { sizes, home }: Pick<Bench, 'sizes' | 'home'>,
): Promise<readonly Figure[]> {
  const targets: Target[] = [];
  const start = async (kind: Kind, databaseUrl?: string): Promise<Target> => {
    const target = await startTarget(kind, { home, ...(databaseUrl === undefined ? {} : { databaseUrl }) });
    targets.push(target);
    return target;
  };
  try {
    return await scenario({ sizes, home, start });
  } finally {
    await Promise.all(targets.map((target) => target.stop()));
  }
}

/** Runs the sides in the order A B C, A B C …: each once per round. */
export async function inTurns<Report>(
  rounds: number,
  sides: Readonly<Record<string, () => Promise<Report>>>,
): Promise<ReadonlyMap<string, readonly Report[]>> {
  const reports = new Map(Object.keys(sides).map((name) => [name, [] as Report[]]));
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, measure] of Object.entries(sides)) reports.get(name)!.push(await measure());
  }
  return reports;
}

/** One number of each report. */
export function samplesOf<Report>(
  reports: ReadonlyMap<string, readonly Report[]>,
  read: (report: Report) => number,
): Samples {
  return Object.fromEntries([...reports].map(([name, list]) => [name, list.map(read)]));
}
