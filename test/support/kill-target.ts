/**
 * A server whose tools leave marks, for test/e2e/kill.test.ts. Run as its own process, to be killed at any moment:
 * `node test/support/kill-target.ts HOME PORT TOKEN`. Uses what `npm run build` made.
 */
import { appendFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer, defineTool } from 'lango';
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

/** Each mark is one line, written in one call: "KEY WHEN". */
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
    // The target knows a repeat by its key.
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

const server = createServer({
  home,
  settings: {
    server: { port: Number(port) },
    auth: { token },
    tools: { exec: { enabled: false }, browser: { enabled: false } },
  },
  tools: [strike, stamp, look],
});
const { origin } = await server.start();
process.stdout.write(`ready ${origin}\n`);
