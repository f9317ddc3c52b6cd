/**
 * One replica of the chaos run, as a process of its own: `node dist/lab/chaos/replica.js HOME PORT DATABASE MARKS
 * CLOCK`. Its model streams words and calls two tools that write marks. CLOCK is the number of seconds that its clock
 * is ahead.
 */
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ModelEvent, ModelProvider, ModelRequest } from '../../src/index.js';
import { createServer, defineTool } from '../../src/index.js';
import { z } from 'zod';
import { TOKEN } from './token.js';

const [home, port, url, marks, clock] = process.argv.slice(2) as [string, string, string, string, string];
const TrueDate = Date;
const aheadMs = Number(clock) * 1_000;
globalThis.Date = class extends TrueDate {
  constructor(...given: readonly unknown[]) {
    super(...((given.length > 0 ? given : [TrueDate.now() + aheadMs]) as [number]));
  }

  static override now(): number {
    return TrueDate.now() + aheadMs;
  }
} as DateConstructor;
const WORD_MS = 20;
const CALL_MS = 300;

/** A mark is one line, written in one call: "TOOL KEY WHEN". */
function tool(name: string, effect: 'pure' | 'unsafe') {
  return defineTool({
    name,
    description: 'Leaves a mark.',
    schema: z.strictObject({}),
    effect,
    danger: () => 'safe',
    async execute(_input, { key }) {
      appendFileSync(marks, `${name} ${key} ${TrueDate.now()}\n`);
      await sleep(CALL_MS);
      return { content: 'marked' };
    },
  });
}

/** The tool call of each turn. The final text follows. */
const CALLS = ['search_look', 'exec_strike'];

async function* stream({ messages }: ModelRequest): AsyncGenerator<ModelEvent, void> {
  const turn = messages.filter(({ role }) => role === 'results').length;
  let said = '';
  for (let word = 0; word < 20; word += 1) {
    await sleep(WORD_MS);
    const text = `${turn}.${word} `;
    said += text;
    yield { type: 'text', text };
  }
  const name = CALLS[turn];
  const calls =
    name === undefined ? [] : [{ type: 'function-call' as const, id: `c${turn}`, name, arguments: {} }];
  const stopReason = calls.length > 0 ? 'function-calls' : 'end';
  const usage = { input: 10, output: 5, cached: 0 };
  yield { type: 'end', answer: { content: [{ type: 'text', text: said }, ...calls], stopReason, usage } };
}

const model: ModelProvider = { id: 'scripted', stream };
const many = 1_000_000;
const server = createServer({
  home,
  settings: {
    server: {
      port: Number(port),
      limits: { requestsPerSecond: many, requestBurst: many, streams: many, streamsPerCaller: many },
    },
    auth: { token: TOKEN },
    agent: { multiAgent: false },
    approval: { policy: 'none' },
    storage: { url },
    vault: { passphrase: 'the same on each replica' },
    tools: { exec: { enabled: false }, browser: { enabled: false } },
  },
  tools: [tool('search_look', 'pure'), tool('exec_strike', 'unsafe')],
  model,
});
process.once('SIGTERM', () => void server.stop().then(() => process.exit(0)));
await server.start();
process.stdout.write('ready\n');
