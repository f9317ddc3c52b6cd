import { ALL_OPERATIONS, createOwnerClient, type OwnerClient } from '../support/owner-client.js';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { tokenCredential } from '../../src/core/credential.js';
import { createOriginFetch } from '../../src/core/origin-fetch.js';
import { openHome } from '../../src/app.js';
import { readEnv } from '../../src/config/env.js';
import { loadConfig } from '../../src/config/load.js';
import { silentLogger } from '../../src/core/logger.js';
import { langoHere, startServerHere } from '../cli/lango-here.js';
import { lango, makeHome } from '../cli/lango-process.js';
import { sendText, withServer } from '../support/server.js';

const PERMISSION = { places: ['exec'], hosts: [] } as const;

interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly hint: string | undefined;
}

/** The results of an owner's calls, step by step, without the times at which they happened. */
async function story(owner: OwnerClient): Promise<readonly unknown[]> {
  const refusals: unknown[] = [];
  const refused = (call: Promise<unknown>): Promise<unknown> =>
    call.catch(({ code, message, hint }: Refusal) =>
      // A server returns message and hint as one text.
      refusals.push([code, hint === undefined ? message : `${message} ${hint}`]),
    );
  const { secret } = await owner.storeSecret({ name: 'github', value: 'ghp_S3cr3t/To+ken42', ...PERMISSION });
  await refused(owner.storeSecret({ name: 'github', value: 'ghp_S3cr3t/To+ken43' }));
  await refused(owner.storeSecret({ name: 'no name', value: 'ghp_S3cr3t/To+ken43' }));
  await refused(owner.deleteSecret({ name: 'nothing' }));
  await refused(owner.readWallet({}));
  await refused(owner.readData({ kind: 'poems' }));
  await refused(owner.readData({ kind: 'graph', after: 'nowhere' }));
  await refused(owner.forgetData({ kind: 'facts', name: 'nothing at all' }));
  await refused(owner.forgetData({ kind: 'facts', name: ' ' }));
  await refused(owner.removeDocuments({ collection: 'documents' }));
  const file = { collection: 'team notes', origin: 'file:///a.md', name: 'a.md', modifiedAt: 1_234 };
  await refused(owner.submitDocument({ ...file, content: Buffer.from('# Fleet') }));
  const content = Buffer.from('# Fleet\n\nEach vehicle is inspected in May.\n');
  const submitted = await owner.submitDocument({ ...file, collection: 'team', content });
  const listed = await owner.listDocuments({});
  const elsewhere = await owner.listDocuments({ collection: ['other', 'others'] });
  const removed = await owner.removeDocuments({ collection: 'team', origins: ['file:///a.md'] });
  await refused(owner.updateVectors({ action: 'drop-vectors' }));
  const { kinds } = await owner.listDataKinds({});
  return [
    ...[refusals, secret.reference, secret.places, submitted, listed, elsewhere, removed, kinds],
    (await owner.listSecrets({})).secrets.map(({ name, version }) => [name, version]),
    await owner.readBill({}),
    await owner.deleteSecret({ name: 'github' }),
    (await owner.deleteData({})).deleted,
  ];
}

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(path.join(tmpdir(), 'lango-owners-'))));
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('the data of an owner', () => {
  it('is the same over HTTP and in a data folder without a server: results, refusals and their reasons', async () => {
    let overHttp: readonly unknown[] = [];
    await withServer({}, async (server) => {
      const { origin, token } = server.address;
      const asking = createOriginFetch({ fetch, origin, credential: tokenCredential(token) });
      overHttp = await story(createOwnerClient({ url: origin, fetch: asking }));
    });
    const loaded = await loadConfig({ env: readEnv({}), overrides: { home: folder } });
    const home = await openHome(loaded, { logger: silentLogger });
    const inProcess = await story(home!.client(ALL_OPERATIONS));
    await home![Symbol.asyncDispose]();
    expect(inProcess).toEqual(overHttp);
    expect(overHttp[0]).toHaveLength(11);
  });

  it('belongs to its owner, and is absent for others', async () => {
    const loaded = await loadConfig({ env: readEnv({}), overrides: { home: folder } });
    const alice = await openHome(loaded, { logger: silentLogger, owner: 'user:alice' });
    await alice!.client(ALL_OPERATIONS).storeSecret({ name: 'github', value: 'ghp_S3cr3t/To+ken42' });
    await alice![Symbol.asyncDispose]();
    const bob = await openHome(loaded, { logger: silentLogger, owner: 'user:bob' });
    const of = (name: string) =>
      bob!
        .client(ALL_OPERATIONS)
        .deleteSecret({ name })
        .catch(({ code, hint }: { code: string; hint: string }) => [code, hint]);
    expect(await of('github')).toEqual(await of('nothing'));
    expect(await bob!.client(ALL_OPERATIONS).listSecrets({})).toEqual({ secrets: [] });
    await bob![Symbol.asyncDispose]();
  });

  it('is deleted by concurrent calls as by one, and each task is counted by one of them', async () => {
    await withServer({ home: folder }, async (server) => {
      for (const text of ['hello', 'hello again', 'and again']) await sendText(server, text);
    });
    const loaded = await loadConfig({ env: readEnv({}), overrides: { home: folder } });
    const home = await openHome(loaded, { logger: silentLogger });
    const answers = await Promise.all([1, 2, 3].map(() => home!.client(ALL_OPERATIONS).deleteData({})));
    await home![Symbol.asyncDispose]();
    expect(answers.map(({ deleted }) => deleted.tasks).sort()).toEqual([0, 0, 3]);
  });

  it('is served with 405 for other methods, 401 for unknown callers, and the field name for bad input', async () => {
    await withServer({}, async (server) => {
      const wrong = await server.fetch('/lango/documents/team', { method: 'POST', body: '{}' });
      expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'PUT, DELETE']);
      for (const target of ['/lango/secrets', '/lango/data/tasks', '/lango/agents']) {
        const stranger = await server.fetch(target, { headers: { authorization: '' } });
        expect([target, stranger.status]).toEqual([target, 401]);
      }
      const body = '{"value":7,"places":["moon"]}';
      const bad = await server.fetch('/lango/secrets/github', { method: 'PUT', body });
      expect(bad.status).toBe(400);
      const { error } = (await bad.json()) as { error: { message: string; details: readonly object[] } };
      expect(error.message).toMatch(/^value: .*; places\.0: .*"exec"\|"http"\|"browser"\.$/);
      expect(error.details).toMatchObject([{ fieldViolations: [{ field: 'value' }, { field: 'places.0' }] }]);
      const slash = await server.fetch('/lango/secrets/');
      expect(slash.status).toBe(404);
    });
  });
});

