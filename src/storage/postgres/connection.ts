import { access, constants } from 'node:fs/promises';
import type { Client, ClientBase, ClientConfig, Pool, PoolClient } from 'pg';
import { codeOf, LangoError, loadPackage } from '../../core/errors.js';
import type { Outcome, Statement } from '../../core/sql.js';

export interface ConnectionOptions {
  /** As in libpq: postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=… */
  readonly url: string;
  /** The authorities that certify the server, PEM: `sslrootcert` for an address without one. */
  readonly caFile?: string | undefined;
  /** The most connections at a time, besides one for notifications. */
  readonly connections: number;
  /** The most time that a statement may take. */
  readonly statementSeconds: number;
  /** `session`: each client has its own connection. `transaction`: one per transaction (PgBouncer); no state outlives it. */
  readonly pooling: 'session' | 'transaction';
}

export interface Driver {
  readonly pool: Pool;
  /** A connection apart from the pool. */
  connect(): Promise<Client>;
}

/** The most time that a call waits for a connection: for a new one, or for a free one of the pool. */
const CONNECT_MS = 10_000;
const IDLE_MS = 60_000;
/** The client gives up a statement this much later than the server. */
const CLIENT_GRACE_MS = 2_000;
/** The types of results that PostgreSQL's driver would give as text: int8 and numeric. */
const NUMBERS: ReadonlySet<number> = new Set([20, 1700]);
/** The types that stay text, because the stores parse JSON themselves. */
const JSON_TYPES: ReadonlySet<number> = new Set([114, 3802]);

/** The modes of libpq that the driver can follow: it cannot fall back to a connection without TLS, or from one. */
const MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'];
/** The value of `sslrootcert` for the authorities of the machine. */
const OF_SYSTEM = 'system';

/** Loads the optional package pg, and creates the pool. Opens no connection yet. Rejects with `storage` for a wrong address. */
export async function createDriver(options: ConnectionOptions): Promise<Driver> {
  const { default: pg } = await loadPackage('pg', () => import('pg'));
  const { connections, statementSeconds, pooling } = options;
  const limitMs = statementSeconds * 1_000;
  // Poolers refuse them among the parameters of a start.
  const limits = `SET statement_timeout = ${limitMs}; SET idle_in_transaction_session_timeout = ${limitMs}`;
  const limit = async (client: ClientBase): Promise<void> => {
    if (pooling === 'session') await client.query(limits);
  };
  const config: ClientConfig = {
    connectionString: await driverAddress(options),
    application_name: 'lango',
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_MS,
    // A limit of the client too: a server that cannot be reached any more ends no statement.
    query_timeout: limitMs + CLIENT_GRACE_MS,
    types: {
      getTypeParser: (type) => {
        if (NUMBERS.has(type)) return Number;
        return JSON_TYPES.has(type) ? String : (pg.types.getTypeParser(type) as (text: string) => unknown);
      },
    },
  };
  // A connection that the server ends fails the next statement on it. Its event without a listener would end this process.
  const pool = new pg.Pool({
    ...{ ...config, max: connections, idleTimeoutMillis: IDLE_MS },
    verify: (client, done) => void limit(client).then(() => done(), done),
  });
  pool.on('error', ignore).on('connect', (client) => client.on('error', ignore));
  return {
    pool,
    async connect() {
      const client = new pg.Client(config);
      client.on('error', ignore);
      try {
        await client.connect();
        await limit(client);
        return client;
      } catch (error) {
        void client.end().catch(ignore);
        throw error;
      }
    },
  };
}

/**
 * Makes the address for the driver, whose `sslmode` then means what it means in libpq. Rejects with `storage` for a mode
 * that it cannot follow, and for a file of authorities that cannot be read.
 */
async function driverAddress({ url, caFile }: Pick<ConnectionOptions, 'url' | 'caFile'>): Promise<string> {
  const [start = '', query = ''] = url.split(/\?(.*)/s);
  const parameters = new URLSearchParams(query);
  if (caFile !== undefined && !parameters.has('sslrootcert')) {
    parameters.set('sslrootcert', caFile);
    if (!parameters.has('sslmode')) parameters.set('sslmode', 'verify-full');
  }
  if (parameters.get('sslrootcert') === OF_SYSTEM) {
    parameters.delete('sslrootcert');
    parameters.set('sslmode', 'verify-full');
  }
  const [mode, file] = [parameters.get('sslmode'), parameters.get('sslrootcert')];
  if (mode !== null) {
    assertMode(mode, file);
    parameters.set('uselibpqcompat', 'true');
  }
  if (file !== null) await assertReadable(file);
  return parameters.size === 0 ? start : `${start}?${parameters.toString()}`;
}

function assertMode(mode: string, file: string | null): void {
  const refuse = (text: string, hint: string) => new LangoError('storage', text, { hint });
  if (!MODES.includes(mode))
    throw refuse(
      `sslmode=${mode} is not supported.`,
      `Use one of these in storage.url: ${MODES.join(', ')}.`,
    );
  if (mode !== 'verify-ca' || file !== null) return;
  const hint = 'Set storage.caFile, or sslrootcert in storage.url, or use sslmode=verify-full.';
  throw refuse('sslmode=verify-ca needs a file of authorities.', hint);
}

async function assertReadable(file: string): Promise<void> {
  try {
    await access(file, constants.R_OK);
  } catch (cause) {
    const text = `The file of the authorities of PostgreSQL cannot be read (${codeOf(cause)}): ${file}`;
    throw new LangoError('storage', text, {
      hint: 'Correct storage.caFile, or sslrootcert in storage.url.',
      cause,
    });
  }
}

function ignore(): void {}

interface Compiled {
  readonly text: string;
  /** The named parameters by position; empty for positional ones. */
  readonly names: readonly string[];
  /** The name under which a connection keeps the statement prepared. */
  readonly name: string;
}

/** By SQL text. The texts are few: constants, or built from few parts. */
const compiled = new Map<string, Compiled>();

/** Turns `?` and `@name` into PostgreSQL's `$1`. */
function compile(sql: string): Compiled {
  const known = compiled.get(sql);
  if (known) return known;
  const names: string[] = [];
  let position = 0;
  const text = sql.replace(/\?|@(\w+)/g, (_, name?: string) => {
    if (name === undefined) return `$${(position += 1)}`;
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}`;
  });
  const result = { text, names, name: `lango${compiled.size}` };
  compiled.set(sql, result);
  return result;
}

/** Runs one statement. `isPrepared`: the connection keeps it prepared. */
export function query(
  on: Pool | PoolClient,
  { sql, values }: Statement,
  isPrepared: boolean,
): Promise<Outcome> {
  const { text, names, name } = compile(sql);
  const given = values[0] as Readonly<Record<string, unknown>> | undefined;
  const ordered =
    names.length > 0 ? names.map((each) => toParameter(given?.[each])) : values.map(toParameter);
  const sent = isPrepared ? { text, values: ordered, name } : { text, values: ordered };
  return on.query(sent).then(({ rows, rowCount }) => ({ rows, changes: rowCount ?? 0 }));
}

/** Replaces U+0000, the only character that PostgreSQL's texts cannot hold. Keys with one were refused before. */
function toParameter(value: unknown): unknown {
  if (typeof value === 'string' && value.includes('\0')) return value.replaceAll('\0', '\ufffd');
  return value ?? null;
}
