import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import type { StdioOptions } from 'node:child_process';

const O_CLOEXEC = 0o2000000;
const STDERR = 2;

/**
 * What a child gets as its descriptors: no stdin, pipes for stdout and stderr, `feeds` pipes from 3 on,
 * and nothing in the place of what the server itself was started with (a supervisor's pipe, a lock):
 * Node.js keeps back only the first sixteen.
 */
export function withDescriptors<Child>(feeds: number, start: (stdio: StdioOptions) => Child): Child {
  const stdio: ('ignore' | 'pipe' | number)[] = [
    'ignore',
    'pipe',
    'pipe',
    ...Array<'pipe'>(feeds).fill('pipe'),
  ];
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

/** In ascending order; empty where /proc does not tell. Node.js itself opens nothing that is inherited. */
function listInherited(): readonly number[] {
  inheritedDescriptors ??= listDescriptors().filter(
    (descriptor) => descriptor > STDERR && isInherited(descriptor),
  );
  return inheritedDescriptors;
}

function listDescriptors(): number[] {
  try {
    return readdirSync('/proc/self/fd')
      .map(Number)
      .sort((a, b) => a - b);
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
    return false; // It was the one that read the folder.
  }
}
