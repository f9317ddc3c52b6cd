import { mkdir, mkdtemp, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { LangoError } from '../../../core/errors.js';
import { MIB } from '../../../core/fields.js';
import { pause } from '../../../core/time.js';
import type { Launch } from './launch.js';

const ROOT = '/sys/fs/cgroup';
const SERVER = 'lango-server';
const COMMANDS = 'lango-commands';
/** The memory that commands leave to the server, but at most half of all. */
const SERVER_BYTES = 256 * MIB;

/** Cgroups for commands, beside the one of the server. `bytes`: the memory of all commands together, if it has a limit. */
export type CommandGroups = NonNullable<Awaited<ReturnType<typeof openCommandGroups>>>;

/**
 * Divides the cgroup of the server (cgroup v2) into one for itself and one for its commands, which have less memory together
 * than both: a command that takes all of it is ended by the kernel, with all its processes, and nothing else is. Resolves
 * with undefined where the server may not: where its cgroup is read-only, as in most containers, is not delegated to its
 * account (systemd's `Delegate=`), or holds other programs.
 */
export async function openCommandGroups() {
  try {
    const [line = '', ...others] = (await readFile('/proc/self/cgroup', 'utf8')).trim().split('\n');
    if (!line.startsWith('0::/') || others.length > 0) return undefined;
    const path = join(ROOT, line.slice('0::'.length));
    return await divide(basename(path) === SERVER ? dirname(path) : path);
  } catch {
    return undefined;
  }
}

async function divide(own: string) {
  const read = async (name: string) => (await readFile(join(own, name), 'utf8')).trim();
  const processes = (await read('cgroup.procs')).split('\n').filter(Boolean);
  // The init of a container is moved too.
  const isAlone = processes.every((id) => id === '1' || id === String(process.pid));
  if (!isAlone || !(await read('cgroup.controllers')).split(' ').includes('memory')) return undefined;
  const [server, commands] = [join(own, SERVER), join(own, COMMANDS)];
  await Promise.all([server, commands].map((folder) => mkdir(folder, { recursive: true })));
  // Only a cgroup without processes of its own gives memory to those below it.
  for (const id of processes) await writeFile(join(server, 'cgroup.procs'), id);
  for (const folder of [own, commands]) await writeFile(join(folder, 'cgroup.subtree_control'), '+memory');
  // The root of all cgroups has no limit and no such file.
  const limit = Number(await read('memory.max').catch(() => 'max'));
  const bytes = limit > 0 ? Math.floor(Math.max(limit - SERVER_BYTES, limit / 2)) : undefined;
  await writeFile(join(commands, 'memory.max'), String(bytes ?? 'max'));
  // Node reads its limit of memory here.
  if (bytes !== undefined) await writeFile(join(server, 'memory.max'), String(limit));
  // A server that was killed left the cgroups of its commands.
  for (const { name, parentPath } of await readdir(commands, { withFileTypes: true }))
    await rmdir(join(parentPath, name)).catch(() => undefined);
  return { bytes, make: () => makeGroup(commands, bytes) };
}

/** Makes the cgroup of a command with all its processes. */
async function makeGroup(commands: string, bytes: number | undefined) {
  const folder = await mkdtemp(join(commands, 'command-'));
  await writeFile(join(folder, 'memory.oom.group'), '1');
  return {
    // The shell enters the cgroup, and becomes the program.
    launch: ({ file, args, ...others }: Launch): Launch => ({
      ...others,
      file: '/bin/sh',
      args: ['-c', 'echo 0 > "$0/cgroup.procs" && exec "$@"', folder, file, ...args],
    }),
    /** Ends what is left in it and removes it. Resolves with a problem if the kernel ended the command for want of memory. */
    async close(): Promise<LangoError | undefined> {
      const events = await readFile(join(folder, 'memory.events'), 'utf8').catch(() => '');
      // Kernels before 5.14 cannot do this: there the group of processes alone was ended.
      await writeFile(join(folder, 'cgroup.kill'), '1').catch(() => undefined);
      await remove(folder);
      if (!/^oom_kill [1-9]/m.test(events)) return undefined;
      const all = bytes === undefined ? '' : ` All commands together have ${Math.floor(bytes / MIB)} MiB.`;
      const message = `The kernel ended the command, because there was no memory left.${all}`;
      return new LangoError('limit-reached', message, { hint: 'Work on less at once.' });
    },
  };
}

const ROUNDS = 50;
const ROUND_MS = 20;

/** A cgroup is busy until its last process has ended. */
async function remove(folder: string): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const problem: unknown = await rmdir(folder).catch((error: unknown) => error);
    if (problem === undefined) return;
    await pause(ROUND_MS);
  }
}
