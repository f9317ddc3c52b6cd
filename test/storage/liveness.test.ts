import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { silentLogger } from '../../src/core/logger.js';
import { AppendListeners } from '../../src/storage/append-listeners.js';
import { Liveness, type LivenessOptions } from '../../src/storage/postgres/liveness.js';

/** A session with slow notifications. The third one fails, and the session ends with it. */
class Session extends EventEmitter {
  static active = 0;
  static most = 0;
  static count = 0;
  static readonly told = new Set<string>();

  async query(sql: string, values: readonly string[] = []): Promise<void> {
    Session.active += 1;
    Session.most = Math.max(Session.most, Session.active);
    await sleep(25);
    Session.active -= 1;
    if (!sql.includes('pg_notify')) return;
    Session.count += 1;
    if (Session.count === 3) throw new Error('the connection was cut');
    const [, ...heads] = JSON.parse(values[1]!) as [number, ...[string, number][]];
    for (const [task] of heads) Session.told.add(task);
  }

  end(): Promise<void> {
    this.emit('end');
    return Promise.resolve();
  }
}

it('a session sends one notification at a time, and a new session sends those of a lost one', async () => {
  const listeners = new AppendListeners(silentLogger);
  const liveness = new Liveness({
    driver: { connect: () => Promise.resolve(new Session()) } as unknown as LivenessOptions['driver'],
    database: {} as LivenessOptions['database'],
    ...{ listeners, channel: 'node', hasSession: true, logger: silentLogger },
  });
  await liveness.open();
  const tasks = Array.from({ length: 40 }, (_, number) => `task-${number}`);
  for (const [index, task] of tasks.entries()) {
    liveness.announce(task, index);
    await sleep(5);
  }
  while (tasks.some((task) => !Session.told.has(task))) await sleep(20);
  expect(Session.most).toBe(1);
  await liveness.close();
});
