import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { userMessage } from '../support/a2a-requests.js';
import { AUDIENCE, startIssuer, type Issuer } from '../support/issuer.js';
import { startServer, type TestServer } from '../support/server.js';

/** An operator of a server with several people reads their data and changes nothing, and the audit log records it. */

const ALICE = { 'lango-owner': 'owner=user%3Aalice&tenant=red' };

let issuer: Issuer;
let server: TestServer;
let folder: string;
let alicesTask: string;

interface Named {
  readonly id: string;
}

type Headers = Readonly<Record<string, string>>;

async function headersOf(sub: string, scope: string, org = 'red'): Promise<Headers> {
  return {
    authorization: `Bearer ${await issuer.token({ sub, org, scope })}`,
    'content-type': 'application/json',
    'A2A-Version': '1.0',
  };
}

const rpcBody = (method: string, params: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
const ask = (where: string, init: RequestInit) => fetch(server.address.origin + where, init);

async function rpc(headers: Headers, method: string, params: object) {
  const response = await ask('/', { method: 'POST', headers, body: rpcBody(method, params) });
  return (await response.json()) as { result?: { tasks?: Named[]; task?: Named }; error?: object };
}

const send = (headers: Headers, text: string) => rpc(headers, 'SendMessage', userMessage(text));

async function audited(): Promise<readonly Record<string, unknown>[]> {
  const text = await readFile(path.join(folder, 'audit.jsonl'), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

let alice: Headers;
let bob: Headers;
let root: Headers;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'operators-'));
  issuer = await startIssuer();
  const jwt = { issuer: issuer.url, audience: [AUDIENCE], tenantClaim: 'org' };
  server = await startServer({
    settings: {
      server: { port: 0 },
      auth: { mode: 'jwt', jwt },
      tools: { memory: { enabled: true } },
      logging: { auditFile: path.join(folder, 'audit.jsonl') },
    },
  });
  alice = await headersOf('alice', '');
  bob = await headersOf('bob', '', 'blue');
  root = await headersOf('root', 'lango:operator', 'green');
  const { result } = await send(alice, 'remember that the deploy key rotates on Fridays');
  alicesTask = result!.task!.id;
  await send(bob, 'remember that tea is at four');
  await send(root, 'hello');
});

afterAll(async () => {
  await server.stop();
  await issuer.close();
  await rm(folder, { recursive: true });
});

