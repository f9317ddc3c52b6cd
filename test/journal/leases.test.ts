import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openSqliteStores, type AllStores } from '../../lab/all-stores.js';
import { silentLogger } from '../../src/core/logger.js';
import { Leases } from '../../src/journal/leases.js';
import { acceptOne, AGENT } from '../suites/task-store-fixtures.js';
import { until } from '../support/until.js';

describe('the leases of a process', () => {
  let stores: AllStores;
  beforeEach(() => {
    stores = openSqliteStores({ file: ':memory:', synchronous: 'normal', logger: silentLogger });
  });
  afterEach(() => stores.close());

  it('are looked after without a transaction while nothing waits, and a task that waits is found by the next look', async () => {
    const asked: string[] = [];
    const launched: string[] = [];
    const store = new Proxy(stores.tasks, {
      get(target, name) {
        asked.push(String(name));
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    const leases = new Leases({
      ...{ store, logger: silentLogger, worker: 'worker', room: () => 1 },
      agents: new Map([[AGENT, {}]]),
      beforeLook: () => asked.push('before'),
      runs: () => [],
      launch: ({ id }) => launched.push(id),
    });
    await leases.start();
    await until(() => asked.length >= 6);
    expect(asked.slice(0, 6)).toEqual(['claim', 'before', 'waits', 'before', 'waits', 'before']);
    const task = await acceptOne(stores.tasks);
    await until(() => launched.length > 0);
    expect(launched).toEqual([task.id]);
    leases.stop();
    await leases.end();
  });
});
