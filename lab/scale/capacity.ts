import type { Outcome } from '../bench/table.js';

/** The cost of a unit of work: CPU in microseconds, the rest in bytes. */
export interface Cost {
  /** CPU of Lango's process. */
  readonly server: number;
  /** CPU of PostgreSQL. */
  readonly database: number;
  /** Write-ahead log. */
  readonly log: number;
  /** Growth of the database. */
  readonly stored: number;
}

type Unit = 'send' | 'event' | 'stream';

export interface Costs extends Readonly<Record<Unit, Cost>> {
  /** CPU of PostgreSQL for a second of a server without work. */
  readonly idle: number;
}

/** The number of each unit in one message of a person. */
const MESSAGE: Readonly<Record<Unit, number>> = { send: 2, event: 10, stream: 20 };
/** The share of its CPU that a database is planned with. The rest is for vacuum, peaks and backups. */
const PLANNED = 0.5;
/** The seconds between two messages of a person at work. */
const SECONDS_PER_MESSAGE = 60;

export interface Capacity {
  readonly cores: number;
  /** The rate of each kind of work alone, per second. */
  readonly sends: number;
  readonly messages: number;
  /** People at work at the same time. */
  readonly people: number;
  /** Cores of all servers of Lango together, at the same share of their CPU. */
  readonly serverCores: number;
  readonly logPerSecond: number;
  /** Growth of the database by a million messages. */
  readonly storedPerMillion: number;
}

/** Reads the costs from what `npm run bench -- --only postgres --json` printed. Throws when a figure is not in it. */
export function costsOf({ figures }: Pick<Outcome, 'figures'>): Costs {
  const value = (id: string, server: string): number => {
    const found = figures.find((figure) => figure.id === id)?.values[server];
    if (found === undefined) {
      const how = 'Make them with: npm run bench --silent -- --only postgres --json >FILE';
      throw new TypeError(`The figures lack ${id} of ${server}. ${how}`);
    }
    return found;
  };
  const costOf = (unit: Unit): Cost => ({
    server: value(`postgres.${unit}.cpu`, 'lango-postgres'),
    database: value(`postgres.${unit}.database`, 'database'),
    log: value(`postgres.${unit}.log`, 'database'),
    stored: value(`postgres.${unit}.stored`, 'database'),
  });
  return {
    ...{ send: costOf('send'), event: costOf('event'), stream: costOf('stream') },
    idle: value('postgres.idle.database', 'database'),
  };
}

/** The cost of one message of a person. */
export function messageOf(costs: Costs): Cost {
  const sum = (part: keyof Cost) =>
    (Object.keys(MESSAGE) as Unit[]).reduce((total, unit) => total + MESSAGE[unit] * costs[unit][part], 0);
  return { server: sum('server'), database: sum('database'), log: sum('log'), stored: sum('stored') };
}

/** The load that a PostgreSQL with so many cores can carry when work is spread over them. */
export function capacityOf(costs: Costs, cores: number): Capacity {
  const budget = cores * PLANNED * 1e6;
  const message = messageOf(costs);
  const messages = budget / message.database;
  return {
    cores,
    sends: budget / costs.send.database,
    messages,
    people: messages * SECONDS_PER_MESSAGE,
    serverCores: (messages * message.server) / 1e6 / PLANNED,
    logPerSecond: messages * message.log,
    storedPerMillion: message.stored * 1e6,
  };
}
