import { expect, it } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeHome, startServer } from './lango-process.js';

const SENDERS = 16;
const REQUESTS_EACH = 25;
const PATIENCE_MS = 100_000;
/** Much less than a burst leaves behind, and much more than the ordinary fluctuation. */
const GIVEN_BACK_MB = 15;

const itWithProc = existsSync('/proc/self/status') ? it : it.skip;

itWithProc(
  'a server that has nothing to do gives back the memory of a burst (skipped without /proc)',
  async () => {
    const home = await makeHome();
    const server = await startServer(home);
    try {
      const token = (await readFile(path.join(home.folder, 'token'), 'utf8')).trim();
      const senders = Array.from({ length: SENDERS }, async () => {
        for (let n = 0; n < REQUESTS_EACH; n += 1) await greet(server.origin, token);
      });
      await Promise.all(senders);
      const pid = server.child.pid!;
      let most = residentMb(pid);
      const deadline = Date.now() + PATIENCE_MS;
      while (residentMb(pid) > most - GIVEN_BACK_MB && Date.now() < deadline) {
        await sleep(100);
        most = Math.max(most, residentMb(pid));
      }
      expect(residentMb(pid)).toBeLessThanOrEqual(most - GIVEN_BACK_MB);
      await greet(server.origin, token);
    } finally {
      await server.stop();
      await home.remove();
    }
  },
);

async function greet(origin: string, token: string): Promise<void> {
  const response = await fetch(`${origin}/message:send`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    body: JSON.stringify({
      message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'hello' }] },
    }),
  });
  expect(response.status).toBe(200);
  await response.arrayBuffer();
}

function residentMb(pid: number): number {
  const [, kib] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return (Number(kib) * 1024) / 1e6;
}
