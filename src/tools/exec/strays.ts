import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';

/** Set in the environment of every command outside the sandbox, and inherited by what it starts. */
export const MARK_VARIABLE = 'LANGO_EXEC';

const ROUNDS = 10;
const ROUND_MS = 20;

/**
 * Kills the processes that left their group (setsid, double fork) by the mark in their environment, until
 * none is left. Best effort, on Linux only: one that clears its environment is missed. In the sandbox
 * nothing can escape.
 */
export async function killMarked(mark: string): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const marked = await findMarked(`${MARK_VARIABLE}=${mark}\0`);
    if (marked.length === 0) return;
    marked.forEach(kill);
    await wait(ROUND_MS);
  }
}

async function findMarked(entry: string): Promise<number[]> {
  const names = await readdir('/proc').catch(() => []);
  const ids = names.filter((name) => /^\d+$/.test(name));
  const environments = await Promise.all(
    ids.map((id) => readFile(`/proc/${id}/environ`, 'latin1').catch(() => '')),
  );
  return ids.filter((_, index) => environments[index]!.includes(entry)).map(Number);
}

function kill(id: number): void {
  try {
    process.kill(id, 'SIGKILL');
  } catch {
    // It ended meanwhile.
  }
}
