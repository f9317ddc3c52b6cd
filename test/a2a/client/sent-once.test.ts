import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import * as http2 from 'node:http2';
import type { AddressInfo } from 'node:net';
import { createClient } from '../../../src/a2a/client/client.js';
import { silentLogger } from '../../../src/core/logger.js';
import { textPart } from '../../../src/core/message.js';
import { createAddressCheck } from '../../../src/http/address-check.js';
import { createEgress } from '../../../src/http/egress.js';
import { ask, collect } from '../../suites/peer.js';
import { cardJson, startStockServer } from './stock-server.js';
import { loadPeers } from './load-peers.js';

/** A message may be carried out although its response says nothing, so it is sent once to agents that do not recognize a repeat. */

const LOOPBACK = ['127.0.0.1'];
const egress = createEgress({ allowPrivate: LOOPBACK, timeoutMs: 60_000, logger: silentLogger });
const grpc = { addressOf: createAddressCheck(LOOPBACK) };
const retry = { attempts: 3, firstDelayMs: 5, pollMs: 5 };
const never = new AbortController().signal;

const closing: (() => Promise<unknown>)[] = [];
afterEach(() => Promise.all(closing.splice(0).map((close) => close())));

const BINDINGS = ['JSONRPC', 'HTTP+JSON', 'GRPC'] as const;
const VERSIONS = ['1.0', '0.3'] as const;
const ENDS = {
  'ends without an event': { bytes: 0, isCut: false },
  'ends in the middle of its first event': { bytes: 3, isCut: false },
  'is cut after its first byte': { bytes: 1, isCut: true },
} as const;
type End = (typeof ENDS)[keyof typeof ENDS];

interface Sent {
  /** The origin of the card. */
  readonly origin: string;
  /** The requests besides those for the card. */
  readonly requests: string[];
}

const CUT_AFTER_MS = 20;

function endOverHttp(response: ServerResponse, { bytes, isCut }: End, type: string): void {
  response.writeHead(200, { 'content-type': type }).flushHeaders();
  response.write('data: {}'.slice(0, bytes));
  if (isCut) setTimeout(() => response.destroy(), CUT_AFTER_MS);
  else response.end();
}

async function startGrpc(requests: string[], { bytes, isCut }: End): Promise<string> {
  const server = http2.createServer();
  const sessions = new Set<http2.ServerHttp2Session>();
  server.on('session', (session) => sessions.add(session));
  server.on('stream', (stream, headers) => {
    requests.push(String(headers[':path']));
    stream.on('error', () => {});
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.write(Buffer.alloc(bytes));
    if (isCut) setTimeout(() => stream.session?.destroy(), CUT_AFTER_MS);
    else stream.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(async () => {
    sessions.forEach((session) => session.destroy());
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface Kind {
  readonly binding: (typeof BINDINGS)[number];
  readonly version: (typeof VERSIONS)[number];
  readonly streaming: boolean;
}

async function start({ binding, version, streaming }: Kind, end: End): Promise<Sent> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    if (request.url?.includes('well-known')) return void response.end(JSON.stringify(card));
    requests.push(`${request.method} ${request.url}`);
    request.resume().on('end', () => {
      endOverHttp(response, end, streaming ? 'text/event-stream' : 'application/json');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(async () => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const url = binding === 'GRPC' ? await startGrpc(requests, end) : `${origin}/at`;
  const place =
    version === '1.0'
      ? { supportedInterfaces: [{ url, protocolBinding: binding, protocolVersion: version }] }
      : { supportedInterfaces: undefined, protocolVersion: '0.3.0', url, preferredTransport: binding };
  const card = cardJson(origin, { json: { ...place, capabilities: { streaming } } });
  return { origin, requests };
}

const kinds = VERSIONS.flatMap((version) =>
  BINDINGS.flatMap((binding) => [true, false].map((streaming): Kind => ({ version, binding, streaming }))),
);

describe.each(Object.keys(ENDS) as (keyof typeof ENDS)[])('a message whose response %s', (end) => {
  it.each(kinds)('is sent once: A2A $version over $binding, streaming: $streaming', async (kind) => {
    const server = await start(kind, ENDS[end]);
    const sources = [{ kind: 'remote', url: server.origin } as const];
    const { peers, skipped } = await loadPeers(sources, {
      fetch: egress,
      grpc,
      retry,
    });
    expect(skipped).toEqual([]);
    const delegated = await collect(peers[0]!.send(ask('x'), never));
    expect(delegated.end).toMatchObject({
      state: 'failed',
      text: expect.stringContaining('outcome') as unknown,
    });
    expect(server.requests).toHaveLength(1);

    const client = createClient({ url: server.origin, fetch: egress, grpc, retry });
    const events = [];
    for await (const event of client.send({ parts: [textPart('x')] }, never)) events.push(event);
    expect(events).toMatchObject([
      { type: 'end', state: 'failed', text: expect.stringContaining('outcome') as unknown },
    ]);
    expect(server.requests).toHaveLength(2);
  });
});

describe('a stock agent that ends without an event', () => {
  it.each(['JSONRPC', 'HTTP+JSON'])('executes a message once, over %s', async (binding) => {
    const server = await startStockServer({ bindings: [binding] });
    closing.push(() => server.close());
    let executions = 0;
    server.executor.execute = async (_context, bus) => {
      executions += 1;
      bus.finished();
    };
    const sources = [{ kind: 'remote', url: server.origin } as const];
    const { peers } = await loadPeers(sources, { fetch: egress, retry });
    const { end } = await collect(peers[0]!.send(ask('x'), never));
    expect(end).toMatchObject({ state: 'failed', text: expect.stringContaining('outcome') as unknown });
    expect(executions).toBe(1);
  });
});
