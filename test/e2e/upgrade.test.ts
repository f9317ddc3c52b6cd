import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createServer } from 'node:http';
import { existsSync } from 'node:fs';
import { copyFile, mkdir } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { connect } from '../../src/index.js';
import { langoHere } from '../cli/lango-here.js';
import type { EmbeddingServer } from '../support/embedding-server.js';
import { startEmbeddingServer } from '../support/embedding-server.js';
import { AUDIENCE, startIssuer } from '../support/issuer.js';
import type { Env, OldHome, Settings } from '../support/old-home.js';
import { openOldHome, reading, readAtRest, readServed, withEmbeddings } from '../support/old-home.js';
import { startPostgres } from '../support/postgres.js';
import type { RawTable } from '../support/raw-rows.js';
import { lostTables, rowsOfFile, rowsOfServer } from '../support/raw-rows.js';
import type { TestServer } from '../support/server.js';
import { sendText, untilEnded, withServer } from '../support/server.js';

/**
 * The data folders of test/fixtures come from an earlier version, with rows in every table. This version opens them and
 * loses nothing: it reads everything as that version did, and completes all open work.
 */

const postgres = await startPostgres();
const describeOnServer = postgres ? describe : describe.skip;

let embeddings: EmbeddingServer;
beforeAll(async () => void (embeddings = await startEmbeddingServer()));
afterAll(async () => {
  await embeddings.close();
  await postgres?.stop();
});

/** A data folder of the earlier version, upgraded by the first case. */
interface Upgrade {
  readonly home: OldHome;
  readonly env: Env;
  readonly settings: Settings;
  readonly rows: () => Promise<readonly RawTable[]>;
}

function envOf(folder: string, more: Env = {}): Env {
  return { LANGO_HOME: folder, LANGO_LOG_LEVEL: 'warn', ...more };
}

async function run(args: readonly string[], env: Env): Promise<string> {
  const { code, stdout, stderr } = await langoHere(args, { env });
  expect({ args, code, stderr: code === 0 ? '' : stderr }).toEqual({ args, code: 0, stderr: '' });
  return stdout;
}

const databaseFile = (folder: string) => path.join(folder, 'lango.db');

describe('a data folder of an earlier version with the embedded database', () => {
  let home: OldHome;
  let upgrade: Upgrade;
  beforeAll(async () => {
    home = await openOldHome('sqlite');
    const file = databaseFile(home.folder);
    await copyFile(file, `${file}.old`);
    upgrade = {
      ...{ home, env: envOf(home.folder), settings: withEmbeddings(home.settings, embeddings) },
      rows: async () => rowsOfFile(file),
    };
  });
  afterAll(() => home.remove());

  it('is upgraded when it is opened, and all of it is read as before', () => assertKept(upgrade));

  it('has no damage, and neither have restored backups of it from before and after the upgrade', async () => {
    const { env } = upgrade;
    const isWhole = async (of: Env) =>
      expect(await run(['doctor', '--database'], of)).toContain('no damage found');
    await isWhole(env);
    const backup = path.join(home.folder, 'copy.db');
    await run(['backup', backup], env);
    const old = `${databaseFile(home.folder)}.old`;
    for (const from of [backup, old]) {
      const folder = `${from}.home`;
      await mkdir(folder, { mode: 0o700 });
      for (const name of ['config.yaml', 'vault.key', 'token'])
        await copyFile(path.join(home.folder, name), path.join(folder, name));
      await run(['restore', from], envOf(folder));
      const { skills: _, ...kept } = home.expected.atRest['data export'] as Record<string, unknown>;
      expect(await reading('data export', envOf(folder))).toEqual({ ...kept, skills: [] });
      assertNothingLost(rowsOfFile(old), rowsOfFile(databaseFile(folder)));
      await isWhole(envOf(folder));
    }
  });

  (postgres ? it : it.skip)('is moved into PostgreSQL completely', async () => {
    const own = await postgres!.database();
    const there = { ...upgrade.env, LANGO_DATABASE_URL: own.url };
    await run(['migrate'], there);
    assertNothingLost(await upgrade.rows(), await rowsOfServer((sql) => own.run(sql)));
    expect(await readAtRest(there)).toEqual(home.expected.atRest);
    await own.drop();
  });

  it('serves its owners, and completes open work', () => assertServed(upgrade));
});

