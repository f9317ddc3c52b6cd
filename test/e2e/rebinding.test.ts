import { afterAll, afterEach, beforeAll, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { mcpSettings, text } from '../quirks/mcp-tools.js';
import { openMcpServer } from '../quirks/mcp-server.js';
import {
  PUBLIC,
  bringInternetHere,
  lookup,
  replaceLookup,
  resolved,
  restoreLookup,
} from '../support/made-up-names.js';
import { Obedient, untilOffered } from '../support/obedient-model.js';
import { withPushServer } from '../support/push-server.js';
import { scriptedAgent } from '../support/scripted-agent.js';
import { sendText, startServer } from '../support/server.js';

/** A host name whose owner makes it resolve to another address than the checked one (DNS rebinding). */
const NAME = 'rebinding.example';

beforeAll(replaceLookup);
afterAll(restoreLookup);
afterEach(() => {
  jest.restoreAllMocks();
  resolved.clear();
});

async function untilResolved(times: number): Promise<void> {
  const goal = lookup.mock.calls.length + times;
  while (lookup.mock.calls.length < goal) await setTimeout(10);
}

it.each([
  ['a private address', ['127.0.0.1']],
  ['a private address besides', [PUBLIC, '127.0.0.1']],
])(
  'a remote agent whose name starts to resolve to %s leaves, and is not called again',
  async (_what, later) => {
    const far = await startServer({
      agents: [scriptedAgent('far')],
      settings: { server: { port: 0, allowedHosts: [NAME] } },
    });
    bringInternetHere();
    const url = `http://${NAME}:${far.address.port}/agents/far`;
    resolved.set(NAME, [[PUBLIC]]);
    const a2a = { enabled: true, refreshSeconds: 0.1, remoteAgents: [{ name: 'far', url }] };
    const here = await startServer({ settings: { server: { port: 0 }, a2a } });
    try {
      await here.log.saying('agent joined","agent":"far');
      resolved.set(NAME, [later]);
      await here.log.saying('agent left","agent":"far');
      const asked = far.log.lines.length;
      await untilResolved(2);
      expect(far.log.lines.length).toBe(asked);
      expect(here.log.lines.find((line) => line.includes('agent left'))).toContain('private or loopback');
    } finally {
      await here.stop();
      await far.stop();
    }
  },
);

it.each([
  ['a private address', ['127.0.0.1']],
  ['a private address besides', [PUBLIC, '127.0.0.1']],
])('a webhook whose name starts to resolve to %s between two tries gets nothing', async (_what, later) => {
  let connections = 0;
  const listener = createServer((socket) => {
    connections += 1;
    socket.on('error', () => {}).destroy();
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  bringInternetHere();
  resolved.set(NAME, [[PUBLIC], later]);
  try {
    await withPushServer({}, async (server) => {
      const url = `https://${NAME}:${(listener.address() as AddressInfo).port}/hook`;
      await server.send('say x', { push: { url } });
      await server.log.saying('push notifications given up');
      expect(server.log.lines.at(-1)).toContain('private or loopback');
    });
    expect(connections).toBe(1);
  } finally {
    listener.close();
  }
});

it('an MCP server whose configured name starts to resolve to a private address gets no request and no token', async () => {
  const far = await openMcpServer({
    list: () => ({ tools: [{ name: 'get', inputSchema: { properties: { n: { type: 'integer' } } } }] }),
    call: () => text('fine'),
  });
  bringInternetHere();
  resolved.set(NAME, [[PUBLIC]]);
  const model = new Obedient();
  const url = `http://${NAME}:${new URL(far.url).port}/mcp`;
  const settings = { server: { port: 0 }, ...mcpSettings(url) };
  const here = await startServer({ model, settings });
  try {
    await untilOffered('mcp_f_get', model, here);
    const call = async (n: number) =>
      (await sendText(here, `mcp_f_get {"n":${n}}`, { agent: 'operator' })).end.text;
    expect(await call(1)).toContain('fine');
    resolved.set(NAME, [['127.0.0.1']]);
    expect(await call(2)).toContain('private or loopback');
    expect(far.got.get('get')).toEqual({ n: 1 });
    resolved.set(NAME, [[PUBLIC]]);
  } finally {
    await here.stop();
    await far.close();
  }
});

it('an MCP server whose configured name resolves to a private address from the start is used', async () => {
  const far = await openMcpServer({ list: () => ({ tools: [{ name: 'get' }] }), call: () => text('fine') });
  resolved.set(NAME, [['127.0.0.1']]);
  const model = new Obedient();
  const url = `http://${NAME}:${new URL(far.url).port}/mcp`;
  const here = await startServer({ model, settings: { server: { port: 0 }, ...mcpSettings(url) } });
  try {
    await untilOffered('mcp_f_get', model, here);
  } finally {
    await here.stop();
    await far.close();
  }
});
