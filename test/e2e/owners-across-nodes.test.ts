import { createOwnerClient, type OwnerClient } from '../support/owner-client.js';
import { pagesOf } from '../../src/core/page.js';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generateKeyPairSync, sign } from 'node:crypto';
import { connect, textPart } from '../../src/index.js';
import { openKeys } from '../../src/config/node-credentials.js';
import { signJwt } from '../../src/core/card.js';
import type { SigningKey } from '../../src/core/card.js';
import type { JsonObject } from '../../src/core/json.js';
import { cardAt, give, Stranger } from '../../lab/abuse/stranger.js';
import { gatherTask } from '../../src/replay/collect.js';
import { replayTask } from '../../src/replay/replay.js';
import { parseTaskPage, taskFileText } from '../../src/replay/task-file.js';
import { freePort } from '../support/free-port.js';
import { openCardHost, type CardHost } from '../support/card-host.js';
import type { Issuer } from '../support/issuer.js';
import { AUDIENCE, startIssuer } from '../support/issuer.js';
import type { TestServer } from '../support/server.js';
import { startServer } from '../support/server.js';
import { describeSandboxed } from '../capabilities/workspace/exec/setup.js';

/**
 * An orchestrator whose callers have tokens of an issuer, and a node of ours with all sub-agents: the data of each
 * person there is theirs alone. The chronicler is called over gRPC, the librarian over HTTP+JSON, the others over
 * JSON-RPC.
 */

const FAMILIES = ['operator', 'vault', 'librarian', 'planner', 'chronicler'];
let issuer: Issuer;
let front: TestServer;
let node: TestServer;
let grpcCards: CardHost;
let httpCards: CardHost;
let nodeUrl = '';
/** A server that responds without data, and the credentials that were sent to it. */
let silent: Stranger;
const heard: string[] = [];
/** The status of its responses to requests for an owner's data. */
let lango = 404;

beforeAll(async () => {
  issuer = await startIssuer();
  const [port, frontPort] = [await freePort(), await freePort()];
  nodeUrl = `http://127.0.0.1:${port}`;
  node = await startServer({
    settings: {
      server: { port, grpc: { enabled: true, port: 0 } },
      approval: { policy: 'none' },
      auth: { nodes: [{ name: 'front', jwks: `http://127.0.0.1:${frontPort}/.well-known/jwks.json` }] },
      a2a: { baseUrl: nodeUrl, publish: FAMILIES },
      tools: {
        ...{ fs: { enabled: true }, exec: { enabled: true, sandbox: 'required' }, skills: { enabled: true } },
        ...{ secrets: { enabled: true }, knowledge: { enabled: true }, memory: { enabled: true } },
        ...{ search: { enabled: true }, crypto: { enabled: true } },
      },
      graph: { enabled: true },
    },
  });
  grpcCards = await openCardHost(nodeUrl);
  httpCards = await openCardHost(nodeUrl, 'HTTP+JSON');
  silent = await Stranger.open();
  silent.answer = ({ method, headers, url }, response) => {
    if (url?.startsWith('/lango/') === true) return response.writeHead(lango).end('{}');
    if (method === 'GET') return give(response, cardAt(silent.url));
    heard.push(headers.authorization ?? '');
    return response.writeHead(403).end();
  };
  const hosts: Record<string, string> = { chronicler: grpcCards.url, librarian: httpCards.url };
  const remoteAgents: object[] = FAMILIES.map((name) => ({
    name,
    url: `${hosts[name] ?? nodeUrl}/agents/${name}`,
    ...{ allowPrivate: true, owners: 'forward' as const, audience: `${nodeUrl}/` },
  }));
  remoteAgents.push({ name: 'stranger', url: silent.url, allowPrivate: true, owners: 'forward' });
  front = await startServer({
    settings: {
      server: { port: frontPort },
      auth: {
        mode: 'jwt',
        jwt: {
          ...{ issuer: issuer.url, audience: [AUDIENCE], tenantClaim: 'org' },
        },
      },
      a2a: {
        ...{ enabled: true, publish: ['lango-orchestrator'], remoteAgents: remoteAgents as never },
        keptAt: {
          secrets: { url: nodeUrl, allowPrivate: true },
          documents: { url: nodeUrl, allowPrivate: true },
        },
      },
    },
  });
});

