import { createOwnerClient, type OwnerClient } from '../support/owner-client.js';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { replyPart, connect, textPart, type AgentClient } from '../../src/index.js';
import { openKeys } from '../../src/config/node-credentials.js';
import { signJwt } from '../../src/core/card.js';
import type { SigningKey } from '../../src/core/card.js';
import type { JsonObject } from '../../src/core/json.js';
import { freePort } from '../support/free-port.js';
import type { Issuer } from '../support/issuer.js';
import { AUDIENCE, startIssuer } from '../support/issuer.js';
import { findIn, findInFolder } from '../support/secret-search.js';
import type { TestServer } from '../support/server.js';
import { startServer } from '../support/server.js';
import { openSite, type Site } from '../capabilities/browser/setup.js';
import { describeSandboxed } from '../capabilities/workspace/exec/setup.js';

/**
 * An orchestrator for people, and nodes of their own for the operator, the vault and the librarian. The operator uses
 * the secrets and skills that each person stores there.
 */

const VALUES = { alice: 'alice/S3cr3t+Token=42', bob: 'böb-S3cr3t-Token-43' };
type Person = keyof typeof VALUES;

let issuer: Issuer;
let site: Site;
let seen: unknown[] = [];
let front: TestServer;
let worker: TestServer;
let keeper: TestServer;
let keeperUrl = '';
/** The folder with the keys of a node that may fetch skills only. */
let reader = '';

const keySet = (origin: string) => `${origin}/.well-known/jwks.json`;

beforeAll(async () => {
  issuer = await startIssuer();
  site = await openSite({
    '/': ({ headers }, response) => {
      seen.push(headers['x-api-key']);
      // The zero byte makes the response binary.
      const body = `you said ${String(headers['x-api-key'])}`;
      response.end(headers['x-binary'] === undefined ? body : `\0${body}`);
    },
  });
  const [frontUrl, workerUrl, ofKeeper] = (await Promise.all([freePort(), freePort(), freePort()])).map(
    (port) => `http://127.0.0.1:${port}`,
  ) as [string, string, string];
  keeperUrl = ofKeeper;
  const port = (url: string) => ({ port: Number(new URL(url).port) });
  reader = await mkdtemp(join(tmpdir(), 'lango-reader-'));
  const { current } = await (await openKeys(reader)).read();
  const readerKeys = join(reader, 'jwks.json');
  await writeFile(readerKeys, JSON.stringify({ keys: [current.publicJwk] }));
  keeper = await startServer({
    settings: {
      server: port(keeperUrl),
      auth: {
        nodes: [
          { name: 'front', jwks: keySet(frontUrl) },
          { name: 'worker', jwks: keySet(workerUrl), may: ['secrets', 'skills'] },
          { name: 'reader', keys: readerKeys, may: ['skills'] },
        ],
      },
      a2a: { baseUrl: keeperUrl, publish: ['vault', 'librarian'] },
      tools: { secrets: { enabled: true }, skills: { enabled: true }, knowledge: { enabled: true } },
    },
  });
  const kept = { url: keeperUrl, allowPrivate: true };
  worker = await startServer({
    settings: {
      server: port(workerUrl),
      auth: { nodes: [{ name: 'front', jwks: keySet(frontUrl) }] },
      a2a: { baseUrl: workerUrl, publish: ['operator'], keptAt: { secrets: kept, skills: kept } },
      egress: { allowPrivate: ['127.0.0.1'] },
      tools: {
        ...{ fs: { enabled: true }, exec: { enabled: true, sandbox: 'required' as const } },
        ...{ http: { enabled: true }, skills: { enabled: true } },
      },
    },
  });
  const at = (name: string, url: string) => ({
    ...{ name, url: `${url}/agents/${name}`, allowPrivate: true, owners: 'forward' as const },
  });
  front = await startServer({
    settings: {
      server: port(frontUrl),
      auth: { mode: 'jwt', jwt: { issuer: issuer.url, audience: [AUDIENCE] } },
      a2a: {
        ...{ enabled: true, publish: ['lango-orchestrator'] },
        remoteAgents: [at('operator', workerUrl), at('vault', keeperUrl), at('librarian', keeperUrl)],
        keptAt: { secrets: kept },
      },
    },
  });
});

afterAll(async () => {
  await front.stop();
  await worker.stop();
  await keeper.stop();
  await site.close();
  await issuer.close();
  await rm(reader, { recursive: true });
});

async function clientOf(sub: string): Promise<AgentClient> {
  return connect({ url: front.address.origin, token: await issuer.token({ sub }) });
}

async function ownerOf(sub: string): Promise<OwnerClient> {
  const authorization = `Bearer ${await issuer.token({ sub })}`;
  const withToken: typeof fetch = (input, init) =>
    fetch(input, { ...init, headers: { ...init?.headers, authorization } });
  return createOwnerClient({ url: front.address.origin, fetch: withToken });
}

