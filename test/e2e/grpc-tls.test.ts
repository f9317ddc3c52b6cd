import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { A2AService } from '@a2a-js/sdk/server/grpc';
import type { ServiceError, ChannelCredentials } from '@grpc/grpc-js';
import { Metadata, credentials, makeGenericClientConstructor, status } from '@grpc/grpc-js';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:http';
import { get } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { json } from 'node:stream/consumers';
import type { SecureVersion } from 'node:tls';
import { connect as connectTls } from 'node:tls';
import { createClient } from '../../src/a2a/client/client.js';
import type { JsonObject } from '../../src/core/json.js';
import { trustCertificate } from '../../src/http/tls.js';
import type { ClientEvent, ServerOptions } from '../../src/index.js';
import { textPart } from '../../src/index.js';
import { request } from '../suites/a2a-operations.js';
import type { Pair } from '../support/certificates.js';
import { callersOf, certificate, writePair } from '../support/certificates.js';
import { ScriptedModel, say as sayText } from '../support/scripted-model.js';
import type { TestServer } from '../support/server.js';
import { withServer } from '../support/server.js';

let folder: string;
let own: Pair;
let authority: Pair;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'lango-grpc-tls-'));
  [own, authority] = [await certificate('server'), await certificate('authority')];
  await writePair(folder, 'ca', authority);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const Connection = makeGenericClientConstructor(A2AService, 'A2AService');

interface CallResult {
  readonly error: ServiceError | null;
  readonly text: string;
}

/** Sends one message to the root agent, as an ordinary gRPC client does. */
function say(server: TestServer, trust: ChannelCredentials): Promise<CallResult> {
  const { grpcPort, token, root } = server.address;
  const client = new Connection(`127.0.0.1:${grpcPort}`, trust);
  const { path: method, requestSerialize, responseDeserialize } = A2AService.sendMessage;
  const metadata = new Metadata();
  if (token) metadata.set('authorization', `Bearer ${token}`);
  const message = { ...request('hello'), tenant: root };
  const deadline = Date.now() + 100_000;
  return new Promise((resolve) => {
    client.makeUnaryRequest(
      method,
      requestSerialize,
      responseDeserialize,
      message,
      metadata,
      { deadline },
      (error, value) => {
        client.close();
        resolve({ error, text: JSON.stringify(value) ?? '' });
      },
    );
  });
}

function trusting({ cert }: Pair, as?: Pair): ChannelCredentials {
  return credentials.createSsl(Buffer.from(cert), as && Buffer.from(as.key), as && Buffer.from(as.cert));
}

type Settings = NonNullable<ServerOptions['settings']>;

const withGrpc = (tls: object, more: Settings = {}): ServerOptions => ({
  settings: { ...more, server: { port: 0, grpc: { enabled: true, port: 0 }, tls } },
});

