/**
 * A server whose tools leave marks, for test/e2e/kill.test.ts. Run as its own process, to be killed at any moment:
 * `node test/support/kill-target.ts HOME PORT TOKEN`. Uses the built library.
 */
import { appendFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer, defineTool, textOf } from 'lango';
import type { ModelEvent, ModelProvider, ModelRequest } from 'lango';
import { z } from 'zod';

const [home, port, token] = process.argv.slice(2) as [string, string, string];
const schema = z.strictObject({ name: z.string() });
const safe = () => 'safe' as const;
const shared = {
  description: 'Leaves a mark.',
  schema,
  danger: safe,
  timeoutMs: () => 10_000,
};
const pause = () => sleep(Math.random() * 20);

/** A mark is one line, written in one call: "KEY WHEN". */
function mark(file: string, key: string): void {
  appendFileSync(path.join(home, file), `${key} ${Date.now()}\n`);
}

const strike = defineTool({
  ...shared,
  name: 'exec_strike',
  effect: 'unsafe',
  async execute({ name }, { key }) {
    await pause();
    mark('strikes', key);
    await pause();
    return { content: `struck ${name}` };
  },
});

const stamp = defineTool({
  ...shared,
  name: 'fs_stamp',
  effect: 'keyed',
  async execute({ name }, { key }) {
    await pause();
    // The target recognizes a repeat by its key.
    await writeFile(path.join(home, 'stamps', key), name, { flag: 'wx' }).catch(() => undefined);
    await pause();
    return { content: `stamped ${name}` };
  },
});

const look = defineTool({
  ...shared,
  name: 'search_look',
  effect: 'pure',
  async execute({ name }, { key }) {
    await pause();
    mark('looks', key);
    return { content: `found ${name}` };
  },
});

/** The tool and the agent of each verb. */
const VERBS = {
  stamp: { tool: 'fs_stamp', agent: 'operator' },
  strike: { tool: 'exec_strike', agent: 'operator' },
  'look up': { tool: 'search_look', agent: 'librarian' },
} as const;

/**
 * The calls that a request asks for, in rounds: "stamp a and then look up b", "stamp a and at the same time look up b".
 */
function roundsOf(request: string) {
  return request.split(' and then ').map((round) =>
    round.split(' and at the same time ').map((text) => {
      const [, verb, name] = /^(stamp|strike|look up) (\w+)$/.exec(text)!;
      return { text, name: name!, ...VERBS[verb as keyof typeof VERBS] };
    }),
  );
}

/** Runs a request, one round a turn, and streams its words a few letters at a time. */
async function* answer({ messages, functions }: ModelRequest): AsyncGenerator<ModelEvent, void> {
  const asked = messages.findLast(({ role }) => role === 'user');
  const rounds = roundsOf(asked?.role === 'user' ? textOf(asked.parts.slice(0, 1)) : '');
  const done = messages.filter(({ role }) => role === 'results').length;
  const delegates = functions.some(({ name }) => name === 'transfer_to_agent');
  const calls = (rounds[done] ?? []).map(({ text, name, tool, agent }, index) => ({
    type: 'function-call' as const,
    id: `${done}.${index}`,
    name: delegates ? 'transfer_to_agent' : tool,
    arguments: delegates ? { agent_name: agent, request: text } : { name },
  }));
  const words = calls.length > 0 ? 'One moment.' : 'All of it is done.';
  for (const text of words.match(/.{1,3}/g)!) {
    yield { type: 'text', text };
    await sleep(3);
  }
  const usage = { input: 10, output: 5, cached: 0 };
  const stopReason = calls.length > 0 ? 'function-calls' : 'end';
  yield { type: 'end', answer: { content: [{ type: 'text', text: words }, ...calls], stopReason, usage } };
}

const model: ModelProvider = { id: 'scripted', stream: answer };

const server = createServer({
  home,
  settings: {
    server: { port: Number(port) },
    auth: { token },
    tools: { exec: { enabled: false }, browser: { enabled: false } },
  },
  tools: [strike, stamp, look],
  model,
});
process.once('SIGTERM', () => void server.stop().then(() => process.exit(0)));
const { origin } = await server.start();
process.stdout.write(`ready ${origin}\n`);
