import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { isAlive } from '../disk/programs.js';

/** The server that runs in a data folder. Clients on this machine send the token of the folder to this port only. */
interface RunningServer {
  readonly port: number;
  readonly pid: number;
  /** The start time of the process in clock ticks since boot; undefined on systems without /proc. */
  readonly started?: string | undefined;
  /** The file of its embedded database. */
  readonly database?: string | undefined;
}

const fileIn = (home: string): string => join(home, 'server.json');

/**
 * Records that this process serves the data folder. Resolves with a function that deletes the record. If the folder cannot
 * be written to, there is no record, and clients must be given the token.
 */
export async function recordRunningServer(
  home: string,
  { port, database }: Pick<RunningServer, 'port' | 'database'>,
): Promise<() => Promise<void>> {
  const { pid } = process;
  const running: RunningServer = { port, pid, started: await startTimeOf(pid), database };
  await writeFile(fileIn(home), JSON.stringify(running), { mode: 0o600 }).catch(() => undefined);
  return () => rm(fileIn(home), { force: true });
}

/** The port of the server of the data folder; undefined when none runs. */
export async function runningPort(home: string): Promise<number | undefined> {
  return (await runningServer(home))?.port;
}

async function runningServer(home: string): Promise<RunningServer | undefined> {
  try {
    const server = JSON.parse(await readFile(fileIn(home), 'utf8')) as RunningServer;
    const { pid, started } = server;
    // Another user's process may have the id by now, and listen on the port.
    return isAlive(pid) && started === (await startTimeOf(pid)) ? server : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Whether another process serves the data folder with this database, also when somebody deleted its lock. False where
 * the system does not tell when a process started.
 */
export async function isServedElsewhere(home: string, database: string): Promise<boolean> {
  const server = await runningServer(home);
  return server?.started !== undefined && server.pid !== process.pid && server.database === database;
}

/** Distinguishes a process from a later one with the same id: field 22 of /proc/PID/stat, after a name that may hold ")". */
async function startTimeOf(pid: number): Promise<string | undefined> {
  const line = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return line.slice(line.lastIndexOf(')') + 2).split(' ')[19];
}