describe('X5 gRPC over TLS', () => {
  it('uses the certificate of HTTPS, also after its renewal, and refuses plain text', async () => {
    const files = await writePair(folder, 'own', own);
    await withServer(withGrpc(files), async (server) => {
      expect((await say(server, trusting(own))).text).toContain('"task"');
      expect((await say(server, credentials.createInsecure())).error?.code).toBe(status.UNAVAILABLE);
      const next = await certificate('server');
      await writePair(folder, 'own', next);
      await server.reload();
      expect((await say(server, trusting(next))).text).toContain('"task"');
      expect((await say(server, trusting(own))).error?.code).toBe(status.UNAVAILABLE);
    });
  });

  it('authenticates callers by their certificates in mode mtls, and refuses others in the handshake', async () => {
    const files = await writePair(folder, 'mtls', own);
    const { alice, bob, known } = await callersOf(folder, authority);
    const tls = { ...files, ...known, minVersion: 'TLSv1.3' };
    await withServer(withGrpc(tls, { auth: { mode: 'mtls' } }), async (server) => {
      expect(await say(server, trusting(own, alice))).toMatchObject({
        error: null,
        text: expect.stringContaining('"task"') as unknown,
      });
      const strangers = [undefined, await certificate('alice'), bob];
      for (const stranger of strangers)
        expect((await say(server, trusting(own, stranger))).error?.code).toBe(status.UNAVAILABLE);
    });
  });

  it('asks for no client certificate in the other modes', async () => {
    const files = await writePair(folder, 'token', own);
    const tls = { ...files, clientCaFile: path.join(folder, 'ca.pem') };
    await withServer(withGrpc(tls), async (server) =>
      expect((await say(server, trusting(own))).error).toBeNull(),
    );
  });

  it('accepts no TLS version older than the configured one', async () => {
    const files = await writePair(folder, 'new', own);
    await withServer(withGrpc({ ...files, minVersion: 'TLSv1.3' }), async (server) => {
      const shake = (maxVersion: SecureVersion) =>
        new Promise<string | null>((resolve, reject) => {
          const port = server.address.grpcPort!;
          const socket = connectTls({
            port,
            host: '127.0.0.1',
            ca: own.cert,
            maxVersion,
            ALPNProtocols: ['h2'],
          });
          socket.once('error', reject);
          socket.once('secureConnect', () => {
            resolve(socket.getProtocol());
            socket.destroy();
          });
        });
      expect(await shake('TLSv1.3')).toBe('TLSv1.3');
      await expect(shake('TLSv1.2')).rejects.toThrow(/protocol version/);
    });
  });
});

describe('a card that came over plain HTTP', () => {
  /** Sends a text to the agent of a card whose gRPC interfaces `change` writes. */
  async function sendTo(server: TestServer, change: (card: JsonObject, address: string) => void) {
    const { grpcPort, origin, token, root } = server.address;
    const card = (await json(
      await new Promise<IncomingMessage>((resolve) =>
        get(`${origin}/.well-known/agent-card.json`, { ca: own.cert }, resolve),
      ),
    )) as JsonObject;
    const [address] = [`127.0.0.1:${grpcPort}`];
    const one = { url: address, protocolBinding: 'GRPC', protocolVersion: '1.0', tenant: root };
    const whole = { ...card, supportedInterfaces: [one] };
    change(whole, address);
    const front = createServer((_request, response) => response.end(JSON.stringify(whole))).listen(
      0,
      '127.0.0.1',
    );
    await once(front, 'listening');
    const client = createClient({
      url: `http://127.0.0.1:${(front.address() as AddressInfo).port}`,
      token: token!,
      fetch,
      grpc: { addressOf: async (host) => host, trust: trustCertificate(own.cert) },
      retry: { attempts: 0 },
    });
    const events: ClientEvent[] = [];
    const parts = [textPart('hello')];
    for await (const event of client.send({ parts }, AbortSignal.timeout(100_000))) events.push(event);
    front.close();
    front.closeAllConnections();
    return events.at(-1);
  }

  const at = (toUrl: (address: string) => string) => (card: JsonObject, address: string) => {
    const [one] = card['supportedInterfaces'] as [JsonObject];
    Object.assign(one, { url: toUrl(address) });
    Object.assign(card, { capabilities: { streaming: true } });
  };

  it('declares by its extension or by the scheme of the address that gRPC uses TLS', async () => {
    const files = await writePair(folder, 'told', own);
    const model = new ScriptedModel({ orchestrator: [sayText('hello')] });
    await withServer({ ...withGrpc(files), model }, async (server) => {
      const ends = [
        await sendTo(server, () => {}),
        await sendTo(
          server,
          at((address) => `grpcs://${address}`),
        ),
        await sendTo(
          server,
          at((address) => `https://${address}/a2a`),
        ),
        await sendTo(
          server,
          at((address) => `grpc+tls://${address}`),
        ),
        await sendTo(
          server,
          at((address) => address),
        ),
      ];
      const [last, ...secure] = ends.reverse();
      expect(secure).toMatchObject(Array(4).fill({ type: 'end', state: 'completed', text: 'hello' }));
      expect(last).toMatchObject({ type: 'end', state: 'failed' });
    });
  });
});
