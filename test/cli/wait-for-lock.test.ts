import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { cleanEnv, ended, mainFile, makeHome, startServer, type Home, type Server } from './lango-process.js';

/** Two processes on one database: a server that ends, and its successor that was started before. */

const CONFIG =
  'storage: { sqlite: { waitSeconds: 60 } }\nserver: { limits: { noticeSeconds: 0, drainSeconds: 1 } }\n';

let home: Home;
let first: Server;
const started: ChildProcess[] = [];

beforeEach(async () => {
  home = await makeHome(CONFIG);
  first = await startServer(home);
  started.push(first.child);
});
afterEach(async () => {
  for (const child of started) child.kill('SIGKILL');
  await Promise.all(started.splice(0).map(hasEnded));
  await home.remove();
});

async function hasEnded(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

async function readiness(origin: string): Promise<number> {
  const response = await fetch(`${origin}/readyz`);
  await response.text();
  return response.status;
}

/** Resolves once the successor says that it waits. */
async function startSuccessor() {
  const env = cleanEnv({ ...home.env, LANGO_LOG_LEVEL: 'info' });
  const child = spawn(process.execPath, [mainFile(), 'serve', '--port', '0'], { env });
  started.push(child);
  const result = ended(child);
  const ready = (async () => {
    for await (const line of createInterface({ input: child.stdout }))
      if (line.startsWith('ready ')) return line;
    return undefined;
  })();
  for await (const line of createInterface({ input: child.stderr }))
    if (line.includes('another process uses the database')) break;
  return { child, ready, result };
}

describe('a server whose database is still in use', () => {
  it('waits also when somebody deleted the lock', async () => {
    await rm(path.join(home.folder, 'lango.db.lock'));
    const { ready } = await startSuccessor();
    first.child.kill('SIGTERM');
    expect(await readiness((await ready)!.replace('ready ', ''))).toBe(200);
  });

  it.each(['SIGTERM', 'SIGKILL'] as const)('serves once its predecessor ends by %s', async (signal) => {
    const { ready } = await startSuccessor();
    expect(await readiness(first.origin)).toBe(200);
    first.child.kill(signal);
    const origin = (await ready)!.replace('ready ', '');
    expect(await readiness(origin)).toBe(200);
  });

  it('ends at a signal while it waits, and leaves the database to the other one', async () => {
    const { child, result } = await startSuccessor();
    child.kill('SIGTERM');
    expect((await result).code).toBe(1);
    expect(await readiness(first.origin)).toBe(200);
  });
});