afterAll(async () => {
  await front.stop();
  await node.stop();
  await grpcCards[Symbol.asyncDispose]();
  await httpCards[Symbol.asyncDispose]();
  await silent[Symbol.asyncDispose]();
  await issuer.close();
});

/** The data of a person, requested at the front node. */
async function keptOf(sub: string): Promise<OwnerClient> {
  const authorization = `Bearer ${await issuer.token({ sub, org: 'red' })}`;
  const withToken: typeof fetch = (input, init) =>
    fetch(input, { ...init, headers: { ...init?.headers, authorization } });
  return createOwnerClient({ url: front.address.origin, fetch: withToken });
}

async function person(sub: string, org = 'red', scope?: string): Promise<(text: string) => Promise<string>> {
  const token = await issuer.token({ sub, org, ...(scope !== undefined && { scope }) });
  const client = connect({ url: front.address.origin, token });
  return async (text) => {
    const said: string[] = [];
    for await (const event of client.send({ parts: [textPart(text)] }, AbortSignal.timeout(100_000)))
      if (event.type === 'end') said.push(event.text);
    return said.join('\n');
  };
}

describeSandboxed('a person of the front node, at the node of its sub-agents', () => {
  it('finds their own data there in every family of tools, and nothing of anybody else', async () => {
    const [alice, bob, blue] = [await person('alice'), await person('bob'), await person('alice', 'blue')];
    const rows: readonly (readonly [keeps: string, asks: string, holds: string])[] = [
      ['remember that the kitten sleeps', 'what do you remember about the kitten?', 'kitten sleeps'],
      ['store the secret swordfish-9000 as kitten', 'which secrets are there', 'kitten'],
      ['create a key named kitten', 'which keys are there', 'kitten'],
      ['save knowledge kitten: it drinks milk', 'what do you know about milk?', 'drinks milk'],
      ['add to the graph that kitten depends on milk', 'what depends on milk?', 'kitten'],
      ['create a file diary.txt with kitten', 'run cat diary.txt', 'kitten'],
    ];
    for (const [keeps, asks, holds] of rows) {
      await alice(keeps);
      expect([asks, await alice(asks)]).toEqual([asks, expect.stringContaining(holds)]);
      for (const other of [bob, blue])
        expect([asks, (await other(asks)).replace(asks, '')]).not.toEqual([
          asks,
          expect.stringContaining(holds),
        ]);
    }
    expect(httpCards.passedOn).toContainEqual('POST /agents/librarian/message:stream');
    expect(httpCards.passedOn).not.toContainEqual('POST /agents/librarian');
  });
});

