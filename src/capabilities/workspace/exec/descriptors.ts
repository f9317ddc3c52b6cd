import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import type { StdioOptions } from 'node:child_process';

const O_CLOEXEC = 0o2000000;
const STDERR = 2;

/**
 * Calls `start` with the stdio of a child process: `stdin`, pipes for stdout and stderr, and `pipes` further pipes from
 * descriptor 3 on. Replaces every descriptor that the server inherited (a supervisor's pipe, a lock) by /dev/null, because
 * Node.js closes only the first sixteen.
 */
export function withDescriptors<Child>(
  stdin: 'ignore' | 'pipe',
  pipes: number,
  start: (stdio: StdioOptions) => Child,
): Child {
  const stdio: ('ignore' | 'pipe' | number)[] = [stdin, 'pipe', 'pipe', ...Array<'pipe'>(pipes).fill('pipe')];
  const nothing = openSync('/dev/null', 'r');
  try {
    for (const descriptor of listInherited().filter((each) => each >= stdio.length)) {
      while (stdio.length < descriptor) stdio.push('ignore');
      stdio[descriptor] = nothing;
    }
    return start(stdio);
  } finally {
    closeSync(nothing);
  }
}

let inheritedDescriptors: readonly number[] | undefined;

/** Inherited descriptors in ascending order; none where /proc is missing. Node.js itself opens no such descriptor. */
function listInherited(): readonly number[] {
  return (inheritedDescriptors ??= listDescriptors().filter((each) => each > STDERR && isInherited(each)));
}

function listDescriptors(): number[] {
  try {
    const names = readdirSync('/proc/self/fd');
    return names.map(Number).sort((a, b) => a - b);
  } catch {
    return [];
  }
}

function isInherited(descriptor: number): boolean {
  try {
    const info = readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8');
    const flags = parseInt(/^flags:\s*([0-7]+)/m.exec(info)?.[1] ?? '', 8);
    return (flags & O_CLOEXEC) === 0;
  } catch {
    return false; // This descriptor read the list and is closed by now.
  }
}
