import { describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { Agent, request, type IncomingMessage } from 'node:http';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EXTENSIONS } from '../../src/core/extensions.js';
import type { Wire } from '../support/a2a-requests.js';
import { sseEvents } from '../support/a2a-requests.js';
import type { Home, Server } from './lango-process.js';
import { makeHome, startServer } from './lango-process.js';

/** A command that outlasts the test: the task is open when the signal comes. */
const ORDER = 'run sleep 30';

/** A data folder for one test, removed at its end together with the servers on it. */
async function withHome(
  drainSeconds: number,
  use: (start: () => Promise<Server>, home: Home) => Promise<void>,
  noticeSeconds = 0,
): Promise<void> {
  const home = await makeHome(
    `server: { limits: { drainSeconds: ${drainSeconds}, noticeSeconds: ${noticeSeconds} } }\napproval: { policy: none }\nlogging: { auditFile: audit.log }\n`,
  );
  const started: Server[] = [];
  try {
    await use(async () => {
      started.push(await startServer(home));
      return started.at(-1)!;
    }, home);
  } finally {
    for (const { child } of started) child.kill('SIGKILL');
    await Promise.all(started.map((server) => server.stop()));
    await home.remove();
  }
}

async function headersFor({ folder }: Home): Promise<Readonly<Record<string, string>>> {
  const token = (await readFile(path.join(folder, 'token'), 'utf8')).trim();
  const extension = { 'a2a-extensions': EXTENSIONS.author };
  return { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...extension };
}

/** A client with the server's token. */
async function clientOf({ origin }: Server, home: Home) {
  const headers = await headersFor(home);
  return (where: string, body?: object) =>
    fetch(origin + where, body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers });
}

function order(text: string, configuration: object = {}): object {
  return { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text }] }, configuration };
}

/** A request whose body never comes: the server waits for it up to the limit. */
async function hold(server: Server, home: Home): Promise<AsyncDisposable> {
  const asking = request(`${server.origin}/message:send`, {
    method: 'POST',
    headers: { ...(await headersFor(home)), 'content-length': 10, expect: '100-continue' },
  });
  asking.on('error', () => {}).flushHeaders();
  await once(asking, 'continue');
  return { [Symbol.asyncDispose]: async () => void asking.destroy() };
}

/** A client of so many connections, which stay open between its requests. */
async function keepConnections({ origin }: Server, home: Home, count: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: count });
  const headers = await headersFor(home);
  const askOne = async () => {
    const asking = request(`${origin}/tasks`, { agent, headers }).end();
    const [response] = (await once(asking, 'response')) as [IncomingMessage];
    const { statusCode: status } = response.resume();
    await once(response, 'end');
    return { status, connection: response.headers.connection, reused: asking.reusedSocket };
  };
  return {
    /** Sends a request over each connection at once. */
    askEach: () => Promise.all(Array.from({ length: count }, askOne)),
    [Symbol.dispose]: () => agent.destroy(),
  };
}

/** Polls for a hundred seconds at most. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 100_000;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error('it did not come to that');
    await sleep(20);
  }
}

/** The server cuts idle connections at once, so a request may run into such a cut. */
function untilDraining({ origin }: Server): Promise<void> {
  return until(() =>
    fetch(`${origin}/readyz`).then(
      ({ status }) => status === 503,
      () => false,
    ),
  );
}