describeOnServer('a data folder of an earlier version with a PostgreSQL database', () => {
  let home: OldHome;
  let upgrade: Upgrade;
  let database: Awaited<ReturnType<NonNullable<typeof postgres>['database']>>;
  beforeAll(async () => {
    home = await openOldHome('postgres');
    database = await postgres!.database();
    await database.run(await home.dump());
    upgrade = {
      ...{ home, env: envOf(home.folder, { LANGO_DATABASE_URL: database.url }) },
      settings: { ...withEmbeddings(home.settings, embeddings), storage: { url: database.url } },
      rows: () => rowsOfServer((sql) => database.run(sql)),
    };
  });
  afterAll(async () => {
    await database.drop();
    await home.remove();
  });

  it('is upgraded when it is opened, and all of it is read as before', () => assertKept(upgrade));

  it('passes the check of its database', async () => {
    expect(await run(['doctor', '--database'], upgrade.env)).toMatch(/ok {4}.*database.*: PostgreSQL/);
  });

  it('serves its owners, and completes open work', () => assertServed(upgrade));
});

/** An inbox row has a hash in place of its names, and none of its request; new ones are in a table of their own. "serves its owners" repeats a message. */
function assertNothingLost(before: readonly RawTable[], after: readonly RawTable[]): void {
  const isInbox = ({ name }: RawTable) => name.endsWith('inbox');
  const others = before.filter((table) => !isInbox(table));
  expect(lostTables(others, after)).toEqual([]);
  const sizes = [before, after].map((tables) => tables.filter(isInbox).flatMap(({ rows }) => rows).length);
  expect(sizes[1]).toBe(sizes[0]);
}

/** Opens the data for the first time, without a server. */
async function assertKept({ home, env, rows }: Upgrade): Promise<void> {
  const before = await rows();
  expect(before.filter((table) => table.rows.length === 0)).toEqual([]);
  expect(before.length).toBeGreaterThan(20);
  expect(await readAtRest(env)).toEqual(home.expected.atRest);
  assertNothingLost(before, await rows());
}

/**
 * Checks as an owner who signs in at an issuer, as the owner of the server's token without embeddings, and as that
 * owner with them.
 */
async function assertServed(upgrade: Upgrade): Promise<void> {
  const { home, env, settings } = upgrade;
  const { ids, served } = home.expected;
  const { embedding: _, ...wordsOnly } = settings;
  const issuer = await startIssuer();
  const token = await issuer.token({ sub: 'anna', org: 'red' });
  const jwt = { issuer: issuer.url, audience: [AUDIENCE], tenantClaim: 'org' };
  await withServer(
    { home: home.folder, settings: { ...settings, auth: { mode: 'jwt', jwt } } },
    async (server) => {
      const { origin } = server.address;
      const asAnna = { ...env, LANGO_URL: origin, LANGO_TOKEN: token };
      expect(await readServed(asAnna, { ids }, 'anna')).toEqual(served.anna);
      const anna = { ...server, client: connect({ url: origin, token }) };
      expect(await said(anna, 'show my payment history')).toMatch(
        /9007199254\.740993 USDC .* by x402 for "https:\/\/paid\.example\/tea": confirmed/,
      );
    },
  );
  await issuer.close();
  await withServer({ home: home.folder, settings: wordsOnly }, async (server) => {
    const asDefault = { ...env, LANGO_URL: server.address.origin };
    expect(await readServed(asDefault, { ids }, 'default')).toEqual(served.default);
    await assertFound(server, BY_WORDS);
  });
  await withServer({ home: home.folder, settings }, async (server) => {
    await assertFound(server, BY_MEANING);
    await assertPayments(server);
    await assertVault(server, upgrade);
    await assertPushes(server, ids.waiting);
    await assertEnds(server, upgrade);
  });
}

type Searches = readonly (readonly [sentence: string, found: string])[];

const BY_WORDS: Searches = [
  ['search the knowledge for ferry', 'the ferry leaves at ten'],
  ['search the knowledge for workshop', 'Each vehicle is inspected in May by the workshop.'],
  ['what did you learn about cold tea?', 'boil the water again'],
  ['what do you remember about tea?', 'the user drinks green tea'],
  ['what is connected to ferry?', 'tide'],
  ['list your observations', 'the user asks about tea'],
  ['list your reflections', 'the user asks about ferries'],
  ['use the skill tea-time', 'Serve tea at five.'],
];
/** The document contains none of the question's words. */
const BY_MEANING: Searches = [['retrieve passages about doctor', 'The physician comes on Tuesday.']];