/** Everything that was shown to the clients, of all requests. */
const shown: string[] = [];

async function send(client: AgentClient, request: Parameters<AgentClient['send']>[0]) {
  let taskId = '';
  for await (const event of client.send(request, AbortSignal.timeout(100_000))) {
    shown.push(JSON.stringify(event));
    if (event.type === 'task') taskId ||= event.taskId;
    if (event.type === 'end') return { ...event, taskId };
  }
  throw new Error('the stream had no end');
}

/** Sends a request and approves its question. */
async function ask(sub: string, text: string, decision: 'approve' | 'deny' = 'approve'): Promise<string> {
  const client = await clientOf(sub);
  const asked = await send(client, { parts: [textPart(text)] });
  const [question] = asked.questions;
  if (!question) return asked.text;
  shown.push(question.text);
  const done = await send(client, {
    parts: [replyPart({ hash: question.hash, decision })],
    taskId: asked.taskId,
  });
  return done.text;
}

async function keep(sub: Person, places: ('exec' | 'http')[], hosts: string[] = []): Promise<void> {
  const owner = await ownerOf(sub);
  await owner.storeSecret({ name: 'api', value: VALUES[sub], places, hosts, replace: true });
}

const audits = () =>
  keeper.log.lines
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ message, operation }) => message === 'audit' && operation === 'useSecret');

/** The places where a value was found, except for the request that carried it and memory. */
const tracesOf = (value: string) => [
  ...findIn('events', shown.join('\n'), value),
  ...[front, worker, keeper].flatMap(({ log, home }) => [
    ...findIn('log', log.lines.join('\n'), value),
    ...findInFolder(home, value),
  ]),
];

describeSandboxed('a secret of the vault’s node', () => {
  it('is used in commands of the operator’s node, for each owner their own, and its value is shown nowhere', async () => {
    await keep('alice', ['exec']);
    await keep('bob', ['exec']);
    const forms = [
      'printf %s "$T"; printf %s "$T" | base64; printf %s "$T" | od -An -tx1',
      // The two halves arrive in chunks of their own.
      'printf %s "${T%???????}"; sleep 0.3; printf "%s\\n" "${T#"${T%???????}"}"',
      'printf %s "$T" | sha256sum',
    ];
    for (const sub of ['alice', 'bob'] as const) {
      const text = await ask(sub, `run \`${forms.join('; ')}\` with the secret api as T`);
      expect(text).toContain(createHash('sha256').update(VALUES[sub]).digest('hex'));
      expect(text).toContain('{{secret:api}}');
      expect(text).toContain('[secret api, encoded]');
    }
    expect(shown.some((line) => line.includes('with the value of the secret api'))).toBe(true);
    expect(Object.values(VALUES).flatMap(tracesOf)).toEqual([]);
    for (const owner of ['user:alice', 'user:bob'])
      expect(audits()).toContainEqual(
        expect.objectContaining({ owner, by: 'worker', subject: 'api exec', outcome: 'ok' }),
      );
  });

  it('is each owner’s own when two use it at once', async () => {
    const asks = (['alice', 'bob', 'alice', 'bob'] as const).map(async (sub) => {
      const text = await ask(
        sub,
        'run `sleep 0.2; printf %s "$T" | sha256sum; printenv T` with the secret api as T',
      );
      expect(text).toContain(createHash('sha256').update(VALUES[sub]).digest('hex'));
      expect(text).toContain('{{secret:api}}');
    });
    await Promise.all(asks);
    expect(Object.values(VALUES).flatMap(tracesOf)).toEqual([]);
  });

  it('is fetched only after a person approved the command', async () => {
    const before = audits().length;
    await ask('alice', 'run `printenv T` with the secret api as T', 'deny');
    expect(audits()).toHaveLength(before);
  });

  it('is scrubbed from the output of a background command', async () => {
    const command = 'printf %s "${T%?????}"; sleep 1; echo "${T#"${T%?????}"}"; echo "$T" | base64';
    const call = JSON.stringify({ action: 'start', command, env: { T: '{{secret:api}}' } });
    const started = await ask('alice', `call exec_background with ${call}`);
    const id = /"id":"([0-9a-f]{8})"/.exec(started)?.[1] ?? /\bid: ([0-9a-f]{8})/.exec(started)?.[1];
    let text = '';
    for (let round = 0; round < 400 && !text.includes('ended'); round += 1)
      text = await sleep(100).then(() =>
        ask('alice', `call exec_background with {"action":"output","id":"${id}"}`),
      );
    expect(text).toContain('{{secret:api}}');
    expect(text).toContain('[secret api, encoded]');
    expect(tracesOf(VALUES.alice)).toEqual([]);
  });

  it('is scrubbed when a later call reads a file that a command wrote', async () => {
    await ask(
      'alice',
      'run `printenv T > token.txt; printenv T | base64 > token.b64` with the secret api as T',
    );
    for (const reads of ['run cat token.txt', 'read the file token.txt'])
      expect(await ask('alice', reads)).toContain('{{secret:api}}');
    expect(await ask('alice', 'run cat token.b64')).toContain('[secret api, encoded]');
    await ask('alice', 'run rm token.txt token.b64');
    expect(tracesOf(VALUES.alice)).toEqual([]);
  });

  it('is refused for every use that its owner does not permit', async () => {
    await keep('alice', ['http'], ['api.example.com']);
    expect(await ask('alice', 'run `printenv T` with the secret api as T')).toContain(
      'The secret "api" may not be used in commands. Its owner allows that with: lango secrets allow api',
    );
    const there = `request ${site.origin}/ with the secret api as the header X-Api-Key`;
    expect(await ask('alice', there)).toContain('may not be used for 127.0.0.1 (http)');
    expect(await ask('carol', there)).toContain('There is no secret "api"');
    expect(seen).toEqual([]);
    expect(audits()).toContainEqual(
      expect.objectContaining({ by: 'worker', subject: 'api http 127.0.0.1', outcome: 'forbidden' }),
    );
  });

  it('is sent in a header to the host that its owner permits', async () => {
    await keep('alice', ['http'], ['127.0.0.1']);
    const there = `request ${site.origin}/ with the secret api as the header X-Api-Key`;
    expect(await ask('alice', there)).toContain('you said {{secret:api}}');
    expect(seen).toEqual([VALUES.alice]);
    if (existsSync('/usr/bin/curl')) {
      const header = 'X-Api-Key: {{secret:api:http}}';
      const curl = `curl -sS --unix-socket "$LANGO_HTTP" ${site.origin}/ -H "${header}"`;
      expect(await ask('alice', `run \`${curl}; ${curl} -H "X-Binary: 1" | cat -v\``)).toContain(
        'you said {{secret:api}}^@you said {{secret:api}}',
      );
    }
    seen = [];
    expect(tracesOf(VALUES.alice)).toEqual([]);
  });
});

