import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { textPart } from '../../src/core/message.js';
import { connect } from '../../src/index.js';
import { makeHome, startServer, type Home, type Server } from '../cli/lango-process.js';
import { freePort } from '../support/free-port.js';

/** Two real processes: an orchestrator, and the node of its operator, which is killed and started again. */

const [NEAR, FAR] = ['near-5Hs8yK3mPw7RgD2jXq9n', 'far-7Qf2xW9kLr4TzB6vNc8d'];

const servers: Server[] = [];
const homes: Home[] = [];
afterEach(async () => {
  for (const { child } of servers) child.kill('SIGKILL');
  await Promise.all(servers.splice(0).map((server) => server.stop()));
  await Promise.all(homes.splice(0).map((home) => home.remove()));
});

async function home(config: object): Promise<Home> {
  homes.push(await makeHome(JSON.stringify({ model: { provider: 'offline' }, ...config })));
  return homes.at(-1)!;
}

async function start(where: Home, port = 0): Promise<Server> {
  servers.push(await startServer(where, ['--port', String(port)]));
  return servers.at(-1)!;
}

async function stateOfOperator({ origin }: Server): Promise<string | undefined> {
  const response = await fetch(`${origin}/lango/agents`, { headers: { authorization: `Bearer ${NEAR}` } });
  const { peers } = (await response.json()) as {
    readonly peers: readonly Record<'name' | 'state', string>[];
  };
  return peers.find(({ name }) => name === 'operator')?.state;
}

async function untilOperatorIs(state: string, front: Server): Promise<void> {
  while ((await stateOfOperator(front)) !== state) await sleep(50);
}

/** Sends a request. `said` resolves with true once the stream shows that the task waits for the operator. */
function send({ origin }: Server, text: string) {
  const waits = Promise.withResolvers<boolean>();
  const follow = async () => {
    for await (const event of connect({ url: origin, token: NEAR }).send(
      { parts: [textPart(text)] },
      AbortSignal.timeout(100_000),
    )) {
      if (JSON.stringify(event).includes('Waiting for operator')) waits.resolve(true);
      if (event.type === 'end') return event;
    }
    throw new Error('the stream had no end');
  };
  const end = follow().finally(() => waits.resolve(false));
  return { end, waits: waits.promise };
}

describe('a node that is being replaced', () => {
  it('gets the requests of that time once it is back: none is rejected, failed or done twice', async () => {
    const port = await freePort();
    const operator = await home({ auth: { token: FAR }, a2a: { publish: ['operator'] } });
    const remote = { name: 'operator', url: `http://127.0.0.1:${port}`, token: FAR, allowPrivate: true };
    const first = await start(operator, port);
    const front = await start(
      await home({
        auth: { token: NEAR },
        a2a: { enabled: true, publish: ['lango-orchestrator'], refreshSeconds: 1, remoteAgents: [remote] },
      }),
    );
    await untilOperatorIs('ready', front);

    first.child.kill('SIGKILL');
    await once(first.child, 'exit');
    const early = send(front, 'create a file early.txt with hi');
    await untilOperatorIs('open', front);
    const late = ['a', 'b', 'c'].map((name) => send(front, `create a file ${name}.txt with hi`));
    expect(await Promise.all(late.map(({ waits }) => waits))).toEqual([true, true, true]);

    const second = await start(operator, port);
    for (const { end } of [early, ...late]) expect(await end).toMatchObject({ state: 'completed' });
    const { tasks } = await connect({ url: second.origin, token: FAR }).list({});
    expect(tasks.map(({ state }) => state)).toEqual(Array(4).fill('completed'));
  });
});
