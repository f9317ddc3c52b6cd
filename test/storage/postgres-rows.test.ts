import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { silentLogger } from '../../src/core/logger.js';
import { openPostgresStorage } from '../../src/storage/postgres/storage.js';
import type { Storage } from '../../src/stores/storage.js';
import {
  acceptOne,
  ALICE,
  delta,
  fenceOf,
  message,
  newInput,
  runEnd,
  turnEnd,
} from '../suites/task-store-fixtures.js';
import { startPostgres } from '../support/postgres.js';

const server = await startPostgres();
const database = await server?.database();
afterAll(() => server?.stop());

const open = () =>
  openPostgresStorage({
    ...{ connections: 4, statementSeconds: 30, pooling: 'session', tables: [], logger: silentLogger },
    url: database!.url,
  });
const rowsOf = async <Row>(sql: string) => (await database!.run(sql)).rows as readonly Row[];
const TEXT = `${'Each answer says it in other words, "quoted" \\ ✓ 💡. '.repeat(3)}\n${Math.PI}`;

(server ? describe : describe.skip)('the rows of PostgreSQL', () => {
  let one: Storage;
  /** Another process, which has to read what the first one wrote. */
  let two: Storage;
  beforeAll(async () => {
    one = await open();
    two = await open();
  });
  afterAll(async () => {
    await Promise.all([one.close(), two.close()]);
    await database!.drop();
  });

  it('hold texts deflated, and short and long ones and messages as they are', async () => {
    const task = await acceptOne(one.tasks, { message: message(TEXT) });
    const long = TEXT.repeat(300);
    const written = [delta(TEXT), delta('no'), turnEnd(TEXT), delta(long), runEnd('completed')];
    for (const event of written) await one.tasks.append(fenceOf(task), [event]);
    const events = await two.tasks.read(task.id, 1, 9);
    expect(events.map(({ author, body }) => ({ author, body }))).toEqual(written);
    const session = await two.tasks.readSession(
      { ...(await acceptOne(two.tasks)), contextId: 'context-1' },
      9,
    );
    expect(session.map(({ body }) => body)).toEqual([
      expect.objectContaining({ type: 'message' }),
      ...[written[2]!.body, written[4]!.body],
    ]);
    const rows = await rowsOf<{ body: string; stored: number | null }>(
      `SELECT body, octet_length(deflated) AS stored FROM events JOIN tasks ON key = task WHERE id = '${task.id}' ORDER BY seq`,
    );
    const bytes = written.map(({ body }) => Buffer.byteLength(JSON.stringify(body)));
    expect(rows.map(({ stored }) => stored !== null)).toEqual([false, true, false, true, false, true]);
    expect(rows[1]!.body).toBe(String(bytes[0]));
    expect(rows[1]!.stored).toBeLessThan(bytes[0]! / 2);
  });

  it('give back all the bytes of their texts when they are removed', async () => {
    const task = await acceptOne(one.tasks);
    const fence = fenceOf(task);
    for (const event of [delta(TEXT.repeat(20)), delta(TEXT), runEnd('completed')])
      await one.tasks.append(fence, [event]);
    const [before] = await rowsOf<{ n: number }>(
      `SELECT sum(CASE WHEN deflated IS NULL THEN octet_length(body) ELSE split_part(body, ' ', 1)::int END)::int AS n
      FROM events JOIN tasks ON key = task WHERE id = '${task.id}'`,
    );
    expect(before!.n).toBeGreaterThan(TEXT.length * 20);
    const used = await one.taskUse.add(ALICE, 1_000_000);
    expect(await one.retention.remove([task.id])).toEqual([task.id]);
    expect(await one.taskUse.of(ALICE)).toBe(used - before!.n);
  });

  it('hold the texts of a run in less room with those before them, and are read from anywhere', async () => {
    const task = await acceptOne(one.tasks);
    const [fence, other] = [fenceOf(task), fenceOf(task)];
    const texts = Array.from({ length: 24 }, (_, n) =>
      delta(`${n}: ${TEXT}${n === 13 ? 'x'.repeat(25_000) : ''}`),
    );
    for (const text of texts.slice(0, 16)) await one.tasks.append(fence, [text]);
    await one.tasks.append(fence, [delta('no')]);
    await one.tasks.append(fence, [delta(TEXT), turnEnd(TEXT)]);
    await two.tasks.addInput(newInput(task));
    for (const text of texts.slice(16, 21)) await one.tasks.append(fence, [text]);
    await one.tasks.append(other, texts.slice(21));
    const written = [
      ...texts.slice(0, 16),
      delta('no'),
      delta(TEXT),
      turnEnd(TEXT),
      undefined,
      ...texts.slice(16),
    ];
    for (let after = 1; after < 31; after += 1) {
      const events = await two.tasks.read(task.id, after, 40);
      const expected = written.slice(after - 1).map((event) => event?.body);
      expect(events.map(({ body }) => (body.type === 'message' ? undefined : body))).toEqual(expected);
    }
    const rows = await rowsOf<{ body: string; stored: number | null }>(
      `SELECT body, octet_length(deflated) AS stored FROM events JOIN tasks ON key = task
      WHERE id = '${task.id}' AND type <> 'message' ORDER BY seq`,
    );
    const chains = rows.map(({ body, stored }) => (stored === null ? '-' : (body.split(' ')[1] ?? '0')));
    expect(chains.join(' ')).toBe('0 1 2 3 4 5 6 7 8 9 10 11 0 1 0 1 - 2 2 3 4 5 6 0');
    expect(rows[1]!.stored).toBeLessThan(rows[0]!.stored! / 2);
  });

  it('are said to be damaged when they cannot be inflated', async () => {
    const task = await acceptOne(one.tasks);
    const fence = fenceOf(task);
    for (let count = 0; count < 2; count += 1) await one.tasks.append(fence, [delta(TEXT)]);
    await database!.run(
      `UPDATE events SET deflated = '\\xffff' FROM tasks WHERE key = task AND id = '${task.id}' AND seq = 2`,
    );
    await expect(two.tasks.read(task.id, 0, 9)).rejects.toThrow(`Entry 2 of task ${task.id} is damaged.`);
    await expect(two.tasks.read(task.id, 2, 9)).rejects.toThrow(`Entry 3 of task ${task.id} is damaged.`);
  });

  it('are not written again for leases that appends renew, but for one of each process', async () => {
    const [first, ...others] = await Promise.all([1, 2, 3].map(() => acceptOne(one.tasks, { lease: 'one' })));
    const ids = [first!, ...others].map(({ id }) => id).toSorted();
    const stamps = async () =>
      (
        await rowsOf<{ xmin: string }>(
          `SELECT xmin FROM tasks WHERE id = ANY('{${ids.join(',')}}') ORDER BY id`,
        )
      ).map(({ xmin }) => xmin);
    const before = await stamps();
    const held = await one.tasks.renew('one', ids);
    expect(held.map(({ id }) => id).toSorted()).toEqual(ids);
    const after = await stamps();
    expect(after.map((stamp, index) => stamp === before[index])).toEqual([false, true, true]);
    await database!.run(`UPDATE tasks SET lease_until = lango_now() + 1900 WHERE id = '${ids[1]}'`);
    const made = await stamps();
    await one.tasks.renew('one', ids);
    expect((await stamps()).map((stamp, index) => stamp === made[index])).toEqual([false, false, true]);
    expect(await two.tasks.renew('two', ids)).toEqual([]);
  });
});
