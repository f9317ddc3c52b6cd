import { afterEach, describe, expect, it } from '@jest/globals';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { TOKEN } from '../support/a2a-node.js';
import { askGrpc } from '../support/grpc-asked.js';
import type { Script } from '../support/scripted-agent.js';
import { scriptedAgent } from '../support/scripted-agent.js';
import type { TestServer } from '../support/server.js';
import { startServer } from '../support/server.js';

/** Faults of the disk under a running server, as its clients observe them. */

const folders: (() => void)[] = [];
const servers: TestServer[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
  folders.splice(0).forEach((remove) => remove());
});

function makeHome(): string {
  const home = mkdtempSync(path.join(tmpdir(), 'lango-faults-'));
  folders.push(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

async function serve(home: string, script?: Script): Promise<TestServer> {
  const server = await startServer({
    home,
    agents: [scriptedAgent('worker', script)],
    settings: {
      auth: { token: TOKEN },
      server: { port: 0, grpc: { enabled: true, port: 0 } },
    },
  });
  servers.push(server);
  return server;
}

let sent = 0;

/** A new message, as parameters of all three transports. */
function orders(text: string, blocking = true) {
  sent += 1;
  const message = { messageId: `fault-${sent}`, role: 'ROLE_USER', parts: [{ text }] };
  return { message, configuration: { returnImmediately: !blocking } };
}

const post = (body: object) => ({ method: 'POST', body: JSON.stringify(body) });

interface Told {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly text: string;
}

async function told(answer: Promise<Response>): Promise<Told> {
  const response = await answer;
  const { status, headers } = response;
  return { status, retryAfter: headers.get('retry-after'), text: await response.text() };
}

const sendRest = (server: TestServer, text: string) =>
  told(server.fetch('/agents/worker/message:send', post(orders(text))));

/** Sends on each transport. Returns the errors that the client gets. */
async function tellAll(server: TestServer) {
  const call = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: orders('say no') };
  const grpc = askGrpc(`127.0.0.1:${server.address.grpcPort}`, {
    method: 'sendMessage',
    params: { ...orders('say no'), tenant: 'worker' },
  });
  return {
    rest: await sendRest(server, 'say no'),
    rpc: await told(server.fetch('/agents/worker/', post(call))),
    grpc: (await grpc).code,
    ready: await told(server.fetch('/readyz')),
    live: (await server.fetch('/healthz')).status,
  };
}

const UNAVAILABLE = 14;

const REFUSED = {
  rest: { status: 503, retryAfter: '5', text: expect.stringContaining('cannot read or store') },
  rpc: { status: 503, retryAfter: '5', text: expect.stringContaining('-32000') },
  grpc: UNAVAILABLE,
  live: 200,
};

async function tasksOf(server: TestServer): Promise<number> {
  const { text } = await told(server.fetch('/agents/worker/tasks'));
  return (JSON.parse(text) as { totalSize: number }).totalSize;
}

/** A server with a run that waits for `goOn` before it writes. `state` resolves once the run is over. */
async function serveRun(home: string) {
  const held = Promise.withResolvers<void>();
  let runs = 0;
  const server = await serve(home, async (run) => {
    if (run.inputs[0]?.message.parts.some((part) => part.kind === 'text' && part.text === 'work')) runs += 1;
    await held.promise;
    await run.append({ type: 'text-delta', artifactId: 'answer', text: 'done', replace: true });
    return { state: 'completed' };
  });
  const begun = await told(server.fetch('/agents/worker/message:send', post(orders('work', false))));
  const { id } = (JSON.parse(begun.text) as { task: { id: string } }).task;
  const read = async (from: TestServer) => (await told(from.fetch(`/agents/worker/tasks/${id}`))).text;
  const state = async (from = server) => {
    for (let round = 0; round < 1_000 && (await read(from)).includes('WORKING'); round += 1) await sleep(100);
    return read(from);
  };
  return { server, goOn: held.resolve, state, runs: () => runs };
}

/** Sends a message until it is accepted. */
async function untilTaken(server: TestServer): Promise<void> {
  for (let round = 0; round < 600; round += 1) {
    if ((await sendRest(server, 'say yes')).status === 200) return;
    await sleep(100);
  }
  throw new Error('the server took no more work');
}

/** Holds the write lock of a database in a separate process, until `release`. */
async function lockElsewhere(file: string) {
  const driver = path.resolve('node_modules/better-sqlite3/lib/index.js');
  const script = `const db = new (require(${JSON.stringify(driver)}))(${JSON.stringify(file)});
    db.exec('BEGIN IMMEDIATE'); console.log('locked'); process.stdin.on('end', () => process.exit()).resume()`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  folders.unshift(() => void child.kill());
  await once(child.stdout, 'data');
  return {
    async release() {
      child.stdin.end();
      await once(child, 'exit');
    },
  };
}

describe('a database that another program locks', () => {
  it('is waited for without blocking, then reported as unavailable, and nothing is stored twice or in part', async () => {
    const home = makeHome();
    const server = await serve(home);
    await sendRest(server, 'say hello');
    const lock = await lockElsewhere(path.join(home, 'lango.db'));
    let turns = 0;
    const turning = setInterval(() => (turns += 1), 10);
    const seen = await tellAll(server);
    clearInterval(turning);
    expect(seen).toMatchObject({
      ...REFUSED,
      ready: { status: 503, text: expect.stringContaining('locked by another program') },
    });
    expect(turns).toBeGreaterThan(60);
    expect(await tasksOf(server)).toBe(1);
    await lock.release();
    await untilTaken(server);
    expect((await server.fetch('/readyz')).status).toBe(200);
    expect(await tasksOf(server)).toBe(2);
  });

  it('goes unnoticed when it is locked for a moment', async () => {
    const home = makeHome();
    const server = await serve(home);
    const lock = await lockElsewhere(path.join(home, 'lango.db'));
    const sending = Promise.all([1, 2, 3].map((n) => sendRest(server, `say ${n}`)));
    await sleep(100);
    await lock.release();
    expect((await sending).map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  it('neither fails nor repeats a run, whose results are stored once it is back', async () => {
    const home = makeHome();
    const { server, goOn, state, runs } = await serveRun(home);
    const lock = await lockElsewhere(path.join(home, 'lango.db'));
    goOn();
    await server.log.saying('a write failed');
    await lock.release();
    await untilTaken(server);
    expect(await state()).toContain('TASK_STATE_COMPLETED');
    expect(runs()).toBe(1);
  });
});

describe('a file of the database that disappears under the server', () => {
  it.each(['lango.db', 'lango.db-wal', 'lango.db.lock'])(
    'makes the server refuse the next write: %s',
    async (name) => {
      const home = makeHome();
      const server = await serve(home);
      await sendRest(server, 'say hello');
      const file = path.join(home, name);
      renameSync(file, `${file}.away`);
      const seen = await tellAll(server);
      const words = `${name} was removed or replaced`;
      expect(seen).toMatchObject({
        ...REFUSED,
        ready: { status: 503, text: expect.stringContaining(words) },
      });
      expect(server.log.lines.filter((line) => line.includes(words)).length).toBeGreaterThan(0);
      writeFileSync(file, '');
      expect((await sendRest(server, 'say no')).status).toBe(503);
      renameSync(`${file}.away`, file);
      await untilTaken(server);
      expect((await server.fetch('/readyz')).status).toBe(200);
      expect(await tasksOf(server)).toBe(2);
    },
  );
});

/** A file system of this many KiB, which only root can make. */
function smallDisk(kib: number): string | undefined {
  const folder = makeHome();
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${kib}k`, 'tmpfs', folder]);
  if (status !== 0) return undefined;
  folders.unshift(() => void spawnSync('umount', ['-l', folder]));
  return folder;
}

describe('a full disk', () => {
  it('refuses what it cannot store, and works again when there is space', async () => {
    const disk = smallDisk(4_096);
    if (disk === undefined) {
      console.warn('SKIPPED: a full disk. Only root can mount a small file system.');
      return;
    }
    const server = await serve(disk);
    await sendRest(server, 'say hello');
    const ballast = path.join(disk, 'ballast');
    spawnSync('dd', ['if=/dev/zero', `of=${ballast}`, 'bs=4k']);
    expect(statSync(ballast).size).toBeGreaterThan(0);
    const before = await tasksOf(server);
    // SQLite may still have reserved space for a few commits.
    for (let round = 0; round < 500; round += 1)
      if ((await sendRest(server, `say ${'x'.repeat(4_000)}`)).status === 503) break;
    const stored = await tasksOf(server);
    const seen = await tellAll(server);
    expect(seen).toMatchObject({ ...REFUSED, ready: { status: 503, text: expect.stringContaining('full') } });
    expect(await tasksOf(server)).toBe(stored);
    expect(stored).toBeGreaterThanOrEqual(before);
    rmSync(ballast);
    await untilTaken(server);
    expect((await server.fetch('/readyz')).status).toBe(200);
  });
});

/**
 * Makes files and folders read-only also for processes that have them open. Returns false where only permissions exist,
 * which root bypasses.
 */
function freeze(...paths: readonly string[]): boolean {
  folders.unshift(() => thaw(...paths));
  return spawnSync('chattr', ['+i', ...paths]).status === 0;
}

function thaw(...paths: readonly string[]): void {
  spawnSync('chattr', ['-i', ...paths]);
}

describe('storage that becomes read-only under the server', () => {
  it('is reported as unavailable, fails no run, loses nothing, and works again when it is writable', async () => {
    const home = makeHome();
    const { server, goOn, state } = await serveRun(home);
    const log = path.join(home, 'lango.db-wal');
    if (!freeze(home, path.join(home, 'lango.db'))) {
      console.warn('SKIPPED: read-only storage. Only root can make files immutable, on ext4, xfs or btrfs.');
      return;
    }
    const begun = await told(server.fetch('/agents/worker/message:send', post(orders('go on', false))));
    expect(begun.status).toBe(200); // A running server writes into its open log alone.
    freeze(log);
    goOn();
    await server.log.saying('a write failed');
    const seen = await tellAll(server);
    expect(seen).toMatchObject({
      ...REFUSED,
      ready: { status: 503, text: expect.stringContaining('read-only') },
    });
    expect(await tasksOf(server)).toBe(2);
    thaw(home, path.join(home, 'lango.db'), log);
    await untilTaken(server);
    expect((await server.fetch('/readyz')).status).toBe(200);
    expect(await tasksOf(server)).toBe(3);
    await servers.pop()!.stop(); // The next server resumes the run at once, this one after its lease.
    expect(await state(await serve(home))).toContain('TASK_STATE_COMPLETED');
  });
});
