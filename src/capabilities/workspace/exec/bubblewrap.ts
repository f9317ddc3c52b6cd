import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { LangoError } from '../../../core/errors.js';
import type { Account, PrivilegeDrop } from './account.js';
import { limitedShell, type Sandbox, type ShellCommand } from './launch.js';

/** A path that commands see: the host's `source`, writable or read-only, or a symbolic link to it. */
type Mount = readonly [kind: '--bind' | '--ro-bind' | '--symlink', source: string, path: string];

const SYSTEM_LINKS = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];
const ETC = [
  ...['/etc/alternatives', '/etc/ca-certificates', '/etc/localtime', '/etc/mime.types'],
  ...['/etc/ld.so.cache', '/etc/ld.so.conf', '/etc/ld.so.conf.d'],
  ...['/etc/pki/tls/certs', '/etc/ssl/certs', '/etc/ssl/openssl.cnf'],
];
const ETC_NETWORK = ['hosts', 'nsswitch.conf', 'protocols', 'resolv.conf', 'services'].map(
  (name) => `/etc/${name}`,
);

const ARGUMENTS_FD = '3';
const PASSWD_FD = '4';
const GROUP_FD = '5';
const FILTER_FD = '6';

export interface BubblewrapOptions {
  /** Required for a server that is root. */
  readonly privilegeDrop?: PrivilegeDrop | undefined;
  /** The filter of system calls: see `seccompFilter`. */
  readonly filter?: Buffer | undefined;
  /**
   * Runs commands without /proc, for a container whose own /proc is masked: the kernel refuses to mount another one there.
   * Requires `filter`, which then keeps commands from creating namespaces, because bubblewrap cannot without /proc.
   */
  readonly hasNoProc?: boolean;
}

/**
 * Runs commands in bubblewrap: with their own namespaces, no capabilities and no way to gain any, a read-only file
 * system with the system's programs and none of the host's data, and the folders of the command at their usual paths.
 */
export function bubblewrap(
  bwrap: string,
  { uid, gid }: Account,
  { privilegeDrop, filter, hasNoProc = false }: BubblewrapOptions = {},
): Sandbox {
  const offline = readTree(ETC);
  const online = readTree([...ETC, ...ETC_NETWORK]);
  return {
    summary: `bubblewrap, ${privilegeDrop === undefined ? '' : 'stepping down from root to '}uid ${uid}`,
    launch(command, network) {
      const tree = network ? online : offline;
      const shell = limitedShell(command, command.limits.processes);
      const { writable, readable } = command;
      const folders = [...writable, ...readable];
      const binds = folders.map((path, index): Mount => {
        const kind = index < writable.length ? '--bind' : '--ro-bind';
        return [kind, privilegeDrop?.mountPointOf(index) ?? path, path];
      });
      const prefix = privilegeDrop?.commandPrefix(folders) ?? [];
      const [file, ...args] = [...prefix, bwrap, '--args', ARGUMENTS_FD, '--', ...shell];
      return {
        file: file!,
        args,
        // bubblewrap runs with the server's rights, so it gets no variable that the model chose, such as LD_PRELOAD.
        env: { PATH: '/usr/bin:/bin:/usr/sbin:/sbin' },
        cwd: '/',
        pipedInputs: [
          joinArguments([
            ...(filter ? ['--seccomp', FILTER_FD] : []),
            ...sandboxArguments({ command, binds, tree, network, hasNoProc }),
          ]),
          `lango:x:${uid}:${gid}::/tmp:/bin/sh\n`,
          `lango:x:${gid}:\n`,
          ...(filter ? [filter] : []),
        ],
        contained: true,
      };
    },
  };
}

function readTree(etc: readonly string[]): readonly Mount[] {
  const present = [...SYSTEM_LINKS, ...etc].filter((path) => existsSync(path));
  return [['--ro-bind', '/usr', '/usr'], ...present.map(systemMount)];
}

function systemMount(path: string): Mount {
  const isSystemLink = SYSTEM_LINKS.includes(path) && lstatSync(path).isSymbolicLink();
  if (isSystemLink) return ['--symlink', readlinkSync(path), path];
  return ['--ro-bind', realpathSync(path), path];
}

interface SandboxContent {
  readonly command: ShellCommand;
  readonly binds: readonly Mount[];
  readonly tree: readonly Mount[];
  readonly network: boolean;
  readonly hasNoProc: boolean;
}

/** bubblewrap reads these arguments from a descriptor, so that no process list shows the environment. */
function sandboxArguments({ command, binds, tree, network, hasNoProc }: SandboxContent): string[] {
  const outerFirst = binds.toSorted(([, , a], [, , b]) => a.length - b.length);
  const memory = ['--perms', '1777', '--size', String(command.limits.memoryMb * 1024 * 1024)];
  return [
    ...['--die-with-parent', '--unshare-user', '--unshare-pid', '--unshare-ipc'],
    ...['--unshare-uts', '--unshare-cgroup-try', ...(network ? [] : ['--unshare-net'])],
    ...['--cap-drop', 'ALL', '--hostname', 'lango'],
    ...[...memory, '--tmpfs', '/tmp'],
    ...tree.flat(),
    ...['--perms', '0444', '--ro-bind-data', PASSWD_FD, '/etc/passwd'],
    ...['--perms', '0444', '--ro-bind-data', GROUP_FD, '/etc/group'],
    ...(hasNoProc ? [] : ['--disable-userns', '--proc', '/proc']),
    ...['--dev', '/dev', ...memory, '--tmpfs', '/dev/shm'],
    ...outerFirst.flat(),
    ...['--remount-ro', '/dev', '--remount-ro', '/'],
    ...Object.entries(command.env).flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--chdir', command.cwd],
  ];
}

/** Joins arguments with NUL. A NUL inside an argument would start another argument, for example another mount. */
function joinArguments(args: readonly string[]): string {
  if (args.every((arg) => !arg.includes('\0'))) return args.join('\0');
  throw new LangoError('invalid-input', 'env, cwd: a variable or a path must not contain a NUL character.');
}
