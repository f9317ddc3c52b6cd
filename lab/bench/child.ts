import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const COLLECTIONS = 10;

/** The resources that the process has used since its start. */
export interface CostAnswer {
  /** CPU time, user and system, in microseconds. */
  readonly cpu: number;
  /** Counted since the first question for "cost"; 0 in the answer to "cpu". */
  readonly statements: number;
}

export interface HeapAnswer {
  /** Bytes of all objects after a collection. */
  readonly heap: number;
}

/**
 * The server's side of the channel to the bench: sends the address, responds to "cpu", "cost" and "heap" with the usage of
 * the process, and stops on SIGTERM or when the bench has ended.
 */
export function attend(port: number, stop: () => Promise<void>, statements = () => 0): void {
  const leave = (): void => void stop().finally(() => process.exit());
  process.once('SIGTERM', leave);
  process.once('disconnect', leave);
  process.on('message', (asked) => {
    if (asked === 'heap') {
      process.send?.({ heap: heapAfterCollection() } satisfies HeapAnswer);
      return;
    }
    const { user, system } = process.cpuUsage();
    const counted = asked === 'cost' ? statements() : 0;
    process.send?.({ cpu: user + system, statements: counted } satisfies CostAnswer);
  });
  console.log(`ready http://127.0.0.1:${port}`);
}

function heapAfterCollection(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options?: object) => void;
  // Collections free the compiled code of functions that were not called during several of them.
  for (let round = 0; round < COLLECTIONS; round += 1) collect();
  collect({ type: 'major', flavor: 'last-resort', execution: 'sync' });
  return process.memoryUsage().heapUsed;
}
