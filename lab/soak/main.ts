import { setTimeout as sleep } from 'node:timers/promises';
import { commandLine } from '../command-line.js';
import { type Figures, SoakServer } from './server.js';
import { TRAFFIC } from './traffic.js';

/** `npm run soak`: all kinds of traffic for a long time, after which the server holds what it held after the first minutes. */
const about = `Sends all kinds of traffic to \`lango serve\`, over loopback, and compares what the process holds at rest after the
first minutes and at the end: memory, handles, descriptors and files. Exits with 1 when something grew.`;
const options = commandLine('soak', about, {
  minutes: { default: 30, text: 'how long the traffic lasts' },
  first: { default: 5, text: 'the minutes after which the server is measured first' },
  rest: { default: 90, text: 'the seconds of rest before each measurement' },
  senders: { default: 4, text: 'how many exchanges are open at once' },
  json: { default: false, text: 'prints the figures as JSON' },
});

/** The most that the end may have beside the first measurement. */
const MOST_GROWTH = { residentMb: 16, heapMb: 4, externalMb: 4, descriptors: 4, files: 4 } as const;
const MINUTE_MS = 60_000;

/** No limit of requests is in the way. */
const FAST = 10_000;

const settings = {
  server: {
    grpc: { enabled: true, port: 0 },
    limits: { requestsPerSecond: FAST, requestBurst: FAST, anonymousPerSecond: FAST, anonymousBurst: FAST },
  },
  egress: { allowPrivate: ['127.0.0.1'] },
  mcp: { serve: true },
  metrics: { enabled: true },
};
const server = await SoakServer.open(settings);
const findings: string[] = [];
const counts: Record<string, number> = {};

/** Sends the kinds of traffic in turn until that time. */
async function sendUntil(end: number): Promise<void> {
  const kinds = Object.entries(TRAFFIC);
  let next = 0;
  const sender = async (): Promise<void> => {
    while (performance.now() < end) {
      const [kind, [right, exchange]] = kinds[next++ % kinds.length]!;
      const got = await exchange(server).catch((error: unknown) => String(error));
      counts[kind] = (counts[kind] ?? 0) + 1;
      if (got !== right) findings.push(`${kind}: ${got} instead of ${right}`);
    }
  };
  await Promise.all(Array.from({ length: options.senders }, sender));
}

async function measureAtRest(): Promise<Figures> {
  await sleep(options.rest * 1_000);
  return server.measure();
}

const start = await server.measure();
await sendUntil(performance.now() + options.first * MINUTE_MS);
const first = await measureAtRest();
await sendUntil(performance.now() + (options.minutes - options.first) * MINUTE_MS);
const end = await measureAtRest();
for (const [name, most] of Object.entries(MOST_GROWTH) as [keyof typeof MOST_GROWTH, number][]) {
  const growth = end[name] - first[name];
  if (growth > most) findings.push(`${name} grew by ${growth.toFixed(1)}, from ${first[name].toFixed(1)}`);
}
for (const [kind, count] of Object.entries(end.handles)) {
  const before = first.handles[kind] ?? 0;
  if (count > before + 4) findings.push(`${kind}: ${count} handles, and ${before} before`);
}
const { code, log } = await server.stop();
await server[Symbol.asyncDispose]();
if (code !== 0) findings.push(`the server ended with ${code}`);
const errors = log.split('\n').filter((line) => /"level":"error"| error /.test(line));
findings.push(...errors.slice(0, 10));
const exchanges = Object.values(counts).reduce((sum, count) => sum + count, 0);

if (options.json) console.log(JSON.stringify({ exchanges, counts, start, first, end, findings }));
else {
  const line = (cells: readonly unknown[]): string => cells.map((cell) => String(cell).padStart(12)).join('');
  console.log(line(['', 'start', 'first', 'end']));
  for (const name of ['residentMb', 'heapMb', 'externalMb', 'descriptors', 'files'] as const)
    console.log(line([name, ...[start, first, end].map((figures) => Math.round(figures[name]))]));
  console.log(`${exchanges} exchanges: ${JSON.stringify(counts)}`);
  console.log(`handles ${JSON.stringify(first.handles)} then ${JSON.stringify(end.handles)}`);
  console.log(`${findings.length} findings`);
  for (const finding of findings.slice(0, 50)) console.log(`  ${finding}`);
}
process.exit(findings.length === 0 ? 0 : 1);