describe('the trace and the export of a task that a person sent to the front node', () => {
  it('include the work of the sub-agents on their node, for that person alone', async () => {
    const client = connect({
      url: front.address.origin,
      token: await issuer.token({ sub: 'erin', org: 'red' }),
    });
    let taskId = '';
    const request = { parts: [textPart('create a key named teapot')] };
    for await (const event of client.send(request, AbortSignal.timeout(100_000)))
      if (event.type === 'task') taskId ||= event.taskId;
    const [erin, dave] = [await keptOf('erin'), await keptOf('dave')];
    const trace = await erin.readTrace({ taskId });
    const named = (beginning: string) => trace.spans.filter(({ name }) => name.startsWith(beginning));
    const [delegation, below] = named('invoke_agent vault');
    expect(below).toMatchObject({ kind: 'server', parent: delegation!.id });
    expect(below!.attributes['lango.node.url']).toBe(`${nodeUrl}/agents/vault`);
    expect(named('execute_tool').map(({ parent }) => parent)).toEqual([below!.id]);
    expect(new Set(trace.spans.map(({ id }) => id)).size).toBe(trace.spans.length);
    const alone = await erin.readTrace({ taskId, levels: 0 });
    expect(alone.spans.length).toBeLessThan(trace.spans.length);
    await expect(dave.readTrace({ taskId })).rejects.toMatchObject({ code: 'not-found' });

    // The export is one file with the tasks of both nodes, for the same person.
    const gather = (owner: OwnerClient) =>
      gatherTask(taskId, {
        readPage: async ({ via, ...about }) =>
          parseTaskPage(await owner.readTaskRecord({ ...about, via: via.join() })),
        readCard: async (name) => (await owner.readCard({ name })).card,
      });
    const file = await gather(erin);
    expect(file.tasks.map(({ agent }) => agent)).toEqual(['lango-orchestrator', 'vault']);
    expect(new Set(file.tasks.map((task) => task.node.id)).size).toBe(2);
    expect(taskFileText(await gather(erin))).toBe(taskFileText(file));
    expect(await replayTask(file)).toMatchObject({ tasks: 2, divergence: undefined });
    await expect(gather(dave)).rejects.toMatchObject({ code: 'not-found' });
    const child = file.tasks[1]!.id;
    for (const via of ['', 'vault'])
      await expect(dave.readTaskRecord({ taskId: child, via })).rejects.toMatchObject({ code: 'not-found' });
    for (const via of ['nobody', 'operator,operator'])
      await expect(erin.readTaskRecord({ taskId: child, via })).rejects.toMatchObject({ code: 'not-found' });
  });
});

describe('the data of a person of the front node', () => {
  const read = async (owner: OwnerClient, kind: string) => {
    const all: unknown[] = [];
    for await (const { items } of pagesOf((after) => owner.readData({ kind, after }))) all.push(...items);
    return JSON.stringify(all);
  };

  it('is stored on the node of its agent: secrets, documents and data, for that person alone', async () => {
    const [carol, dave] = [await keptOf('carol'), await keptOf('dave')];
    await carol.storeSecret({ name: 'typed', value: 'marmalade-5561' });
    const content = Buffer.from('The quokka lives on Rottnest Island.');
    await carol.submitDocument({ collection: 'documents', origin: 'file:///q', name: 'q.txt', content });
    const ask = await person('carol');
    expect(await ask('which secrets are there')).toContain('typed');
    expect(await ask('what do you know about the quokka?')).toContain('Rottnest');
    await ask('remember that the quokka smiles');
    for (const [owner, count] of [
      [carol, 1],
      [dave, 0],
    ] as const) {
      expect((await owner.listSecrets({})).secrets).toHaveLength(count);
      expect((await owner.listDocuments({})).documents).toHaveLength(count);
      expect((await read(owner, 'facts')).includes('quokka smiles')).toBe(count === 1);
    }
    expect(await read(carol, 'tasks')).toContain('vault');
    await expect(read(carol, 'nonsense')).rejects.toThrow('no such kind of data');
    await expect(carol.forgetData({ kind: 'facts', name: 'nothing' })).rejects.toThrow('You have no data');
    await carol.forgetData({ kind: 'facts', name: 'the quokka smiles' });
    expect(await read(carol, 'facts')).toBe('[]');
    for (const status of [401, 200, 500]) {
      lango = status;
      await expect(read(carol, 'facts')).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringContaining(`The node of stranger at ${silent.url}`),
      });
    }
    lango = 404;
    expect((await carol.deleteData({})).deleted).toMatchObject({ documents: 1 });
    expect((await carol.listDocuments({})).documents).toEqual([]);
  });

  it('is stored nowhere when the node does not know who asks', async () => {
    const listed = [
      { name: 'keeper', url: `${nodeUrl}/agents/vault`, token: node.address.token!, allowPrivate: true },
    ];
    const other = await startServer({
      settings: { a2a: { enabled: true, publish: ['lango-orchestrator'], remoteAgents: listed } },
    });
    const url = other.address.origin;
    const owner = createOwnerClient({
      url,
      fetch: (input, init) => other.fetch(new URL(input).pathname, init),
    });
    await expect(owner.storeSecret({ name: 'typed', value: 'marmalade-5561' })).rejects.toMatchObject({
      code: 'not-supported',
      message: expect.stringContaining('does not say which server keeps them. Set a2a.keptAt.secrets'),
    });
    await other.stop();
  });
});

