import { createServer, type AddressInfo, type Server } from 'node:net';
import { once } from 'node:events';
import { createServer as createHttp2Server, type ServerHttp2Session } from 'node:http2';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { tmpdir } from 'node:os';
import { openRemote } from '../../src/a2a/client/load.js';
import { requestOptions } from '../../src/a2a/client/wire-tasks.js';
import { errorText } from '../../src/core/errors.js';
import { createAddressCheck } from '../../src/http/address-check.js';
import { createEgress } from '../../src/http/egress.js';
import { peerCredential } from '../support/peer-credential.js';
import { RecordingLogger } from '../support/recording-logger.js';
import { openTokenServer, RecordingServer, type Received } from '../support/token-server.js';
import { cardAt } from '../../lab/abuse/stranger.js';

/**
 * Cards and token endpoints that try to divert credentials to `evil`: nothing may arrive there, over HTTP or as bytes
 * of a connection. The credential itself goes only to the servers that the entry names.
 */

const SECRET = 'kept-value-77c1e0a94b';
const TOKEN = 'access-token-5d0b2f8e61';
const ALL = [
  ['bearer', { bearer: SECRET }],
  ['a key in a header', { apiKey: { header: 'X-Api-Key', value: SECRET } }],
  ['a key in the query', { apiKey: { query: 'key', value: SECRET } }],
  ['basic', { basic: { user: 'me', password: SECRET } }],
  ['oauth2', 'oauth2'],
] as const;

let far: RecordingServer;
let evil: RecordingServer;
let issuer: RecordingServer;
/** The bytes that arrived at `sink`, which speaks no protocol. */
let sink: Server;
let bytes = '';
let log: RecordingLogger;

beforeEach(async () => {
  [far, evil] = [await RecordingServer.open(), await RecordingServer.open()];
  issuer = await openTokenServer(() => ({ access_token: TOKEN, token_type: 'bearer', expires_in: 300 }));
  evil.answer = (_, response) => give(response, { access_token: 'of-evil', token_type: 'bearer' });
  bytes = '';
  sink = createServer((socket) => {
    bytes += '(connected)';
    socket.on('data', (chunk) => (bytes += chunk.toString('latin1'))).on('error', () => {});
  });
  await once(sink.listen(0, '0.0.0.0'), 'listening');
  log = new RecordingLogger();
});
afterEach(async () => {
  for (const server of [far, evil, issuer]) await server[Symbol.asyncDispose]();
  sink.close();
});

