import { createOwnerClient } from '../support/owner-client.js';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createLocalJWKSet, exportJWK, jwtVerify } from 'jose';
import { openRemote } from '../../src/a2a/client/load.js';
import type { Binding } from '../../src/a2a/client/link.js';
import { requestOptions } from '../../src/a2a/client/wire-tasks.js';
import { silentLogger } from '../../src/core/logger.js';
import type { ServerTrust } from '../../src/core/http.js';
import { createAddressCheck } from '../../src/http/address-check.js';
import { createEgress } from '../../src/http/egress.js';
import { clientCertificate } from '../../src/http/tls.js';
import { callersOf, certificate, writePair } from '../support/certificates.js';
import { peerCredential } from '../support/peer-credential.js';
import { AUDIENCE, startIssuer, type Issuer } from '../support/issuer.js';
import { ScriptedModel, ask, call, resultsIn, say } from '../support/scripted-model.js';
import { sendText, startServer, withServer, type TestServer } from '../support/server.js';
import { openTokenServer, RecordingServer, tokenRequests } from '../support/token-server.js';
import { cardAt } from '../../lab/abuse/stranger.js';

const SECRET = 'clientSecret5xq81kd03';
let issuer: Issuer;
let node: TestServer;
let folder: string;
const open: AsyncDisposable[] = [];

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'lango-credentials-'));
  issuer = await startIssuer();
});
// A node slows an address down after failures, so each test has its own address.
beforeEach(async () => {
  node = await startServer({
    settings: {
      server: { port: 0, grpc: { enabled: true, port: 0 } },
      auth: { mode: 'jwt', jwt: { issuer: issuer.url, audience: [AUDIENCE] } },
    },
  });
});
afterAll(async () => {
  await issuer.close();
  await rm(folder, { recursive: true, force: true });
});
afterEach(async () => {
  await node.stop();
  for (const one of open.splice(0)) await one[Symbol.asyncDispose]();
});

/** An issuer whose first tokens are those of `tokens`, and whose later ones are good. */
async function tokens(...first: string[]): Promise<RecordingServer> {
  const server = await openTokenServer(async () => ({
    access_token: first.shift() ?? (await issuer.token({ sub: 'front' })),
    token_type: 'Bearer',
    expires_in: 300,
  }));
  open.push(server);
  return server;
}

function oauthOf(server: RecordingServer, more: object = {}) {
  return { oauth2: { issuer: server.url, clientId: 'front', clientSecret: SECRET, ...more } };
}

/** The credential of an entry, as a node makes it. */
function credentialOf(url: string, auth: object) {
  const entry = { name: 'far', url, allowPrivate: true, auth };
  return peerCredential({ a2a: { remoteAgents: [entry] } }, folder);
}

interface Connecting {
  readonly binding?: Binding;
  readonly trust?: () => Promise<ServerTrust>;
}

async function linkTo(url: string, auth: object, { binding, trust }: Connecting = {}) {
  const fetch = createEgress({
    ...{ allowPrivate: ['127.0.0.1'], timeoutMs: 60_000, trust: await trust?.() },
    logger: silentLogger,
  });
  const { link } = await openRemote(
    { url, credential: credentialOf(url, auth) },
    { fetch, grpc: { addressOf: createAddressCheck(['127.0.0.1']), trust }, binding },
  );
  const list = async () => {
    const query = { tenant: '', contextId: '', status: 0, pageToken: '', statusTimestampAfter: undefined };
    const options = await requestOptions(link, { scope: undefined, signal: AbortSignal.timeout(100_000) });
    return link.transport.listTasks({ ...query, pageSize: 1, historyLength: 0 }, options);
  };
  const send = async () => {
    const message = { messageId: `m-${Math.random()}`, role: 1, parts: [], contextId: '', taskId: '' };
    const part = { content: { $case: 'text', value: 'hello' }, mediaType: 'text/plain', filename: '' };
    const request = {
      tenant: '',
      message: { ...message, parts: [part], extensions: [], referenceTaskIds: [] },
    };
    const options = await requestOptions(link, { scope: undefined, signal: AbortSignal.timeout(100_000) });
    const events = [];
    for await (const event of link.transport.sendMessageStream(request as never, options)) events.push(event);
    return events.length;
  };
  return { list, send };
}