describe('lango serve that is stopping', () => {
  it('tells open streams how to resume, releases the task, and ends within the drain time', async () => {
    await withHome(3, async (start, home) => {
      const server = await start();
      const ask = await clientOf(server, home);
      const response = await ask('/message:stream', order(ORDER));
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      let text = '';
      for (let next = await reader.read(); !next.done; next = await reader.read()) {
        text += next.value;
        if (text.includes('tool-call')) break;
      }
      expect(text).toContain('tool-call');
      const stopped = server.stop();
      for (let next = await reader.read(); !next.done; next = await reader.read()) text += next.value;
      const { code, stderr } = await stopped;
      expect(text).toMatch(/^id: \d+$/m);
      expect(text).toContain(': the server is stopping; subscribe again with Last-Event-ID');
      expect([code, stderr]).toEqual([0, expect.not.stringContaining('error') as unknown]);
      const audit = await readFile(path.join(home.folder, 'audit.log'), 'utf8');
      expect(JSON.parse(audit.trim())).toMatchObject({ operation: 'SendStreamingMessage', outcome: 'ok' });
      expect(audit).not.toContain('sleep');
      const askAgain = await clientOf(await start(), home);
      const { id } = sseEvents(text)[0]!.data.task;
      // The command may have run. The next process finds the unknown outcome, and asks about it.
      await until(async () => {
        const { status } = (await (await askAgain(`/tasks/${id}`)).json()) as Wire;
        return status.state === 'TASK_STATE_INPUT_REQUIRED';
      });
    });
  });

  it('lets a running command end, so that its outcome is known', async () => {
    await withHome(20, async (start, home) => {
      const server = await start();
      const ask = await clientOf(server, home);
      const response = await ask('/message:stream', order('run sleep 2'));
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      let text = '';
      while (!text.includes('tool-call')) text += (await reader.read()).value;
      const { id } = sseEvents(text)[0]!.data.task;
      expect((await server.stop()).code).toBe(0);
      const askAgain = await clientOf(await start(), home);
      const seen = new Set<string>();
      await until(async () => {
        const { status } = (await (await askAgain(`/tasks/${id}`)).json()) as Wire;
        seen.add(status.state);
        return status.state === 'TASK_STATE_COMPLETED';
      });
      expect([...seen]).not.toContain('TASK_STATE_INPUT_REQUIRED');
    });
  });

  it('refuses new work while it drains, and ends in time although one request never does', async () => {
    await withHome(4, async (start, home) => {
      const server = await start();
      const ask = await clientOf(server, home);
      await using _held = await hold(server, home);
      const stopped = server.stop();
      await untilDraining(server);
      const late = [
        await ask('/message:send', order('hello')),
        await ask('/', { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: order('hello') }),
      ];
      for (const { status, headers } of late)
        expect([status, Number(headers.get('retry-after')) > 0]).toEqual([503, true]);
      expect((await stopped).code).toBe(0);
    });
  });

  it('responds to a caller that waits with the current task, which continues at the next start', async () => {
    await withHome(3, async (start, home) => {
      const server = await start();
      const ask = await clientOf(server, home);
      const answered = ask('/message:send', order(ORDER));
      await until(async () => {
        const { tasks } = (await (await ask('/tasks?status=TASK_STATE_WORKING')).json()) as Wire;
        return tasks.length === 1;
      });
      const stopped = server.stop();
      const answer = await answered;
      expect(answer.status).toBe(200);
      const { task } = (await answer.json()) as Wire;
      expect(task.status.state).toBe('TASK_STATE_WORKING');
      expect((await stopped).code).toBe(0);
      const askAgain = await clientOf(await start(), home);
      expect(((await (await askAgain(`/tasks/${task.id}`)).json()) as Wire).id).toBe(task.id);
    });
  });

  it('serves requests for the notice time, on kept connections too, and closes each after its response', async () => {
    const use = async (start: () => Promise<Server>, home: Home): Promise<void> => {
      const server = await start();
      const ask = await clientOf(server, home);
      using kept = await keepConnections(server, home, 5);
      await kept.askEach();
      const stopped = server.stop();
      await untilDraining(server);
      expect(await kept.askEach()).toEqual(
        Array.from({ length: 5 }, () => ({ status: 200, connection: 'close', reused: true })),
      );
      const late = await ask('/message:send', order('hello', { returnImmediately: true }));
      expect([late.status, late.headers.get('connection')]).toEqual([200, 'close']);
      const { task } = (await late.json()) as Wire;
      expect((await stopped).code).toBe(0);
      const askAgain = await clientOf(await start(), home);
      await until(async () => {
        const { status } = (await (await askAgain(`/tasks/${task.id}`)).json()) as Wire;
        return status.state === 'TASK_STATE_COMPLETED';
      });
    };
    await withHome(20, use, 4);
  });

  it('ends at once at the second signal', async () => {
    await withHome(600, async (start, home) => {
      const server = await start();
      await using _held = await hold(server, home);
      const stopped = server.stop();
      await untilDraining(server);
      server.child.kill('SIGTERM');
      expect((await stopped).code).toBe(143);
    });
  });
});
