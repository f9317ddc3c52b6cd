import { afterEach, expect, it } from '@jest/globals';
import Database from 'better-sqlite3';
import { copyFileSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { connect } from '../../src/index.js';
import { textPart } from '../../src/core/message.js';
import { langoHere, startServerHere, type ServerHere } from './lango-here.js';
import type { Home } from './lango-process.js';
import { lango, makeHome, startServer } from './lango-process.js';

/** `lango backup`, `lango restore` and `lango doctor --database`, beside a server with traffic and without one. */

const CONFIG = 'auth: { token: backed-up-4f7d1c9e2b6a }\nmodel: { provider: offline }\n';
const TOLD_OF = ['vault.key', 'token', 'skills', 'workspace'];

const homes: Home[] = [];
const servers: ServerHere[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
  await Promise.all(homes.splice(0).map((home) => home.remove()));
});

async function newHome(): Promise<Home> {
  const home = await makeHome(CONFIG);
  homes.push(home);
  return home;
}

async function serve(home: Home, start: typeof startServerHere = startServer): Promise<ServerHere> {
  const server = await start(home);
  servers.push(server);
  return server;
}
const serveHere = (home: Home) => serve(home, startServerHere);

const databaseOf = ({ folder }: Home) => path.join(folder, 'lango.db');
const orderOf = (count: number) => ({ parts: [textPart(`hello ${count}`)] });
const clientOf = ({ origin }: ServerHere) => connect({ url: origin, token: 'backed-up-4f7d1c9e2b6a' });

/** Sends texts one after the other until `isOver`; resolves with the text of each task's result. */
async function sendUntil(server: ServerHere, isOver: () => boolean): Promise<Map<string, string>> {
  const answers = new Map<string, string>();
  const signal = AbortSignal.timeout(100_000);
  for (let count = 0; count < 500 && !isOver(); count += 1) {
    let taskId = '';
    for await (const event of clientOf(server).send(orderOf(count), signal)) {
      if (event.type === 'task') taskId = event.taskId;
    }
    answers.set(taskId, await answerOf(server, taskId));
  }
  return answers;
}

async function answerOf(server: ServerHere, taskId: string): Promise<string> {
  const { state, artifacts } = await clientOf(server).get({ taskId });
  return JSON.stringify([state, artifacts]);
}

async function doctor(home: Home) {
  const { code, stdout } = await langoHere(['doctor', '--database', '--json'], home);
  const { ok, findings } = JSON.parse(stdout) as {
    ok: boolean;
    findings: { check: string; text: string; advice?: string }[];
  };
  return { code, ok, database: findings.filter(({ check }) => check === 'database') };
}

it('a backup of a server with traffic holds every task that was acknowledged before it', async () => {
  const home = await newHome();
  const server = await serve(home);
  let isOver = false;
  let sent = 0;
  const before = await sendUntil(server, () => (sent += 1) > 20);
  const traffic = [1, 2, 3].map(() => sendUntil(server, () => isOver));
  const copy = path.join(home.folder, 'copy.db');
  const made = await lango(['backup', copy], home);
  const live = await doctor(home);
  isOver = true;
  const during = await Promise.all(traffic);
  expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/\d+ tasks .* verified/) });
  for (const name of TOLD_OF) expect(made.stderr).toContain(name);
  expect(live).toMatchObject({
    code: 0,
    ok: true,
    database: [{ text: expect.stringContaining('no damage found') }],
  });
  expect(during.every(({ size }) => size > 0)).toBe(true);

  const other = await newHome();
  const restored = await lango(['restore', copy, '--json'], other);
  expect(restored.code).toBe(0);
  const again = await serveHere(other);
  for (const [taskId, answer] of before) expect(await answerOf(again, taskId)).toBe(answer);
  expect((await sendUntil(again, () => (sent += 1) > 25)).size).toBeGreaterThan(0);
});

it('restore replaces a database by an older backup, and keeps the replaced one', async () => {
  const home = await newHome();
  const server = await serve(home);
  let sent = 0;
  const kept = await sendUntil(server, () => (sent += 1) > 3);
  const copy = path.join(home.folder, 'copy.db');
  await langoHere(['backup', copy], home);
  await sendUntil(server, () => (sent += 1) > 8);
  const refusal = {
    code: 1,
    stderr: expect.stringContaining('Another process uses this database') as unknown,
  };
  expect(await langoHere(['restore', copy], home)).toMatchObject(refusal);
  rmSync(path.join(home.folder, 'lango.db.lock'));
  expect(await langoHere(['restore', copy], home)).toMatchObject(refusal);
  await server.stop();
  const { code, stderr } = await langoHere(['restore', copy], home);
  expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('is kept as') });
  expect(await doctor(home)).toMatchObject({ code: 0, ok: true });
  const again = await serveHere(home);
  for (const [taskId, answer] of kept) expect(await answerOf(again, taskId)).toBe(answer);
});

it('backup and restore refuse unsuitable files with a hint, and change nothing', async () => {
  const home = await newHome();
  const server = await serveHere(home);
  let sent = 0;
  await sendUntil(server, () => (sent += 1) > 3);
  await server.stop();
  const file = databaseOf(home);
  const copy = path.join(home.folder, 'copy.db');
  expect((await langoHere(['backup', copy], home)).code).toBe(0);
  const refused = async (args: readonly string[], words: RegExp, hint: RegExp) => {
    const files = readdirSync(home.folder);
    const { code, stderr } = await langoHere(args, home);
    expect({ args, code, stderr }).toMatchObject({ code: 1, stderr: expect.stringMatching(words) });
    expect(stderr).toMatch(hint);
    expect(readdirSync(home.folder)).toEqual(files);
  };
  await refused(['backup', copy], /exists already/, /new name/);
  await refused(
    ['backup', path.join(home.folder, 'missing', 'copy.db')],
    /folder .* does not exist.*missing/,
    /Create the folder/,
  );
  await refused(
    ['restore', path.join(home.folder, 'missing.db')],
    /no such backup.*missing\.db/,
    /lango backup made/,
  );

  const foreign = path.join(home.folder, 'foreign.db');
  const other = new Database(foreign);
  other.exec('CREATE TABLE tasks (id)');
  other.close();
  await refused(['restore', foreign], /another program/, /lango backup made/);
  writeFileSync(foreign, 'not a database at all, only a text '.repeat(100));
  await refused(['restore', foreign], /not a database/, /backup/);

  const damaged = path.join(home.folder, 'damaged.db');
  copyFileSync(copy, damaged);
  const change = new Database(damaged);
  change.exec("UPDATE events SET body = replace(body, 'hello', 'hullo') WHERE type = 'message'");
  change.close();
  await refused(['restore', damaged], /damaged: Entries 1 to \d of task/, /earlier backup/);

  rmSync(file);
  copyFileSync(damaged, file);
  const told = await doctor(home);
  expect(told).toMatchObject({ code: 1, ok: false });
  expect(told.database[0]).toMatchObject({
    text: expect.stringMatching(/Entries 1 to \d of task .* are damaged/),
    advice: expect.stringContaining('lango restore'),
  });
  await refused(['backup', path.join(home.folder, 'second.db')], /are damaged/, /doctor --database/);
  expect(existsSync(path.join(home.folder, 'second.db'))).toBe(false);
});
