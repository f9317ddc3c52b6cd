import type { BenchResponse, Connection } from './connection.js';
import type { Call } from './requests.js';
import { callText, requireCompleted } from './requests.js';
import type { Target } from './target.js';

export interface Load {
  readonly connections: number;
  readonly requests: number;
  /** The n-th request. */
  readonly call: (index: number) => Call;
  /** Throws when a response is not the expected one. */
  readonly check?: (answer: BenchResponse) => void;
}

export interface LoadReport {
  readonly wallMs: number;
  /** The time of each request, in milliseconds. */
  readonly latencies: readonly number[];
}

export interface CostReport extends LoadReport {
  /** CPU of the server's process for all requests together, in microseconds. */
  readonly cpu: number;
}

/** Sends requests over so many connections, each with one request at a time, and checks every response. */
export async function drive(target: Target, load: Load): Promise<LoadReport> {
  const { check = requireCompleted } = load;
  const connections = await Promise.all(Array.from({ length: load.connections }, () => target.connect()));
  const latencies: number[] = [];
  let next = 0;
  const work = async (connection: Connection): Promise<void> => {
    while (next < load.requests) {
      const text = callText(target.kind, load.call(next++));
      const startedAt = performance.now();
      const answer = await connection.request(text);
      latencies.push(performance.now() - startedAt);
      check(answer);
    }
  };
  try {
    const startedAt = performance.now();
    await Promise.all(connections.map(work));
    return { wallMs: performance.now() - startedAt, latencies };
  } finally {
    connections.forEach((connection) => connection.close());
  }
}

/** Drives the load, and adds the CPU that it cost the server. */
export async function measure(target: Target, load: Load): Promise<CostReport> {
  const before = await target.cpu();
  const report = await drive(target, load);
  return { ...report, cpu: (await target.cpu()) - before };
}