describe('the value of a secret that another node requests', () => {
  const NOW = () => Math.floor(Date.now() / 1_000);
  let key: SigningKey;
  beforeAll(async () => {
    key = (await (await openKeys(worker.home)).read()).current;
    await keep('alice', ['http'], ['api.example.com']);
  });

  const claims = (changes: JsonObject = {}): JsonObject => ({
    iss: `urn:ietf:params:oauth:jwk-thumbprint:sha-256:${key.kid}`,
    ...{ aud: `${keeperUrl}/`, sub: 'user:alice', tenant: '' },
    ...{ jti: crypto.randomUUID(), iat: NOW(), exp: NOW() + 60, ...changes },
  });
  const signed = (changes: JsonObject = {}, typ = 'lango-node+jwt') => signJwt(key, claims(changes), typ);
  const USE = { tool: 'http_request', place: 'http', host: 'api.example.com' };
  const use = async (token: string, change: JsonObject = {}, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${keeperUrl}/lango/secrets/api/use`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ ...USE, ...change }),
    });
    const body = (await answer.json()) as { value?: string };
    return [answer.status, body.value];
  };

  it('is returned to the named node, for one request', async () => {
    const token = signed();
    expect(await use(token)).toEqual([200, VALUES.alice]);
    expect(await use(token)).toEqual([401, undefined]);
    const again = signed();
    const both = await Promise.all([use(again), use(again)]);
    expect(both.map(([status]) => status).sort()).toEqual([200, 401]);
  });

  it.each([
    ['for another audience', 401, () => signed({ aud: `${worker.address.origin}/` })],
    ['that has ended', 401, () => signed({ iat: NOW() - 200, exp: NOW() - 100 })],
    ['that lives for ever', 401, () => signed({ iat: NOW() - 3_600, exp: NOW() + 3_600 })],
    ['of an ordinary kind', 401, () => signed({}, 'JWT')],
    ['without an owner', 401, () => signed({ sub: '' })],
    ['for an owner without it', 404, () => signed({ sub: 'user:carol' })],
    ['for the owner of another tenant', 404, () => signed({ tenant: 'blue' })],
    ['of a foreign key', 401, () => foreign('other')],
    ['of a foreign key under a known name', 401, () => foreign(key.kid)],
    ['whose owner was changed', 401, () => changed(signed({ sub: 'user:carol' }))],
    ['of a node that may do all but this', 403, () => ofAnother(front.home)],
    ['of a node that may fetch skills', 403, () => ofAnother(reader)],
    ['of the node that keeps it', 401, () => ofAnother(keeper.home)],
    ['of a person', 401, () => issuer.token({ sub: 'alice' })],
    ['of the operator of that node', 403, () => keeper.address.token!],
  ])('is refused to a token %s', async (_, status, make) => {
    expect(await use(await make())).toEqual([status, undefined]);
  });

  it.each([
    ['place', 403, { place: 'exec' }],
    ['host', 403, { host: 'evil.example' }],
    ['host that ends alike', 403, { host: 'x.api.example.com' }],
    ['host, none', 403, { host: undefined as never }],
    ['place that is none', 400, { place: 'anywhere' }],
    ['place in a page', 400, { place: 'browser' }],
  ])('is refused for another %s', async (_, status, change) => {
    expect(await use(signed(), change)).toEqual([status, undefined]);
  });

  it('is with the skills the only thing that this node may request', async () => {
    const get = async (path: string, method = 'GET') => {
      const headers = { authorization: `Bearer ${signed()}`, 'lango-owner': 'owner=user%3Aalice' };
      return (await fetch(`${keeperUrl}${path}`, { method, headers })).status;
    };
    for (const path of [
      '/lango/secrets',
      '/lango/data',
      '/lango/agents',
      '/lango/bill',
      '/agents/vault/tasks',
    ])
      expect([path, await get(path)]).toEqual([path, 403]);
    expect(await get('/lango/data', 'DELETE')).toBe(403);
    expect(await get('/lango/secrets/api', 'DELETE')).toBe(403);
    expect(keeper.log.lines.some((line) => line.includes('The node worker may not do this here'))).toBe(true);
    expect(
      keeper.log.lines.some((line) => line.includes('The node reader may not do this here; it may: skills.')),
    ).toBe(true);
  });

  const foreign = (kid: string): string => {
    const { privateKey } = generateKeyPairSync('ed25519');
    const other: SigningKey = {
      ...{ kid, publicJwk: key.publicJwk },
      sign: (bytes) => sign(null, Buffer.from(bytes), privateKey).toString('base64url'),
    };
    return signJwt(other, claims(), 'lango-node+jwt');
  };
  const changed = (token: string): string => {
    const [head, , signature] = token.split('.');
    return `${head}.${Buffer.from(JSON.stringify(claims())).toString('base64url')}.${signature}`;
  };
  const ofAnother = async (home: string): Promise<string> => {
    const own = (await (await openKeys(home)).read()).current;
    const iss = `urn:ietf:params:oauth:jwk-thumbprint:sha-256:${own.kid}`;
    return signJwt(own, claims({ iss }), 'lango-node+jwt');
  };
});

describeSandboxed('a skill on the librarian’s node', () => {
  it('is used on the operator’s node, by its owner alone, in its current version', async () => {
    const files = { 'scripts/hi.sh': '#!/bin/sh\necho from-the-script' };
    const make = (instructions: string, replace: boolean) =>
      `call create_skill with ${JSON.stringify({ name: 'three-words', instructions, files, replace })}`;
    await ask('alice', make('Answer in three words.', false));
    const used = await ask('alice', 'use the skill three-words');
    expect(used).toContain('Answer in three words.');
    const script = /in (\/\S+three-words)/.exec(used)?.[1];
    expect(await ask('alice', `run ${script}/scripts/hi.sh`)).toContain('from-the-script');
    expect(await ask('bob', `run ${script}/scripts/hi.sh`)).not.toContain('from-the-script');
    expect(await ask('bob', 'use the skill three-words')).not.toContain('Answer in');
    await ask('alice', make('Answer in four words.', true));
    expect(await ask('alice', 'use the skill three-words')).toContain('Answer in four words.');
    await (await ownerOf('alice')).forgetData({ kind: 'skills', name: 'three-words' });
    expect(await ask('alice', 'use the skill three-words')).not.toContain('Answer in');
    expect(existsSync(script!)).toBe(false);
  });
});

describeSandboxed('with the vault’s and the librarian’s nodes down', () => {
  it('a call with a secret fails with advice, and a skill that was used before still works', async () => {
    await keep('alice', ['exec']);
    await ask('alice', 'call create_skill with {"name":"stay","instructions":"Stay calm."}');
    expect(await ask('alice', 'use the skill stay')).toContain('Stay calm.');
    await keeper.stop();
    const text = await ask('alice', 'run `printenv T` with the secret api as T');
    expect(text).toContain(`The server that keeps the secrets, ${keeperUrl}, does not respond`);
    expect(text).toContain('Nothing was done. (Call this again in a moment.');
    expect(await ask('alice', 'use the skill stay')).toContain('Stay calm.');
  });
});
