import { setTimeout as delay } from 'node:timers/promises';
import type { Scope } from '../../core/task.js';
import type { Link } from './link.js';
import { requestOptions } from './link.js';

/** How long a peer is given to hear of it. */
export const CANCEL_MS = 2_000;

/** Asks for the cancellation of a task: best effort, for two seconds at most. Never throws. */
export async function cancelTask(link: Link, scope: Scope | undefined, taskId: string): Promise<void> {
  const over = new AbortController();
  const options = requestOptions(link, { scope, signal: AbortSignal.timeout(CANCEL_MS) });
  await Promise.race([
    link.transport.cancelTask({ tenant: '', id: taskId, metadata: undefined }, options).catch(() => {}),
    delay(CANCEL_MS, undefined, { signal: over.signal }).catch(() => {}),
  ]);
  over.abort();
}