async function assertFound(server: TestServer, searches: Searches): Promise<void> {
  for (const [sentence, text] of searches) expect(await said(server, sentence)).toContain(text);
}

async function said(server: TestServer, sentence: string): Promise<string> {
  const { end } = await sendText(server, sentence);
  expect({ sentence, state: end.state, text: end.text }).toMatchObject({ sentence, state: 'completed' });
  return end.text;
}

/** The tool lists the payments of an owner in each of their states, while the RPC server does not respond. */
async function assertPayments(server: TestServer): Promise<void> {
  const history = await said(server, 'show my payment history');
  const lines = history
    .split('\n')
    .map((line) => /([\d.]+) USDC to .* for "(.+?)": (.+)/.exec(line)?.slice(1));
  expect(lines).toEqual([
    ['0.60', 'tea number 6', expect.stringContaining('signed')],
    ['0.50', 'tea number 5', expect.stringContaining('sent')],
    ['0.40', 'tea number 4', expect.stringContaining('refused')],
    ['0.30', 'tea number 3', expect.stringContaining('confirmed')],
    ['0.20', 'tea number 2', expect.stringContaining('failed')],
    ['0.10', 'tea number 1', expect.stringContaining('reserved')],
  ]);
}

/** Sends a kept secret, and a text that a kept key decrypts, as headers of requests; signs with another key. */
async function assertVault(server: TestServer, { home: { expected }, env }: Upgrade): Promise<void> {
  const got: unknown[] = [];
  const shop = createServer((request, response) => {
    got.push(request.headers['x-proof']);
    response.end('the tea is sent');
  });
  await new Promise<void>((resolve) => void shop.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(shop.address() as AddressInfo).port}/`;
  await said(server, `decrypt ${expected.ids.ciphertext} with the key chest and save it as map`);
  const asDefault = { ...env, LANGO_URL: server.address.origin };
  await run(['secrets', 'allow', 'map', '--for', 'http:127.0.0.1'], asDefault);
  for (const name of ['tea-shop', 'map']) {
    const text = await said(server, `request ${url} with the secret ${name} as the header x-proof`);
    expect(text).toContain('the tea is sent');
  }
  shop.close();
  expect(got).toEqual(['the-tea-is-in-the-tin-4711', 'the map is under the oak']);
  expect(await said(server, 'sign tea with the key seal as a jws')).toMatch(/\beyJ[\w.-]+/);
}

async function assertPushes(server: TestServer, taskId: string): Promise<void> {
  const configs = await server.fetch(`/tasks/${taskId}/pushNotificationConfigs`);
  expect(await configs.json()).toMatchObject({
    configs: [
      { id: 'plain', url: 'http://127.0.0.1:9/plain' },
      { id: 'sealed', url: 'http://127.0.0.1:9/sealed', authentication: { scheme: 'Bearer' } },
    ],
  });
}

/** Repeats a message, waits for the running task, replies to the waiting one, and completes a removal. */
async function assertEnds(server: TestServer, { home, env, rows }: Upgrade): Promise<void> {
  const { ids } = home.expected;
  const parts = [{ text: 'remember that the user has a boat' }];
  const message = {
    messageId: 'message-sent-twice',
    contextId: 'context-of-the-fixture',
    role: 'ROLE_USER',
    parts,
  };
  const again = await server.fetch('/message:send', { method: 'POST', body: JSON.stringify({ message }) });
  expect(await again.json()).toMatchObject({ task: { id: ids.repeated } });
  expect(await untilEnded(server, ids.unfinished)).toMatchObject({ state: 'completed' });

  const drafts = path.join(home.folder, 'workspace/drafts');
  expect(existsSync(drafts)).toBe(true);
  const asDefault = { ...env, LANGO_URL: server.address.origin };
  const { questions } = await server.client.get({ taskId: ids.waiting });
  await run(['send', '--task', ids.waiting, '--approve', questions[0]!.hash, '--json'], asDefault);
  expect(await untilEnded(server, ids.waiting)).toMatchObject({ state: 'completed' });
  expect(existsSync(drafts)).toBe(false);

  await run(['data', 'forget', 'context', 'context-of-the-fixture'], asDefault);
  expect((await server.fetch(`/tasks/${ids.repeated}`)).status).toBe(404);
  // A process was killed while it removed a task; this removal also deletes the rest of that task.
  const removed = (await rows()).filter(({ name }) => name.endsWith('removed_tasks'));
  expect(removed).toMatchObject([{ rows: [] }]);
}
