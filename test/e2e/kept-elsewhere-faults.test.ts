import { createOwnerClient } from '../support/owner-client.js';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { openKeys } from '../../src/config/node-credentials.js';
import { replyPart, connect, textPart } from '../../src/index.js';
import { KillableServer } from '../support/killable-server.js';
import { findInFolder } from '../support/secret-search.js';
import { describeSandboxed } from '../capabilities/workspace/exec/setup.js';

/**
 * A node that uses secrets of another node, both as real programs that are killed, hang and start again during a call.
 */

const VALUE = 'borrowed-S3cr3t-4711';
/** Prints the value, and adds a line to a file each time that it runs. */
const COMMAND = 'run `echo ran >> runs.txt; printenv T` with the secret api as T';

/** A proxy before the vault's node, at an address that stays. */
const proxy = createServer((request, response) => void answer(request, response));
let held: Promise<unknown>[] = [];
/** Called for a request for a value, which is passed on once the promise resolves. */
let onUse: (response: ServerResponse) => Promise<unknown> = async () => undefined;
let uses = 0;
let keeper: KillableServer;
let worker: KillableServer;

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await buffer(request);
  if (request.url!.endsWith('/use')) {
    uses += 1;
    await onUse(response);
    if (response.destroyed) return;
  }
  const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers;
  const passed = await fetch(keeper.origin + request.url, {
    method: request.method!,
    headers: headers as Record<string, string>,
    ...(body.length > 0 && { body }),
  }).catch(() => undefined);
  if (!passed) return void response.destroy();
  response.writeHead(passed.status, { 'content-type': passed.headers.get('content-type') ?? 'text/plain' });
  response.end(Buffer.from(await passed.arrayBuffer()));
}

beforeAll(async () => {
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  worker = await KillableServer.open(`
approval: { policy: none }
a2a: { keptAt: { secrets: { url: '${url}', allowPrivate: true } } }
tools: { exec: { sandbox: required }, browser: { enabled: false } }
`);
  const { current } = await (await openKeys(worker.home.folder)).read();
  const jwks = join(worker.home.folder, 'jwks.json');
  await writeFile(jwks, JSON.stringify({ keys: [current.publicJwk] }));
  keeper = await KillableServer.open(
    `a2a: { baseUrl: '${url}' }\ntools: { exec: { enabled: false }, browser: { enabled: false } }\n`,
    `[{ name: worker, keys: '${jwks}', may: [secrets] }]`,
  );
});

afterAll(async () => {
  await worker.close();
  await keeper.close();
  proxy.closeAllConnections();
  proxy.close();
});

beforeEach(async () => {
  onUse = async () => undefined;
  uses = 0;
  held = [];
  await rm(runsFile(), { force: true });
  const authorization = `Bearer ${keeper.token}`;
  const withToken: typeof fetch = (input, init) =>
    fetch(input, { ...init, headers: { ...init?.headers, authorization } });
  const owner = createOwnerClient({ url: keeper.origin, fetch: withToken });
  await owner.storeSecret({ name: 'api', value: VALUE, places: ['exec'], replace: true });
});

afterEach(async () => {
  await Promise.all(held);
  expect(findInFolder(worker.home.folder, VALUE)).toEqual([]);
});

const runsFile = () => join(worker.home.folder, 'workspace', 'runs.txt');
const runs = async () => (await readFile(runsFile(), 'utf8').catch(() => '')).split('\n').length - 1;

describeSandboxed('a command with a secret of another node', () => {
  it('runs once when the node of the secret is killed during the request and starts again', async () => {
    onUse = async (response) => {
      const isFirst = uses === 1;
      if (isFirst) held = [keeper.kill().then(() => keeper.start())];
      // The request waits until the node is back, so the start may take nearly the time of all three attempts.
      await Promise.all(held);
      if (isFirst) response.destroy();
    };
    const { state, text } = await worker.say(COMMAND);
    expect([state, text]).toEqual(['completed', expect.stringContaining('{{secret:api}}')]);
    expect(await runs()).toBe(1);
  });

  it('gets its secret from a node that was restarted between two calls', async () => {
    expect((await worker.say(COMMAND)).text).toContain('{{secret:api}}');
    await keeper.kill();
    await keeper.start();
    expect((await worker.say(COMMAND)).text).toContain('{{secret:api}}');
    expect(await runs()).toBe(2);
  });

  it('does not run without a question after its own node was killed while it fetched the secret', async () => {
    const asked = Promise.withResolvers<() => void>();
    const taskId = await worker.killedWhile(COMMAND, {
      moment: {
        arm(die) {
          onUse = async () => {
            onUse = async () => undefined;
            die();
            await asked.promise;
          };
        },
      },
      afterDeath: () => asked.resolve(() => undefined),
    });
    const task = await worker.settled(taskId);
    expect([task.state, await runs()]).toEqual(['input-required', 0]);
    const [question] = task.questions;
    expect(question).toMatchObject({ kind: 'outcome-unknown' });
    const done = await worker.send([replyPart({ hash: question!.hash, decision: 'approve' })], { taskId });
    expect([done.state, done.text]).toEqual(['completed', expect.stringContaining('{{secret:api}}')]);
    expect(await runs()).toBe(1);
  });

  it('fails with its reason, and does not run, when the node of the secret hangs', async () => {
    onUse = () => new Promise(() => undefined);
    const client = connect({ url: worker.origin, token: worker.token });
    const ends: { state: string; text: string }[] = [];
    const request = { parts: [textPart(COMMAND)] };
    for await (const event of client.send(request, AbortSignal.timeout(100_000)))
      if (event.type === 'end') ends.push(event);
    expect(ends).toHaveLength(1);
    expect(ends[0]!.state).toBe('completed');
    expect(ends[0]!.text).toMatch(
      /The server that keeps the secrets, \S+, does not respond: .* Nothing was done\./,
    );
    expect([uses, await runs()]).toEqual([3, 0]);
  });

  it('stops fetching its secret once its task is canceled', async () => {
    const client = connect({ url: worker.origin, token: worker.token });
    const gone = Promise.withResolvers<void>();
    onUse = (response) => {
      response.on('close', gone.resolve);
      return new Promise(() => undefined);
    };
    let taskId = '';
    const states: string[] = [];
    const sending = (async () => {
      for await (const event of client.send({ parts: [textPart(COMMAND)] }, AbortSignal.timeout(100_000))) {
        if (event.type === 'task') taskId ||= event.taskId;
        if (event.type === 'end') states.push(event.state);
      }
    })();
    while (uses === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    await client.cancel({ taskId });
    await sending;
    await gone.promise;
    expect(states).toEqual(['canceled']);
    expect((await worker.settled(taskId)).state).toBe('canceled');
    expect([uses, await runs()]).toEqual([1, 0]);
  });
});