describe('lango data without a server', () => {
  it('exports the data of an earlier server, and deletes it, but cancels no task', async () => {
    const home = await makeHome();
    try {
      const server = await startServerHere(home);
      const send = (...args: readonly string[]) => langoHere(['send', ...args], { env: server.env });
      await send('remember that tea is at four');
      await server.stop();
      const { stdout, code } = await lango(['data', 'export'], { env: home.env });
      expect(code).toBe(0);
      const kept = JSON.parse(stdout) as {
        readonly facts: readonly object[];
        readonly tasks: readonly object[];
      };
      expect(kept.facts).toMatchObject([{ content: 'tea is at four' }]);
      expect(kept.tasks.length).toBeGreaterThan(0);
      const deleted = await langoHere(['data', 'delete', '--yes'], { env: home.env });
      expect(deleted.stdout).toMatch(/^Deleted: tasks \d+, .*facts 1/);
    } finally {
      await home.remove();
    }
  });

  it('reports that only a server can cancel a task that has not ended', async () => {
    let taskId = '';
    await withServer(
      { home: folder, settings: { tools: { exec: { enabled: true, sandbox: 'off' } } } },
      async (server) => {
        const asked = await sendText(server, 'run rm -rf /nowhere');
        expect(asked.end.state).toBe('input-required');
        taskId = asked.taskId;
      },
    );
    const env = { LANGO_HOME: folder };
    const refused = await langoHere(['data', 'delete', '--yes'], { env });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(`Task ${taskId} has not ended`);
    expect(refused.stderr).toContain('lango serve');
  });
});
