import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { startOldServer } from '../a2a/client/old-server.js';
import { describeWith, startPeer } from '../interop/framework.js';
import { langoHere } from './lango-here.js';

const REFUSAL = 'This agent takes questions about tea only.';

const stops: (() => Promise<void>)[] = [];
afterEach(async () => void (await Promise.all(stops.splice(0).map((stop) => stop()))));

/** Responds like a server of A2A 0.3 that refuses every message and cannot list tasks. */
async function answer(request: IncomingMessage, response: ServerResponse, card: object): Promise<void> {
  if (request.url === '/.well-known/agent-card.json') return void response.end(JSON.stringify(card));
  const { method } = (await json(request).catch(() => ({}))) as { readonly method?: string };
  const isSend = request.url === '/v1/message:send';
  const error =
    isSend || method === 'message/send'
      ? { code: -32602, message: REFUSAL }
      : { code: -32601, message: `Method not found: ${method}` };
  response.writeHead(request.url === '/' ? 200 : isSend ? 400 : 404, { 'content-type': 'application/json' });
  response.end(JSON.stringify(request.url === '/' ? { jsonrpc: '2.0', id: 1, error } : error));
}

it.each(['JSONRPC', 'HTTP+JSON'])(
  'lango send shows the reason when a server of A2A 0.3 refuses and cannot list tasks, over %s',
  async (preferredTransport) => {
    const server = createServer((request, response) => {
      const url = `http://${request.headers.host}/`;
      const modes = { defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] };
      const card = { name: 'tea', description: 'Tea.', version: '1', protocolVersion: '0.3.0', ...modes };
      void answer(request, response, { ...card, url, preferredTransport, capabilities: {}, skills: [] });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { code, stderr } = await langoHere(['send', '--url', url, 'hello']);
    server.closeAllConnections();
    server.close();
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(REFUSAL) });
  },
);

it('lango send says that the outcome is unknown, and sends once, when every response of the server is cut', async () => {
  let sends = 0;
  const server = createServer((request, response) => {
    const url = `http://${request.headers.host}/`;
    const modes = { defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] };
    const card = { name: 'tea', description: 'Tea.', version: '1', protocolVersion: '0.3.0', ...modes };
    if (request.method === 'GET')
      return void response.end(JSON.stringify({ ...card, url, capabilities: {}, skills: [] }));
    sends += 1;
    response.socket?.destroy();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { code, stderr } = await langoHere(['send', '--url', url, 'hello']);
  server.close();
  expect({ code, stderr, sends }).toEqual({
    ...{ code: 1, sends: 1 },
    stderr: expect.stringContaining('outcome of the request is unknown'),
  });
});

/** The commands that a waiting task prints, without `lango`. */
function commandsIn(stderr: string): readonly (readonly string[])[] {
  const found = [...stderr.matchAll(/^To (?:approve|deny): +lango (.*?)(?: --reason .*)?$/gm)];
  return found.map(([, words]) => words!.split(' '));
}

describe("calls of Gemini CLI's server that wait for approval", () => {
  it('are shown in full, and each is decided by its own hash in one command', async () => {
    const old = await startOldServer('JSONRPC');
    stops.push(() => old.close());
    const { code, stderr } = await langoHere(['send', '--url', old.origin, 'gemini twice']);
    expect([code, stderr]).toEqual([
      4,
      expect.stringMatching(/run_shell_command[^]*"command": "rm -rf build"/),
    ]);
    const [approve, , , deny] = commandsIn(stderr);
    const half = await langoHere(approve!);
    expect([half.code, half.stderr]).toEqual([2, expect.stringContaining('takes its decisions together')]);
    const { stdout } = await langoHere([...approve!, ...deny!.slice(-2)]);
    expect(stdout).toContain(
      'you said [{"callId":"shell-1","outcome":"proceed_once"},{"callId":"shell-2","outcome":"cancel"}]',
    );
    const yes = await langoHere(['send', '--yes', '--url', old.origin, 'gemini']);
    expect(yes.stdout).toContain('you said [{"callId":"shell-1","outcome":"proceed_once"}]');
  });
});

describeWith('a call', () => {
  it("is shown by lango send when Mastra wants it approved, and gets the decision in Mastra's form", async () => {
    const mastra = await startPeer('mastra', 'mastra.mjs');
    stops.push(() => mastra.stop());
    const { code, stderr } = await langoHere(['send', '--url', mastra.url, 'go']);
    expect([code, stderr]).toEqual([4, expect.stringMatching(/delete_files[^]*\/srv\/data/)]);
    const [, deny] = commandsIn(stderr);
    expect((await langoHere(deny!)).stdout).toContain('not approved');
    const again = await langoHere(['send', '--yes', '--url', mastra.url, 'go']);
    expect(again.stdout).toContain('"deleted":"/srv/data"');
  });
});
