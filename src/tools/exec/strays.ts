import { readdir, readFile } from 'node:fs/promises';

/** Set in the environment of every command outside the sandbox, and inherited by what it starts. */
export const MARK_VARIABLE = 'LANGO_EXEC';

/**
 * Kills the processes that left their group (setsid, double fork) by the mark in their environment. Best
 * effort, on Linux only: one that clears its environment is missed. In the sandbox nothing can escape.
 */
export async function killMarked(mark: string): Promise<void> {
  const entries = await readdir('/proc').catch(() => []);
  const ids = entries.filter((name) => /^\d+$/.test(name)).map(Number);
  await Promise.all(ids.map((id) => killIfMarked(id, `${MARK_VARIABLE}=${mark}\0`)));
}

async function killIfMarked(id: number, entry: string): Promise<void> {
  const environment = await readFile(`/proc/${id}/environ`, 'latin1').catch(() => '');
  if (!environment.includes(entry)) return;
  try {
    process.kill(id, 'SIGKILL');
  } catch {
    // It ended meanwhile.
  }
}
