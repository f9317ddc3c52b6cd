import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { extract } from 'tar';
import { parse } from 'yaml';
import { langoHere } from '../cli/lango-here.js';
import type { ServerOptions } from '../../src/index.js';
import type { EmbeddingServer } from './embedding-server.js';

/** The data folders of test/fixtures, made by an earlier version of the program, and what a user reads in them. */

export type Settings = NonNullable<ServerOptions['settings']>;
export type Env = Readonly<Record<string, string>>;

/** The data that the earlier version read in its folder, before the folder was packed. */
export interface Expected {
  readonly atRest: Readings;
  /** The data by owner. */
  readonly served: Readonly<Record<Owner, Readings>>;
  readonly ids: Readonly<
    Record<'waiting' | 'unfinished' | 'repeated' | 'traced' | 'removed' | 'ciphertext', string>
  >;
}

/** The owners of the data: `default` is the owner of the server's own token, `anna` signs in at an issuer. */
type Owner = 'default' | 'anna';
/** The output of the earlier version, by command line. */
type Readings = Readonly<Record<string, unknown>>;

export interface OldHome {
  readonly folder: string;
  /** The statements that create its PostgreSQL database. */
  readonly dump: () => Promise<string>;
  readonly expected: Expected;
  /** The settings of its config.yaml. */
  readonly settings: Settings;
  remove(): Promise<void>;
}

/** Unpacks the folder of the version that kept its data in this database. */
export async function openOldHome(engine: 'sqlite' | 'postgres'): Promise<OldHome> {
  const root = await mkdtemp(path.join(tmpdir(), 'lango-old-home-'));
  await extract({ file: path.resolve(`test/fixtures/${engine}.tar.gz`), cwd: root });
  const read = (name: string) => readFile(path.join(root, name), 'utf8');
  return {
    folder: path.join(root, 'home'),
    dump: () => read('dump.sql'),
    expected: JSON.parse(await read('expected.json')) as Expected,
    settings: parse(await read('home/config.yaml')) as Settings,
    remove: () => rm(root, { recursive: true, force: true }),
  };
}

/** Adds the embedding server that made the vectors: its address differs at each start. */
export function withEmbeddings(settings: Settings, { baseUrl }: EmbeddingServer): Settings {
  return { ...settings, embedding: { provider: 'openai', model: 'small', baseUrl } };
}

/** The JSON output of a command. Throws when the command fails. */
export async function reading(command: string, env: Env): Promise<unknown> {
  const { code, stdout, stderr } = await langoHere(command.split(' '), { env });
  if (code !== 0) throw new Error(`lango ${command}: ${stderr || stdout}`);
  return JSON.parse(stdout);
}

async function readings(commands: readonly string[], env: Env): Promise<Readings> {
  const entries: [string, unknown][] = [];
  for (const command of commands) entries.push([command, await reading(command, env)]);
  return Object.fromEntries(entries);
}

const KEPT = ['data export', 'secrets list --json', 'wallet address --json'];
const BILLS = ['model', 'agent', 'day', 'node'].map((by) => `bill --by ${by} --json`);

/** Reads what the owner `default` keeps in a data folder that no server has open. */
export async function readAtRest(env: Env): Promise<Readings> {
  return withoutAdded(await readings([...KEPT, ...BILLS, 'ingest list --json'], env));
}

/** Members that the earlier version did not have: an attribute of spans, and the name of this machine. */
const ADDED = ['lango.time_to_first_text', 'nodeName'];

function withoutAdded(read: Readings): Readings {
  const text = JSON.stringify(read, (name, value: unknown) => (ADDED.includes(name) ? undefined : value));
  return JSON.parse(text) as Readings;
}

/** Reads what an owner finds at a running server, except the task that goes on at its start. */
export async function readServed(env: Env, { ids }: Pick<Expected, 'ids'>, owner: Owner): Promise<Readings> {
  const histories =
    owner === 'default' ? [`tasks trace ${ids.traced} --json`, `tasks get ${ids.waiting} --json`] : KEPT;
  const { tasks } = (await reading('tasks list --limit 100 --json', env)) as {
    readonly tasks: readonly { readonly id: string }[];
  };
  const read = {
    ...(await readings(histories, env)),
    tasks: tasks.filter(({ id }) => id !== ids.unfinished),
  };
  return withoutAdded(read);
}