describe.each(['JSONRPC', 'HTTP+JSON', 'GRPC'] as const)('OAuth2 client credentials over %s', (binding) => {
  it('request one token for many concurrent callers, and keep it', async () => {
    const server = await tokens();
    const { list, send } = await linkTo(`${node.address.origin}/agents/lango-orchestrator`, oauthOf(server), {
      binding,
    });
    await Promise.all(Array.from({ length: 50 }, list));
    expect(await send()).toBeGreaterThan(1);
    expect(tokenRequests(server)).toHaveLength(1);
    const [asked] = tokenRequests(server);
    expect(asked!.headers.authorization).toBe(`Basic ${btoa(`front:${SECRET}`)}`);
  });

  it('request one more token when the server refuses the first, for calls and for streams', async () => {
    const expired = await issuer.token({ sub: 'front' }, { expires: 1 });
    const server = await tokens(expired);
    const url = `${node.address.origin}/agents/lango-orchestrator`;
    const { list } = await linkTo(url, oauthOf(server), { binding });
    await Promise.all(Array.from({ length: 8 }, list));
    expect(tokenRequests(server)).toHaveLength(2);
    const later = await tokens(expired);
    const stream = await linkTo(url, oauthOf(later), { binding });
    expect(await stream.send()).toBeGreaterThan(1);
    expect(tokenRequests(later)).toHaveLength(2);
  });

  it('do not request token after token for a server that refuses every token', async () => {
    const server = await openTokenServer(() => ({
      access_token: 'not-good',
      token_type: 'bearer',
      expires_in: 300,
    }));
    open.push(server);
    const { list } = await linkTo(`${node.address.origin}/agents/lango-orchestrator`, oauthOf(server), {
      binding,
    });
    for (let call = 0; call < 4; call += 1)
      await expect(list()).rejects.toMatchObject({ code: 'unauthenticated' });
    expect(tokenRequests(server)).toHaveLength(2);
  });
});

