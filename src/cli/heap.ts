import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { optionsOfNode } from './optimizing.js';

/** The young generation of V8 grows to this many bytes, at times a step further. V8 alone would let it grow to 128 MB. */
const YOUNG_BYTES = 16 * 1024 * 1024;
/** The growth of the old generation over its live objects, in percent, at which V8 collects it. V8 alone takes up to 300. */
const GROWTH_PERCENT = 80;

/**
 * Limits the garbage that V8 keeps during a burst of requests. Without these limits a server with 30 MB of live objects took
 * 370 MB, and needed as much CPU for a request (docs/internals/bench.md). V8 reads its own limit of the young generation
 * only when it starts, but the factor by which that grows at each step. An operator who sets sizes of the heap keeps them.
 */
export function limitHeap(): void {
  if (/semi-space|heap-growing/.test(optionsOfNode())) return;
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
  const observer = new PerformanceObserver(() => {
    const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
    const factor = young && young.space_size >= YOUNG_BYTES ? 1 : 2;
    setFlagsFromString(`--semi-space-growth-factor=${factor}`);
  });
  observer.observe({ entryTypes: ['gc'] });
}

/** The interval between two checks. */
const CHECK_MS = 1_000;
/** The server counts as idle when it used less CPU time than this since the last check, in microseconds. */
const IDLE_CPU_MICROSECONDS = 30_000;
/** Memory is released only when it has grown by more than this, in bytes, because releasing costs a pause. */
const WORTH_BYTES = 8 * 1024 * 1024;

type Collect = (options: { type: 'major'; flavor: 'last-resort'; execution: 'sync' }) => void;

/**
 * Releases memory whenever the server becomes idle: memory of the start, of loading and compiling, and of bursts of
 * requests. V8 keeps a heap of several times the live size, and an idle server gives it no reason to shrink the heap.
 * Costs a pause of about 100 ms, once after each burst.
 */
export function releaseIdleMemory(): void {
  let cpu = process.cpuUsage();
  let kept = 0;
  const check = (): void => {
    const { user, system } = process.cpuUsage(cpu);
    cpu = process.cpuUsage();
    if (user + system > IDLE_CPU_MICROSECONDS || process.memoryUsage.rss() < kept + WORTH_BYTES) return;
    release();
    cpu = process.cpuUsage();
    kept = process.memoryUsage.rss();
  };
  setInterval(check, CHECK_MS).unref();
}

function release(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as Collect;
  collect({ type: 'major', flavor: 'last-resort', execution: 'sync' });
}
