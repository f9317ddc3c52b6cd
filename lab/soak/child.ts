import process from 'node:process';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** The memory and handles of the server process once its garbage is collected. */
export interface Held {
  readonly heapMb: number;
  readonly externalMb: number;
  /** Open handles and waiting requests of the event loop, by kind. */
  readonly handles: Readonly<Record<string, number>>;
}

/** Loaded into `lango serve` before it starts: answers each message with what the process holds. */
process.on('message', () => {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  const handles: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) handles[kind] = (handles[kind] ?? 0) + 1;
  const held = { heapMb: heap / 1e6, externalMb: external / 1e6, handles };
  process.send?.(held satisfies Held);
});
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
process.channel?.unref();
