import { expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Home, Server } from '../cli/lango-process.js';
import { makeHome, startServer } from '../cli/lango-process.js';
import type { Received } from '../support/push-receiver.js';
import { EXTENSIONS } from '../../src/core/extensions.js';
import { PushReceiver, numbers, states } from '../support/push-receiver.js';

const KILLS = process.env['LANGO_CAMPAIGN'] === '1' ? 12 : 2;
const TASKS_OF_A_LIFE = 3;
const ENDED = /COMPLETED|FAILED|CANCELED|REJECTED/;

async function post(server: Server, home: Home, [way, body]: [string, object]): Promise<Response> {
  const token = readFileSync(path.join(home.folder, 'token'), 'utf8').trim();
  return fetch(`${server.origin}/${way}`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Authorization: `Bearer ${token}`,
      'A2A-Extensions': EXTENSIONS.cursor,
    },
    body: JSON.stringify(body),
  });
}

/** The id of the task; undefined when the server died before it said so. */
async function send(server: Server, home: Home, push?: object): Promise<string | undefined> {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'list the files' }] };
  const configuration = push ? { returnImmediately: true, taskPushNotificationConfig: push } : {};
  const sent = post(server, home, ['message:send', { message, configuration }]);
  try {
    const { task } = (await (await sent).json()) as { readonly task: { readonly id: string } };
    return task.id;
  } catch {
    return undefined;
  }
}

function taskOf({ body }: Received): string {
  const [payload] = Object.values(body) as { readonly id?: string; readonly taskId?: string }[];
  return payload?.taskId ?? payload?.id ?? '';
}

const idOf = ({ headers }: Received): string => String(headers['x-a2a-notification-id']);

it(`a delivery that was open when the server was killed is repeated with its id and body, and the rest follows in order: ${KILLS} kills`, async () => {
  await using receiver = await PushReceiver.open();
  let openAtKill = 0;
  const arrived = Promise.withResolvers<void>();
  const killed = Promise.withResolvers<void>();
  receiver.answer = async () => {
    arrived.resolve();
    // The first server is killed while deliveries are open, the others at some moment.
    await Promise.all([killed.promise, sleep(Math.random() * 60)]);
    return 200;
  };
  const home = await makeHome(
    'egress:\n  allowPrivate: ["127.0.0.1"]\na2a: { push: { retrySeconds: 0.1 } }\n',
  );
  const tasks: string[] = [];
  try {
    for (let life = 0; life < KILLS; life += 1) {
      const server = await startServer(home);
      const sent = Array.from({ length: TASKS_OF_A_LIFE }, () => send(server, home, { url: receiver.url }));
      const acknowledged = Promise.all(sent);
      if (life === 0) await arrived.promise;
      else await Promise.race([acknowledged, sleep(2_000)]).then(() => sleep(Math.random() * 250));
      openAtKill += receiver.open;
      server.child.kill('SIGKILL');
      await server.stop();
      killed.resolve();
      tasks.push(...(await acknowledged).filter((id) => id !== undefined));
    }
    const last = await startServer(home);
    const of = (task: string): readonly Received[] => receiver.got.filter((one) => taskOf(one) === task);
    try {
      const areEnded = (): boolean =>
        tasks.every((task) => states(of(task)).some((state) => ENDED.test(state)));
      await receiver.until(areEnded, 'the end of every task');
    } finally {
      await last.stop();
    }
    expect(openAtKill).toBeGreaterThan(0);
    expect(tasks.length).toBeGreaterThan(0);
    for (const task of tasks) {
      const deliveries = of(task);
      const first = deliveries.filter(
        (one, at) => deliveries.findIndex((other) => idOf(other) === idOf(one)) === at,
      );
      for (const one of deliveries) {
        expect(one.text).toBe(first.find((other) => idOf(other) === idOf(one))!.text);
      }
      const seqs = numbers(first);
      expect(seqs).toEqual([...new Set(seqs)].sort((a, b) => a - b));
      expect(states(first.slice(-1)).join()).toMatch(ENDED);
    }
  } finally {
    await home.remove();
  }
});

it(`a push config whose server is killed right after its creation still gets the Task, the same each time: ${KILLS} kills`, async () => {
  const receivers: PushReceiver[] = [];
  const home = await makeHome(
    'egress:\n  allowPrivate: ["127.0.0.1"]\na2a: { push: { retrySeconds: 0.1 } }\n',
  );
  try {
    let task: string | undefined;
    for (let life = 0; life < KILLS; life += 1) {
      const server = await startServer(home);
      task ??= await send(server, home);
      const receiver = await PushReceiver.open();
      receivers.push(receiver);
      const made = await post(server, home, [`tasks/${task}/pushNotificationConfigs`, { url: receiver.url }]);
      expect(made.status).toBe(200);
      server.child.kill('SIGKILL');
      await server.stop();
    }
    const last = await startServer(home);
    try {
      for (const receiver of receivers) {
        await receiver.until((got) => got.length > 0);
        expect(receiver.got[0]!.body['task']).toMatchObject({
          id: task,
          status: { state: 'TASK_STATE_COMPLETED' },
        });
        expect(new Set(receiver.got.map(idOf)).size).toBe(1);
        expect(new Set(receiver.got.map(({ text }) => text)).size).toBe(1);
      }
    } finally {
      await last.stop();
    }
  } finally {
    for (const receiver of receivers) await receiver[Symbol.asyncDispose]();
    await home.remove();
  }
});
