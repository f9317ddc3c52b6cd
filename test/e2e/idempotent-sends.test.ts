import { describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { userMessage } from '../support/a2a-requests.js';
import type { Wire } from '../support/a2a-requests.js';
import { askGrpc } from '../support/grpc-asked.js';
import type { TestServer } from '../support/server.js';
import { withServer } from '../support/server.js';
import { scriptedAgent } from '../support/scripted-agent.js';

/** A message that a client repeats, because its response was lost, is one message. */

const OPTIONS = {
  agents: [scriptedAgent('worker')],
  settings: { server: { port: 0, grpc: { enabled: true, port: 0 } } },
};

interface PostResponse {
  readonly status: number;
  readonly json: Wire;
}

async function post(server: TestServer, where: string, body: object): Promise<PostResponse> {
  const response = await server.fetch(where, { method: 'POST', body: JSON.stringify(body) });
  return { status: response.status, json: (await response.json()) as Wire };
}

const rest = (server: TestServer, sent: object) => post(server, '/agents/worker/message:send', sent);
const rpc = (server: TestServer, params: object) =>
  post(server, '/agents/worker', { jsonrpc: '2.0', id: 1, method: 'SendMessage', params });
const grpc = ({ address }: TestServer, params: object) =>
  askGrpc(`127.0.0.1:${address.grpcPort}`, {
    method: 'sendMessage',
    params: { tenant: 'worker', ...params },
    token: address.token!,
  });

async function tasksOf(server: TestServer): Promise<number> {
  return ((await (await server.fetch('/agents/worker/tasks')).json()) as Wire).totalSize;
}

describe('a repeated message', () => {
  it('makes one task, also when it arrives many times at once and over every binding', async () => {
    await withServer(OPTIONS, async (server) => {
      const sent = userMessage('say once');
      const answers = await Promise.all(
        Array.from({ length: 24 }, async (_, n) => {
          if (n % 3 === 0) return (await rest(server, sent)).json.task.id;
          if (n % 3 === 1) return (await rpc(server, sent)).json.result.task.id;
          const [said] = (await grpc(server, sent)).said as { payload: { value: { id: string } } }[];
          return said!.payload.value.id;
        }),
      );
      expect([new Set(answers).size, await tasksOf(server)]).toEqual([1, 1]);
    });
  });

  it('is recognized after a restart', async () => {
    const home = await mkdtemp(path.join(tmpdir(), 'lango-again-'));
    const sent = userMessage('say once');
    const ids: string[] = [];
    for (let start = 0; start < 2; start += 1) {
      await withServer({ ...OPTIONS, home }, async (server) => {
        ids.push((await rest(server, sent)).json.task.id);
        expect(await tasksOf(server)).toBe(1);
      });
    }
    await rm(home, { recursive: true });
    expect(ids[1]).toBe(ids[0]);
  });

  it('is a new message in another context, and without a context after tasks.messageIdHours', async () => {
    const settings = { ...OPTIONS.settings, tasks: { messageIdHours: 0 } };
    await withServer({ ...OPTIONS, settings }, async (server) => {
      const { message } = userMessage('say once');
      const send = async (given: object) =>
        (await rest(server, { message: { ...message, ...given } })).json.task.id;
      const ids = [await send({}), await send({}), await send({ contextId: 'a' })];
      ids.push(await send({ contextId: 'b' }), await send({ contextId: 'a' }));
      expect(ids.slice(0, 4)).toHaveLength(new Set(ids).size);
      expect(ids[4]).toBe(ids[2]);
    });
  });

  it('is a conflict when its body differs, and stores nothing', async () => {
    await withServer(OPTIONS, async (server) => {
      const { message } = userMessage('say one');
      const other = { message: { ...message, parts: [{ text: 'say two' }] } };
      await rest(server, { message });
      const { status, json } = await rest(server, other);
      expect([status, json.error.status]).toEqual([409, 'ALREADY_EXISTS']);
      expect((await rpc(server, other)).json.error.code).toBe(-32602);
      expect((await grpc(server, other)).code).toBe(6);
      expect(await tasksOf(server)).toBe(1);
    });
  });
});