it.each(['key-1', undefined])(
  'OAuth2 client credentials may be an assertion that is signed with a private key for the issuer: key id %s',
  async (keyId) => {
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const file = path.join(folder, 'client.pem');
    await writeFile(file, pair.privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
    const keys = createLocalJWKSet({ keys: [{ ...(await exportJWK(pair.publicKey)), kid: 'key-1' }] });
    const server = await openTokenServer(async (form) => {
      const assertion = form.get('client_assertion') ?? '';
      const { payload, protectedHeader } = await jwtVerify(assertion, keys, { audience: server.url });
      expect(protectedHeader.kid).toBe(keyId);
      expect(payload).toMatchObject({ iss: 'front', sub: 'front' });
      expect([form.get('scope'), form.get('audience')]).toEqual(['use more', 'agents']);
      return { access_token: await issuer.token({ sub: 'front' }), token_type: 'bearer' };
    });
    open.push(server);
    const client = { issuer: server.url, clientId: 'front', privateKeyFile: file, ...(keyId && { keyId }) };
    const auth = { oauth2: { ...client, scopes: ['use', 'more'], audience: 'agents' } };
    const { list } = await linkTo(`${node.address.origin}/agents/lango-orchestrator`, auth);
    await list();
    expect(tokenRequests(server)[0]!.body).not.toContain('client_secret');
  },
);

it('OAuth2 client credentials work with the metadata of RFC 8414 alone, and send an id with hyphens unchanged', async () => {
  const server = await tokens();
  const { answer } = server;
  server.answer = (request, response) =>
    request.url.endsWith('/openid-configuration')
      ? void response.writeHead(404).end()
      : answer(request, response);
  const auth = oauthOf(server, { clientId: 'front-end_1.a' });
  const { list } = await linkTo(`${node.address.origin}/agents/lango-orchestrator`, auth);
  await list();
  expect(tokenRequests(server)[0]!.headers.authorization).toBe(`Basic ${btoa(`front-end_1.a:${SECRET}`)}`);
});

describe('a whole server with a credential for a remote agent', () => {
  const KINDS: readonly (readonly [string, { auth: object; headers?: object; query?: string }])[] = [
    ['bearer', { auth: { bearer: 'v-8a6f20' }, headers: { authorization: 'Bearer v-8a6f20' } }],
    [
      'apiKey in a header',
      { auth: { apiKey: { header: 'X-Api-Key', value: 'v-8a6f20' } }, headers: { 'x-api-key': 'v-8a6f20' } },
    ],
    [
      'apiKey in the query',
      { auth: { apiKey: { query: 'key', value: 'v-8a6f20' } }, query: '?key=v-8a6f20' },
    ],
    [
      'basic',
      {
        auth: { basic: { user: 'me', password: 'a b' } },
        headers: { authorization: `Basic ${btoa('me:a b')}` },
      },
    ],
  ];

  it.each(KINDS)('sends %s to the remote agent', async (_, { auth, headers = {}, query = '' }) => {
    const far = await RecordingServer.open();
    open.push(far);
    far.answer = ({ method }, response) => {
      if (method === 'GET') return response.end(JSON.stringify(cardAt(far.url)));
      return response.writeHead(403).end();
    };
    await delegateTo({ name: 'far', url: far.url, allowPrivate: true, auth });
    const [card, sent] = [far.received[0]!, far.received.find(({ method }) => method === 'POST')!];
    for (const { headers: shown, url } of [card, sent]) {
      expect(shown).toMatchObject(headers);
      expect(url.endsWith(query)).toBe(true);
    }
  });

  it('delegates to a server with a token of its issuer, and hides the token in its log', async () => {
    const server = await tokens();
    const { answer, log } = await delegateTo({
      name: 'far',
      url: `${node.address.origin}/agents/lango-orchestrator`,
      ...{ allowPrivate: true, auth: oauthOf(server) },
    });
    expect(answer).toMatch(/\S/);
    expect(answer).not.toMatch(/failed|no agent/);
    expect(tokenRequests(server)).toHaveLength(1);
    expect(log).not.toContain(SECRET);
  });

  it('reports plainly that a card requires what its entry lacks, and sends nothing to the address on the card', async () => {
    const far = await RecordingServer.open();
    open.push(far);
    const scheme = (url: string) => ({ apiKeySecurityScheme: { location: 'header', name: 'X-Key' }, url });
    far.answer = (_, response) =>
      void response.end(
        JSON.stringify({
          ...cardAt(far.url),
          securitySchemes: { key: scheme(far.url) },
          securityRequirements: [{ schemes: { key: { list: [] } } }],
        }),
      );
    const state = async (auth?: object) => {
      const entry = { name: 'far', url: far.url, allowPrivate: true, ...(auth && { auth }) };
      const settings = { a2a: { enabled: true, remoteAgents: [entry] } };
      const server = await startServer({ settings });
      try {
        await server.log.saying('"agent":"far"');
        const { peers } = (await (await server.fetch('/lango/agents')).json()) as {
          peers: { name: string }[];
        };
        return peers.find(({ name }) => name === 'far');
      } finally {
        await server.stop();
      }
    };
    expect(await state()).toMatchObject({
      state: 'degraded',
      reason:
        'Its card requires an API key in the header X-Key; its entry in a2a.remoteAgents has no credential.',
      hint: 'Set auth in its entry of a2a.remoteAgents.',
    });
    expect(await state({ bearer: 'abcdef' })).toMatchObject({ state: 'degraded' });
    expect(await state({ apiKey: { header: 'x-key', value: 'abcdef' } })).toMatchObject({ state: 'ready' });
  });

  it('uses a value from the vault that its owner permits', async () => {
    const far = await RecordingServer.open();
    open.push(far);
    far.answer = (_, response) => void response.end(JSON.stringify(cardAt(far.url)));
    const auth = { apiKey: { header: 'X-Key', value: '{{secret:far}}' } };
    const settings = {
      tools: { secrets: { enabled: true } },
      a2a: {
        enabled: true,
        refreshSeconds: 0.2,
        remoteAgents: [{ name: 'far', url: far.url, allowPrivate: true, auth }],
      },
    };
    await withServer({ settings }, async (server) => {
      await server.log.saying('There is no secret');
      expect(far.received).toEqual([]);
      const owner = createOwnerClient({ url: server.address.origin, fetch: authorized(server) });
      await owner.storeSecret({
        name: 'far',
        value: 'from-the-vault',
        places: ['http'],
        hosts: ['127.0.0.1'],
      } as never);
      await server.log.saying('"agent joined","agent":"far"');
      expect(far.received[0]!.headers).toMatchObject({ 'x-key': 'from-the-vault' });
      expect(server.log.lines.join('\n')).not.toContain('from-the-vault');
    });
  });
});

describe('a client certificate', () => {
  it('is presented over HTTP and gRPC, and read again when its files change', async () => {
    const authority = await certificate('authority');
    const { alice, known } = await callersOf(folder, authority);
    const server = await writePair(folder, 'server', await certificate('server', authority));
    const files = await writePair(folder, 'alice', alice);
    const strict = await startServer({
      settings: {
        server: { port: 0, tls: { ...server, ...known }, grpc: { enabled: true, port: 0 } },
        auth: { mode: 'mtls' },
      },
    });
    try {
      const mtls = { ...files, caFile: known.clientCaFile };
      const url = `${strict.address.origin}/agents/lango-orchestrator`;
      const trust = clientCertificate(mtls);
      for (const binding of ['JSONRPC', 'HTTP+JSON', 'GRPC'] as const) {
        const { list } = await linkTo(url, { mtls }, { binding, trust });
        expect(await list()).toMatchObject({ tasks: [] });
      }
      const entry = { name: 'far', url, allowPrivate: true, auth: { mtls } };
      const settings = { a2a: { enabled: true, refreshSeconds: 0.2, remoteAgents: [entry] } };
      await withServer({ settings }, async ({ log }) => {
        await log.saying('"agent joined","agent":"far"');
        await rm(files.keyFile);
        await log.saying('The client certificate or its key cannot be read.');
        log.lines.length = 0;
        await writePair(folder, 'alice', alice);
        await log.saying('"agent joined","agent":"far"');
      });
    } finally {
      await strict.stop();
    }
  });
});

function authorized(server: TestServer): typeof fetch {
  const authorization = `Bearer ${server.address.token}`;
  return (input, init) => fetch(input, { ...init, headers: { ...init?.headers, authorization } });
}

/** The delegation result that the orchestrator of a whole server got from the remote agent of this entry. */
async function delegateTo(entry: { readonly name: string } & Record<string, unknown>) {
  const model = new ScriptedModel({ orchestrator: [call(ask('far', 'list the files')), say('Done.')] });
  const settings = { a2a: { enabled: true, remoteAgents: [entry] } } as never;
  const server = await startServer({ model, settings });
  try {
    await server.log.saying('"agent":"far"');
    await sendText(server, 'ask it');
    const answer = resultsIn(model.asked('orchestrator')[1]).join('\n');
    return { answer, log: server.log.lines.join('\n') };
  } finally {
    await server.stop();
  }
}
