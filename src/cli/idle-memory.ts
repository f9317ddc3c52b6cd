import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** How often it is looked whether there is something to give back. */
const LOOK_MS = 1_000;
/** Less work than this since the last look, in microseconds of CPU, and the server is taken to be idle. */
const IDLE_CPU_MICROSECONDS = 30_000;
/** Memory is given back only when there is more of it than this, in bytes: it costs a pause. */
const WORTH_BYTES = 24 * 1024 * 1024;

type Collect = (options: { type: 'major'; flavor: 'last-resort'; execution: 'sync' }) => void;

/**
 * Gives memory back whenever the server has become idle: what the start took for loading and compiling, and what a
 * burst of requests left behind. V8 keeps a heap several times of what is alive, and a server at rest gives it no
 * reason to let go. Costs a pause of some 100 ms, once after each burst.
 */
export function releaseIdleMemory(): void {
  let cpu = process.cpuUsage();
  let kept = 0;
  const look = (): void => {
    const { user, system } = process.cpuUsage(cpu);
    cpu = process.cpuUsage();
    if (user + system > IDLE_CPU_MICROSECONDS || process.memoryUsage.rss() < kept + WORTH_BYTES) return;
    release();
    cpu = process.cpuUsage();
    kept = process.memoryUsage.rss();
  };
  setInterval(look, LOOK_MS).unref();
}

function release(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as Collect;
  collect({ type: 'major', flavor: 'last-resort', execution: 'sync' });
}
