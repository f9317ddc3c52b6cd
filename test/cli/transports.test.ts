import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { connect } from '../../src/index.js';
import type { CardHost } from '../support/card-host.js';
import { openCardHost } from '../support/card-host.js';
import { scriptedAgent } from '../support/scripted-agent.js';
import type { TestServer } from '../support/server.js';
import { startServer } from '../support/server.js';
import { langoHere } from './lango-here.js';
import { lango, makeHome } from './lango-process.js';

describe('the command line and a server whose card offers only gRPC', () => {
  let server: TestServer;
  let cards: CardHost;
  let env: Readonly<Record<string, string>>;
  beforeAll(async () => {
    const settings = { server: { port: 0, grpc: { enabled: true, port: 0 } } };
    server = await startServer({ agents: [scriptedAgent('worker')], settings });
    cards = await openCardHost(server.address.origin);
    env = { LANGO_URL: cards.url, LANGO_TOKEN: server.address.token! };
  });
  afterAll(async () => {
    await cards[Symbol.asyncDispose]();
    await server.stop();
  });
  const run = (args: readonly string[], input = '') =>
    langoHere([...args, '--agent', 'worker'], { env, input });

  it('support send, chat, list, read, watch and cancel', async () => {
    expect(await lango(['send', 'say hi', '--agent', 'worker'], { env })).toMatchObject({
      code: 0,
      stdout: 'hi\n',
    });
    const sent = await run(['send', '--json', 'ask', '--no-input']);
    const { taskId } = JSON.parse(sent.stdout) as { readonly taskId: string };
    expect((await run(['chat'], 'say hello\n')).stdout).toContain('hello');
    expect((await run(['tasks', 'list'])).stdout).toContain(taskId);
    expect((await run(['tasks', 'get', taskId])).stdout).toContain('what shall I say?');
    expect((await run(['tasks', 'watch', taskId])).stdout).toContain('what shall I say?');
    expect((await run(['tasks', 'cancel', taskId])).stdout).toContain(`canceled ${taskId}`);
    expect((await langoHere(['card', 'worker'], { env })).stdout).toContain('worker');
  });

  it('use only the transport of --transport, and report when it is not offered', async () => {
    const there = { LANGO_URL: server.address.origin, LANGO_TOKEN: server.address.token! };
    for (const transport of ['jsonrpc', 'http', 'grpc']) {
      const args = ['send', 'say hi', '--agent', 'worker', '--transport', transport];
      expect([transport, await langoHere(args, { env: there })]).toMatchObject([
        transport,
        { stdout: 'hi\n' },
      ]);
    }
    const refused = await run(['send', 'say hi', '--transport', 'http']);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr + refused.stdout).toContain('no interface that this client supports (HTTP+JSON)');
    expect((await run(['send', 'x', '--transport', 'pigeon'])).code).toBe(2);
  });

  it('share their transport with a program that calls connect', async () => {
    const client = connect({ url: cards.url, token: server.address.token!, binding: 'GRPC' });
    const { tasks } = await client.list({ agent: 'worker' });
    expect(tasks.length).toBeGreaterThan(0);
  });
});

describe('lango doctor on gRPC', () => {
  it('reports that gRPC is off and how to turn it on, its address, or what prevents it', async () => {
    const linesFor = async (config: string): Promise<string> => {
      const home = await makeHome(config);
      const { stdout } = await langoHere(['doctor'], home);
      await home.remove();
      return stdout;
    };
    expect(await linesFor('server: { port: 0 }')).toMatch(
      /^ok {4}grpc: off \(server\.grpc\.enabled: true switches it on\)$/m,
    );
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const config = `server: { port: 0, grpc: { enabled: true, port: ${port} } }`;
    const blocked = await linesFor(config);
    expect(blocked).toMatch(new RegExp(`^fail {2}grpc: Port ${port} on 127\\.0\\.0\\.1 cannot be used`, 'm'));
    // The server that is started for a check takes another port.
    expect(blocked).toMatch(/^ok {4}start: /m);
    taken.close();
    expect(await linesFor(config)).toMatch(new RegExp(`^ok {4}grpc: on, on port ${port} of 127`, 'm'));
  });
});