describe('the identity that another node gets', () => {
  it('is the person, with no more scopes than their token has, for that node alone', async () => {
    const alice = await person('alice', 'red', 'read write');
    await alice('ask stranger to help');
    const [, body = ''] = heard.at(-1)!.split('.');
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as { iat: number; exp: number };
    expect(claims).toMatchObject({
      ...{ sub: 'user:alice', tenant: 'red', scope: ['read', 'write'], aud: `${silent.url}/` },
      task: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect(claims.exp - claims.iat).toBe(60);
  });
});

describe('a token of a node that names the owner', () => {
  const NOW = () => Math.floor(Date.now() / 1_000);
  let key: SigningKey;
  beforeAll(async () => {
    key = (await (await openKeys(front.home)).read()).current;
  });

  const claims = (changes: JsonObject = {}): JsonObject => ({
    iss: `urn:ietf:params:oauth:jwk-thumbprint:sha-256:${key.kid}`,
    ...{ aud: `${nodeUrl}/`, sub: 'user:alice', tenant: 'red' },
    ...{ jti: crypto.randomUUID(), iat: NOW(), exp: NOW() + 60, ...changes },
  });
  const signed = (changes: JsonObject = {}, typ = 'lango-node+jwt') => signJwt(key, claims(changes), typ);
  const ask = async (token: string): Promise<number> => {
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(`${nodeUrl}/agents/vault/tasks`, { headers })).status;
  };

  it('is accepted from the configured node, for the owner alone and once', async () => {
    const token = signed();
    expect(await ask(token)).toBe(200);
    expect(await ask(token)).toBe(401);
    const again = signed();
    expect((await Promise.all([ask(again), ask(again)])).sort()).toEqual([200, 401]);
  });

  it.each([
    ['of another audience', () => signed({ aud: 'http://127.0.0.1:1/' })],
    ['that has ended', () => signed({ iat: NOW() - 200, exp: NOW() - 100 })],
    ['that lives for ever', () => signed({ iat: NOW() - 3_600, exp: NOW() + 3_600 })],
    ['without an owner', () => signed({ sub: '' })],
    ['without a tenant', () => signed({ tenant: 1 })],
    ['of an ordinary kind', () => signed({}, 'JWT')],
    ['of another issuer', () => signed({ iss: 'urn:ietf:params:oauth:jwk-thumbprint:sha-256:x' })],
    ['without a signature', () => `${signed().split('.').slice(0, 2).join('.')}.`],
    ['with other claims than were signed', () => widened(signed())],
    ['of a foreign key', () => foreign('other')],
    ['of a foreign key under a known name', () => foreign(key.kid)],
    ['of the node that is asked', () => ofItself()],
  ])('is refused %s', async (_, make) => {
    expect(await ask(await make())).toBe(401);
  });

  const widened = (token: string): string => {
    const [head, , signature] = token.split('.');
    const body = Buffer.from(JSON.stringify(claims({ sub: 'user:bob' }))).toString('base64url');
    return `${head}.${body}.${signature}`;
  };
  const foreign = (kid: string): string => {
    const { privateKey } = generateKeyPairSync('ed25519');
    const other: SigningKey = {
      ...{ kid, publicJwk: key.publicJwk },
      sign: (bytes) => sign(null, Buffer.from(bytes), privateKey).toString('base64url'),
    };
    return signJwt(other, claims(), 'lango-node+jwt');
  };
  const ofItself = async (): Promise<string> => {
    const own = (await (await openKeys(node.home)).read()).current;
    return signJwt(
      own,
      claims({ iss: `urn:ietf:params:oauth:jwk-thumbprint:sha-256:${own.kid}` }),
      'lango-node+jwt',
    );
  };
});