function give(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

const sinkPort = (): number => (sink.address() as AddressInfo).port;

function credentialOf(given: object | 'oauth2', oauth2: object = {}) {
  const client = { issuer: issuer.url, clientId: 'front', clientSecret: SECRET, ...oauth2 };
  const auth = given === 'oauth2' ? { oauth2: client } : given;
  const settings = {
    // Private addresses are allowed, so that only the rules under test keep data from `evil`.
    egress: { allowPrivate: ['127.0.0.1'] },
    a2a: { remoteAgents: [{ name: 'far', url: far.url, allowPrivate: true, auth }] },
  };
  return peerCredential(settings, tmpdir(), log);
}

/** Loads the card, lists tasks and sends a message, each as often as it may be repeated. Returns the errors as text. */
async function use(credential: ReturnType<typeof credentialOf>, relocate = false): Promise<string> {
  const fetch = createEgress({
    allowPrivate: ['127.0.0.1', 'localhost', '127.0.0.2'],
    timeoutMs: 60_000,
    logger: log,
  });
  const said: string[] = [];
  for (let round = 0; round < 2; round += 1) {
    try {
      const grpc = { addressOf: createAddressCheck(['127.0.0.1', 'localhost', '127.0.0.2']), timeoutMs: 500 };
      const { link } = await openRemote({ url: far.url, credential }, { fetch, grpc, relocate });
      const options = await requestOptions(link, { scope: undefined, signal: AbortSignal.timeout(60_000) });
      await link.transport.getTask({ tenant: '', id: 'x', historyLength: 0 }, options);
    } catch (error) {
      said.push(errorText(error), JSON.stringify(error), String((error as Error).stack));
    }
  }
  return said.join('\n');
}

type Card = Record<string, unknown>;
const jsonRpcAt = (url: string) => ({ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' });
const restAt = (url: string) => ({ url, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' });
const grpcAt = (url: string) => ({ url, protocolBinding: 'GRPC', protocolVersion: '1.0' });
const hostOf = (url: string): string => new URL(url).host;

/** Security schemes that direct the client to a token endpoint. */
const schemesAt = (url: string) => ({
  securitySchemes: {
    code: {
      oauth2SecurityScheme: {
        flows: { clientCredentials: { tokenUrl: `${url}/token`, refreshUrl: `${url}/token`, scopes: {} } },
        oauth2MetadataUrl: `${url}/.well-known/oauth-authorization-server`,
      },
    },
    oidc: { openIdConnectSecurityScheme: { openIdConnectUrl: `${url}/.well-known/openid-configuration` } },
  },
  securityRequirements: [{ schemes: { code: { list: ['all'] } } }, { schemes: { oidc: { list: [] } } }],
});

const CARDS: Readonly<Record<string, () => Card>> = {
  'JSON-RPC elsewhere': () => ({ supportedInterfaces: [jsonRpcAt(evil.url)] }),
  'HTTP+JSON elsewhere': () => ({ supportedInterfaces: [restAt(evil.url)] }),
  'a second interface elsewhere': () => ({ supportedInterfaces: [jsonRpcAt(far.url), restAt(evil.url)] }),
  'the same host by another name': () => ({
    supportedInterfaces: [jsonRpcAt(evil.url.replace('127.0.0.1', 'localhost'))],
  }),
  'an address with a user': () => ({
    supportedInterfaces: [jsonRpcAt(`http://${hostOf(far.url)}@${hostOf(evil.url)}`)],
  }),
  'an address with a backslash': () => ({
    supportedInterfaces: [jsonRpcAt(`http://${hostOf(evil.url)}\\@${hostOf(far.url)}`)],
  }),
  'a relative address': () => ({ supportedInterfaces: [jsonRpcAt(`//${hostOf(evil.url)}/`)] }),
  'another scheme in capitals': () => ({
    supportedInterfaces: [jsonRpcAt(evil.url.replace('http', 'HTTP'))],
  }),
  'gRPC on another address': () => ({ supportedInterfaces: [grpcAt(`127.0.0.2:${sinkPort()}`)] }),
  'gRPC on another name': () => ({ supportedInterfaces: [grpcAt(`localhost:${sinkPort()}`)] }),
  'gRPC by a resolver': () => ({ supportedInterfaces: [grpcAt(`dns://127.0.0.2/127.0.0.2:${sinkPort()}`)] }),
  'gRPC on a socket': () => ({ supportedInterfaces: [grpcAt('unix:/tmp/evil.sock')] }),
  'gRPC with a user': () => ({ supportedInterfaces: [grpcAt(`http://127.0.0.1@127.0.0.2:${sinkPort()}`)] }),
  'an unknown binding elsewhere': () => ({
    supportedInterfaces: [
      { url: evil.url, protocolBinding: 'urn:evil', protocolVersion: '1.0' },
      jsonRpcAt(far.url),
    ],
  }),
  'a tenant that leaves': () => ({
    supportedInterfaces: [{ ...restAt(far.url), tenant: `../..//${hostOf(evil.url)}` }],
  }),
  'schemes that name a token endpoint': () => schemesAt(evil.url),
  'a metadata address': () => ({ ...schemesAt(evil.url), documentationUrl: evil.url, iconUrl: evil.url }),
  'a key set in a signature': () => ({
    signatures: [
      {
        protected: Buffer.from(JSON.stringify({ alg: 'ES256', kid: 'k', jku: `${evil.url}/jwks` })).toString(
          'base64url',
        ),
        signature: 'AA',
      },
    ],
  }),
  'version 0.3 elsewhere': () => ({
    supportedInterfaces: undefined,
    ...{ url: evil.url, preferredTransport: 'JSONRPC', protocolVersion: '0.3.0' },
  }),
  'version 0.3 with a further interface elsewhere': () => ({
    supportedInterfaces: undefined,
    ...{ url: far.url, preferredTransport: 'JSONRPC', protocolVersion: '0.3.0' },
    additionalInterfaces: [{ url: evil.url, transport: 'HTTP+JSON' }],
  }),
};

/** The credential that a request carried. */
const credentialIn = (headers: Received['headers'], url: string): string =>
  String(headers.authorization ?? headers['x-api-key'] ?? url).replace(/^Bearer |^Basic /, '');

/** The responses of the server besides its card. */
const ANSWERS: Readonly<Record<string, (request: Received, response: ServerResponse) => void>> = {
  'redirects its card': (_, response) => void response.writeHead(302, { location: evil.url }).end(),
  'redirects its card for good': (_, response) =>
    void response.writeHead(308, { location: `${evil.url}/.well-known/agent-card.json` }).end(),
  'redirects calls with their body': ({ method }, response) => {
    if (method === 'GET') give(response, cardAt(far.url));
    else response.writeHead(307, { location: evil.url }).end();
  },
  'refuses and names a resource server elsewhere': (_, response) => {
    const parameters = `resource_metadata="${evil.url}/meta", authorization_uri="${evil.url}/authorize"`;
    response.writeHead(401, { 'www-authenticate': `Bearer realm="x", ${parameters}` }).end();
  },
  'refuses and repeats what it was sent': ({ headers, url }, response) => {
    const said = `${String(headers.authorization)} ${String(headers['x-api-key'])} ${url}`;
    response.writeHead(401, { 'www-authenticate': `Bearer error_description="${said}"` }).end();
  },
  'repeats what it was sent at the end of a long challenge': ({ headers, url }, response) => {
    const said = `${'x'.repeat(180)} ${credentialIn(headers, url)}`;
    response.writeHead(401, { 'www-authenticate': `Bearer error_description="${said}"` }).end();
  },
  'repeats what it was sent at the end of a long reason': ({ headers, url, method }, response) => {
    if (method === 'GET') return give(response, cardAt(far.url));
    const message = `${'x'.repeat(280)} ${credentialIn(headers, url)}`;
    response
      .writeHead(403, { 'content-type': 'application/json' })
      .end(JSON.stringify({ error: { message } }));
  },
  'repeats what it was sent as an error of the protocol': ({ headers, url, method }, response) => {
    if (method === 'GET') return give(response, cardAt(far.url));
    give(response, { jsonrpc: '2.0', id: 1, error: { code: -32603, message: credentialIn(headers, url) } });
  },
  'repeats what it was sent as a failure of its own': ({ headers, url }, response) =>
    void response.writeHead(500, credentialIn(headers, url)).end(credentialIn(headers, url)),
  'cuts the connection': (_, response) => void response.destroy(),
  'answers with megabytes': (_, response) => void response.end('x'.repeat(20_000_000)),
  'sends the client elsewhere by headers': (_, response) => {
    response.setHeader('link', `<${evil.url}>; rel="canonical"`);
    response.setHeader('content-location', evil.url);
    response.setHeader('refresh', `0; url=${evil.url}`);
    give(response, cardAt(far.url));
  },
  'is well at first': ({ method }, response) => {
    const isFirst = far.received.filter((request) => request.method === method).length === 1;
    give(response, {
      ...cardAt(far.url),
      ...(isFirst ? {} : { supportedInterfaces: [jsonRpcAt(evil.url)] }),
    });
  },
};

describe.each(ALL)('the credential %s', (_, auth) => {
  const hasLeaked = (said: string): readonly unknown[] => [
    evil.received.map(({ method, url }) => `${method} ${url}`),
    bytes,
    // A part of a value has leaked too.
    [SECRET, TOKEN, btoa(`me:${SECRET}`)].filter((value) =>
      `${said}\n${log.lines.join('\n')}`.includes(value.slice(0, 12)),
    ),
  ];

  it.each(Object.keys(CARDS))('goes to no other server when a card has %s', async (name) => {
    for (const relocate of [false, true]) {
      far.answer = ({ method }, response) =>
        method === 'GET' && far.received.length > 0
          ? give(response, { ...cardAt(far.url), ...CARDS[name]!() })
          : void response.writeHead(404).end();
      expect(hasLeaked(await use(credentialOf(auth), relocate && !name.includes('gRPC')))).toEqual([
        [],
        '',
        [],
      ]);
    }
  });

  it.each(Object.keys(ANSWERS))('goes to no other server when a server %s', async (name) => {
    far.answer = ANSWERS[name]!;
    const said = await use(credentialOf(auth));
    expect(hasLeaked(said)).toEqual([[], '', []]);
    expect(far.received.length).toBeGreaterThan(0);
  });

  it('goes to no other server when a server repeats it in an error of gRPC', async () => {
    const shown: unknown[] = [];
    const sessions: ServerHttp2Session[] = [];
    const rpc = createHttp2Server().on('session', (session) => sessions.push(session));
    rpc.on('stream', (stream, headers) => {
      const said = headers.authorization ?? String(headers['x-api-key']);
      shown.push(said);
      const status = { 'grpc-status': '13', 'grpc-message': said };
      stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...status }, { endStream: true });
    });
    await once(rpc.listen(0, '127.0.0.1'), 'listening');
    const address = `127.0.0.1:${(rpc.address() as AddressInfo).port}`;
    far.answer = (_request, response) =>
      give(response, { ...cardAt(far.url), supportedInterfaces: [grpcAt(address)] });
    expect(hasLeaked(await use(credentialOf(auth)))).toEqual([[], '', []]);
    // A key in the query is never sent over gRPC.
    const isInQuery = JSON.stringify(auth).includes('query');
    expect(shown.join()).toMatch(isInQuery ? /^$/ : new RegExp(`${SECRET}|${TOKEN}|${btoa(`me:${SECRET}`)}`));
    for (const session of sessions) session.destroy();
    rpc.close();
  });
});

type TokenAnswer = (request: Received, response: ServerResponse) => void;
const metadata = (more: object) => (response: ServerResponse) =>
  give(response, { issuer: issuer.url, token_endpoint: `${issuer.url}/token`, ...more });
const atToken =
  (answer: TokenAnswer): TokenAnswer =>
  (request, response) =>
    request.url === '/token' ? answer(request, response) : metadata({})(response);
const token = (more: object) => (_: Received, response: ServerResponse) =>
  give(response, { access_token: TOKEN, token_type: 'bearer', expires_in: 300, ...more });

/** Issuers that return no usable token. */
const ENDPOINTS: Readonly<Record<string, TokenAnswer>> = {
  'names a token endpoint elsewhere': (_, response) =>
    metadata({ token_endpoint: `${evil.url}/token` })(response),
  'names no token endpoint': (_, response) => metadata({ token_endpoint: undefined })(response),
  'calls itself another issuer': (_, response) => metadata({ issuer: evil.url })(response),
  'redirects its metadata': (_, response) => void response.writeHead(302, { location: evil.url }).end(),
  'redirects the request for a token': atToken(
    (_, response) => void response.writeHead(307, { location: `${evil.url}/token` }).end(),
  ),
  'redirects it as a page': atToken(
    (_, response) => void response.writeHead(303, { location: `${evil.url}/token` }).end(),
  ),
  'gives a token with a line break': atToken(token({ access_token: 'a\r\nx-evil: 1' })),
  'gives a token that is no text': atToken(token({ access_token: 7 })),
  'gives an empty token': atToken(token({ access_token: '' })),
  'gives a token of 20 KB': atToken(token({ access_token: 'a'.repeat(20_000) })),
  'gives a token of another type': atToken(token({ token_type: 'mac' })),
  'gives a token that has ended': atToken(token({ expires_in: -5 })),
  'gives a token with a life in words': atToken(token({ expires_in: 'long' })),
  'answers with megabytes': atToken((_, response) => give(response, { access_token: 'a'.repeat(2_000_000) })),
  'answers with a page': atToken(
    (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end(`<p>${SECRET}`),
  ),
  'answers with no JSON': atToken(
    (_, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end(`{${SECRET}`),
  ),
  'repeats what it was sent': atToken(({ headers, body }, response) => {
    const said = `${String(headers.authorization)} ${body} ${SECRET}`;
    response.writeHead(400, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: 'invalid_client', error_description: said, error_uri: evil.url }));
  }),
  'refuses in words of its own': atToken((_, response) => {
    response
      .writeHead(400, { 'content-type': 'application/json' })
      .end(JSON.stringify({ error: `${SECRET}\u001b[2J` }));
  }),
  'challenges the client': atToken((_, response) => {
    response.writeHead(401, { 'www-authenticate': `Basic realm="${SECRET}"` }).end();
  }),
  'cuts the connection': atToken((_, response) => void response.destroy()),
};

describe.each(['header', 'body'] as const)('an issuer of a client whose secret is in the %s', (secretIn) => {
  it.each(Object.keys(ENDPOINTS))(
    'gets nothing more when it %s, and nothing of the secret is shown',
    async (name) => {
      issuer.answer = ENDPOINTS[name]!;
      far.answer = ({ method }, response) =>
        method === 'GET' ? give(response, cardAt(far.url)) : give(response, {});
      const said = await use(credentialOf('oauth2', { secretIn }));
      expect(evil.received).toEqual([]);
      expect(far.received).toEqual([]);
      const shown = `${said}\n${log.lines.join('\n')}`;
      expect(
        [SECRET, encodeURIComponent(btoa(SECRET)), '\u001b'].filter((one) => shown.includes(one)),
      ).toEqual([]);
      expect(said).not.toBe('');
    },
  );
});
