import { spawn, type ChildProcess } from 'node:child_process';
import { withDescriptors } from './descriptors.js';
import { baseEnvironment } from './launch.js';

/** A variable in the environment of every command outside the sandbox. Child processes inherit it. */
export const MARK_VARIABLE = 'LANGO_EXEC';

/**
 * Keeps a list of programs, each by its process group and its mark, and kills them once its stdin ends. A process that
 * left its group is found by the mark in its environment, on Linux only.
 */
const SCRIPT = `
live=' '
while read -r verb group mark; do
  case $verb in
    add) live="$live$group/$mark " ;;
    end) rest="\${live#* $group/}"; live="\${live%% $group/*} \${rest#* }" ;;
  esac
done
for one in $live; do
  for round in 1 2 3 4 5; do
    kill -9 "-\${one%%/*}"
    found=$(grep -lsaF "${MARK_VARIABLE}=\${one#*/}" /proc/[0-9]*/environ)
    [ -n "$found" ] || break
    for file in $found; do id="\${file#/proc/}"; kill -9 "\${id%/environ}"; done
  done
done 2>/dev/null
`;

let reaper: ChildProcess | undefined;
const live = new Map<number, string>();

/**
 * Has the program end with this process, also when this process is killed (SIGKILL, no memory). Returns a function to call
 * when the program has ended.
 */
export function endWithServer(group: number, mark: string): () => void {
  live.set(group, mark);
  tell(`add ${group} ${mark}`);
  return () => {
    live.delete(group);
    tell(`end ${group}`);
  };
}

function tell(line: string): void {
  const isRunning = reaper !== undefined && reaper.exitCode === null && reaper.signalCode === null;
  if (!isRunning) reaper = startReaper();
  const lines = isRunning ? [line] : [...live].map(([group, mark]) => `add ${group} ${mark}`);
  for (const one of lines) reaper?.stdin?.write(`${one}\n`);
}

/** One shell for all programs. It has its own session, so that no signal to this process reaches it. */
function startReaper(): ChildProcess {
  const options = { cwd: '/', env: baseEnvironment('/'), detached: true };
  const child = withDescriptors('pipe', 0, (stdio) =>
    spawn('/bin/sh', ['-c', SCRIPT], { ...options, stdio }),
  );
  child.on('error', () => undefined);
  child.unref();
  for (const pipe of [child.stdin, child.stdout, child.stderr]) {
    pipe?.on('error', () => undefined);
    (pipe as { unref?(): void } | null)?.unref?.();
  }
  return child;
}