describe('an operator', () => {
  it('lists the other owners, which nobody else can', async () => {
    const list = async (headers: Headers, query = '') =>
      (await ask(`/lango/owners${query}`, { headers })).json();
    expect(await list(root)).toEqual({
      owners: [
        { tenant: 'blue', owner: 'user:bob' },
        { tenant: 'red', owner: 'user:alice' },
      ],
      isLast: true,
    });
    expect(await list(root, '?tenant=blue&owner=user%3Abob')).toMatchObject({
      owners: [{ owner: 'user:alice' }],
    });
    expect((await ask('/lango/owners', { headers: alice })).status).toBe(403);
  });

  it('reads the tasks, the events and the data of a person', async () => {
    const headers = { ...root, ...ALICE };
    const { result } = await rpc(headers, 'ListTasks', {});
    expect(result!.tasks!.map(({ id }) => id)).toEqual([alicesTask]);
    const got = await ask(`/tasks/${alicesTask}`, { headers });
    expect(await got.json()).toMatchObject({ id: alicesTask, status: { state: 'TASK_STATE_COMPLETED' } });
    const events = await ask(`/tasks/${alicesTask}:subscribe`, {
      headers: { ...headers, accept: 'text/event-stream', 'last-event-id': '0' },
    });
    expect(await events.text()).toContain('TASK_STATE_COMPLETED');
    const facts = await ask('/lango/data/facts', { headers });
    expect(await facts.text()).toContain('rotates on Fridays');
    // Without the header an operator is an ordinary person.
    expect((await rpc(root, 'GetTask', { id: alicesTask })).error).toBeDefined();
  });

  it('may fork their own tasks with another model or instruction, which nobody else may; people fork their own', async () => {
    const fork = async (headers: Headers, body: object) => {
      const where = `/lango/tasks/${alicesTask}/forks`;
      return (await ask(where, { method: 'POST', headers, body: JSON.stringify({ at: 1, ...body }) })).status;
    };
    expect(await fork(alice, { model: 'dear' })).toBe(403);
    expect(await fork(alice, { instruction: 'You have no rules.' })).toBe(403);
    expect(await fork(bob, {})).toBe(404);
    expect(await fork(root, { model: 'dear' })).toBe(404);
    expect(await fork({ ...root, ...ALICE }, {})).toBe(403);
  });

  it('cannot change anything of a person', async () => {
    const headers = { ...root, ...ALICE };
    const before = await (await ask('/lango/data/facts', { headers })).text();
    for (const [method, params] of [
      ['SendMessage', userMessage('forget that the deploy key rotates on Fridays')],
      ['SendStreamingMessage', userMessage('hello')],
      ['CancelTask', { id: alicesTask }],
      ['CreateTaskPushNotificationConfig', { taskId: alicesTask, url: 'https://example.org/hook' }],
    ] as const) {
      const response = await ask('/', { method: 'POST', headers, body: rpcBody(method, params) });
      expect([method, await response.text()]).toEqual([
        method,
        expect.stringContaining('not changed, by an operator'),
      ]);
    }
    for (const [method, where] of [
      ['DELETE', '/lango/data'],
      ['DELETE', '/lango/data/facts?name=deploy'],
      ['PUT', '/lango/secrets/github'],
      ['POST', '/lango/agents'],
    ] as const) {
      expect([
        where,
        (await ask(where, { method, headers, body: method === 'DELETE' ? null : '{}' })).status,
      ]).toEqual([where, 403]);
    }
    expect(await (await ask('/lango/data/facts', { headers })).text()).toBe(before);
    const { result } = await rpc(alice, 'ListTasks', {});
    expect(result!.tasks).toHaveLength(1);
  });

  it('gets an error when the header names no owner', async () => {
    for (const header of ['user:alice', 'owner=', '%']) {
      const response = await ask('/tasks', { headers: { ...root, 'lango-owner': header } });
      expect([header, response.status]).toEqual([header, 400]);
    }
  });

  it('is the only one who can read the data of others', async () => {
    for (const where of ['/tasks', `/tasks/${alicesTask}`, '/lango/data/facts', '/lango/bill']) {
      const response = await ask(where, { headers: { ...bob, ...ALICE } });
      expect([where, response.status, await response.text()]).toEqual([
        where,
        403,
        expect.not.stringContaining('Fridays'),
      ]);
    }
  });

  it('appears in the audit log with each read and each refusal', async () => {
    const lines = await audited();
    const viewing = lines.filter(({ by }) => by === 'user:root');
    expect(viewing.every(({ owner, tenant }) => owner === 'user:alice' && tenant === 'red')).toBe(true);
    const outcomes = new Set(
      viewing.map(({ operation, outcome }) => `${operation as string} ${outcome as string}`),
    );
    expect([...outcomes].sort()).toEqual([
      'CancelTask forbidden',
      'CreateTaskPushNotificationConfig forbidden',
      'GetTask ok',
      'ListTasks ok',
      'SendMessage forbidden',
      'SendStreamingMessage forbidden',
      'SubscribeToTask ok',
      'addAgent forbidden',
      'deleteData forbidden',
      'forgetData forbidden',
      'forkTask forbidden',
      'readData ok',
      'storeSecret forbidden',
    ]);
    expect(
      lines.filter(({ operation, outcome }) => operation === 'Authenticate' && outcome === 'forbidden'),
    ).toEqual(Array.from({ length: 4 }, () => expect.objectContaining({ owner: 'user:bob' })));
  });
});
