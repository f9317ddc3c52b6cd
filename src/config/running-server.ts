import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';

/** The server that runs in a data folder. Clients on this machine send the kept token there, and to no other port. */
interface RunningServer {
  readonly port: number;
  readonly pid: number;
  /** When the process started, as the system counts it; undefined where it cannot be told. */
  readonly started?: string | undefined;
}

const fileIn = (home: string): string => join(home, 'server.json');

/**
 * Writes down that this process serves the data folder. Returns a function that takes it back. In a folder that cannot be
 * written to, clients need the token by other ways.
 */
export async function noteRunning(home: string, port: number): Promise<() => Promise<void>> {
  const { pid } = process;
  const running: RunningServer = { port, pid, started: await startOf(pid) };
  await writeFile(fileIn(home), JSON.stringify(running), { mode: 0o600 }).catch(() => undefined);
  return () => rm(fileIn(home), { force: true });
}

/** Whether the server of the data folder runs and has this port. */
export async function isRunningAt(home: string, port: number): Promise<boolean> {
  try {
    const running = JSON.parse(await readFile(fileIn(home), 'utf8')) as RunningServer;
    if (running.port !== port) return false;
    process.kill(running.pid, 0);
    return running.started === (await startOf(running.pid));
  } catch (error) {
    // The process is there, but belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Tells a process from a later one with its number. The 22nd field of /proc/PID/stat (proc(5)); the name may hold spaces. */
async function startOf(pid: number): Promise<string | undefined> {
  const line = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return line.slice(line.lastIndexOf(')') + 2).split(' ')[19];
}
