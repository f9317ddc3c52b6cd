import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Wire } from '../support/a2a-requests.js';
import { userMessage } from '../support/a2a-requests.js';
import type { Issuer } from '../support/issuer.js';
import { AUDIENCE, startIssuer } from '../support/issuer.js';
import { scriptedAgent } from '../support/scripted-agent.js';
import { withServer } from '../support/server.js';

let issuer: Issuer;
beforeAll(async () => {
  issuer = await startIssuer();
});
afterAll(() => issuer.close());

const isCampaign = process.env['LANGO_CAMPAIGN'] === '1';
const QUEUED = isCampaign ? 5_000 : 30;
/** So few that one caller may hold all of them. */
const RUNS = isCampaign ? 7 : 2;
/**
 * The number of tasks that one caller sends at once. More than the host accepts connections would be refused for that
 * reason.
 */
const AT_ONCE = 60;

it('a caller with many tasks delays nobody else, and has a limit of queued tasks', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  /** The owners of the runs, in the order in which the runs began. */
  const begun: string[] = [];
  const worker = scriptedAgent('worker', async ({ task }) => {
    begun.push(task.owner);
    await released;
    return { state: 'completed' };
  });
  const settings = {
    server: { port: 0, limits: { concurrentRuns: RUNS, queuedTasks: QUEUED } },
    auth: { mode: 'jwt' as const, jwt: { issuer: issuer.url, audience: [AUDIENCE] } },
  };
  await withServer({ agents: [worker], settings }, async ({ address }) => {
    const [alice, bob] = await Promise.all(['alice', 'bob'].map((sub) => issuer.token({ sub })));
    const ask = (token: string, path: string, body?: object) =>
      fetch(`${address.origin}/agents/worker${path}`, {
        method: body ? 'POST' : 'GET',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        ...(body ? { body: JSON.stringify(body) } : {}),
      });
    const unfinished = async (token: string): Promise<number> => {
      const states = ['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING'];
      const pages = await Promise.all(
        states.map(async (state) => (await ask(token, `/tasks?status=${state}`)).json() as Promise<Wire>),
      );
      return pages.reduce((sum, { totalSize }) => sum + Number(totalSize), 0);
    };
    const replies: Response[] = [];
    while (replies.length < 2 * QUEUED) {
      const flood = Array.from({ length: AT_ONCE }, (_, index) =>
        ask(alice!, '/message:send', {
          ...userMessage('go', { messageId: `flood-${replies.length + index}` }),
          configuration: { returnImmediately: true },
        }),
      );
      replies.push(...(await Promise.all(flood)));
    }
    const refused = replies.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(Number(refused[0]!.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await refused[0]!.text()).toContain('server.limits.queuedTasks');
    const accepted = replies.filter(({ status }) => status === 200).length;
    expect(accepted + refused.length).toBe(replies.length);
    expect(accepted).toBeGreaterThanOrEqual(QUEUED);

    const before = await unfinished(alice!);
    const sending = ask(bob!, '/message:send', userMessage('go'));
    while ((await unfinished(bob!)) === 0) await sleep(20);
    expect(new Set(begun)).toEqual(new Set(['user:alice']));
    const running = begun.length;
    const began = performance.now();
    release();
    const sent = await sending;
    if (isCampaign) {
      console.log(`${before} tasks of another wait: answered in ${Math.round(performance.now() - began)} ms`);
    }
    expect(((await sent.json()) as Wire).task.status.state).toBe('TASK_STATE_COMPLETED');
    // At most the tasks that ran already, and one turn of the other caller, come before it.
    expect(begun.indexOf('user:bob') - running).toBeLessThanOrEqual(RUNS);

    while ((await unfinished(alice!)) > 0) await sleep(isCampaign ? 500 : 20);
    const all = (await (await ask(alice!, '/tasks?status=TASK_STATE_COMPLETED')).json()) as Wire;
    expect(all.totalSize).toBe(accepted);
    const again = await ask(alice!, '/message:send', userMessage('go', { messageId: 'flood-again' }));
    expect(again.status).toBe(200);
  });
}, 300_000);

it.each([
  { limits: { concurrentRuns: 8 }, most: 7 },
  { limits: { concurrentRuns: 4, runsPerCaller: 2 }, most: 2 },
])('a caller whose tasks hang leaves runs free for others: $limits', async ({ limits, most }) => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const begun: string[] = [];
  const worker = scriptedAgent('worker', async ({ task }, text) => {
    begun.push(task.owner);
    if (text === 'hang') await released;
    return { state: 'completed' };
  });
  const settings = {
    server: { port: 0, limits },
    auth: { mode: 'jwt' as const, jwt: { issuer: issuer.url, audience: [AUDIENCE] } },
  };
  await withServer({ agents: [worker], settings }, async ({ address }) => {
    const [alice, bob] = await Promise.all(['alice', 'bob'].map((sub) => issuer.token({ sub })));
    const send = async (token: string, text: string, returnImmediately = false): Promise<string> => {
      const response = await fetch(`${address.origin}/agents/worker/message:send`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({ ...userMessage(text), configuration: { returnImmediately } }),
      });
      return ((await response.json()) as Wire).task.status.state;
    };
    for (let sent = 0; sent < 12; sent += 1) await send(alice!, 'hang', true);
    for (let sent = 0; sent < 3; sent += 1) expect(await send(bob!, 'go')).toBe('TASK_STATE_COMPLETED');
    expect(begun.filter((owner) => owner === 'user:alice')).toHaveLength(most);
    // Her tasks that wait begin when some of those that run have ended.
    release();
    expect(await send(alice!, 'go')).toBe('TASK_STATE_COMPLETED');
    expect(begun.filter((owner) => owner === 'user:alice')).toHaveLength(13);
  });
});
