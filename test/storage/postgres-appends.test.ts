import { afterAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import type { LangoError } from '../../src/core/errors.js';
import { newId } from '../../src/core/ids.js';
import { silentLogger } from '../../src/core/logger.js';
import { openPostgresStorage } from '../../src/storage/postgres/storage.js';
import type { Fence } from '../../src/stores/tasks.js';
import { acceptOne, ALICE, delta, fenceOf, newTask } from '../suites/task-store-fixtures.js';
import { startPostgres } from '../support/postgres.js';

const server = await startPostgres();
afterAll(() => server?.stop());
const onServer = server ? it : it.skip;

/** Two processes on an empty database. */
async function openTwo() {
  const database = await server!.database();
  const options = { connections: 8, statementSeconds: 30, pooling: 'session', tables: [] } as const;
  const open = () => openPostgresStorage({ ...options, url: database.url, logger: silentLogger });
  return { database, one: await open(), two: await open() };
}

describe('the appends to PostgreSQL', () => {
  onServer(
    'write the appends of one turn in one statement, and each fails or succeeds for itself',
    async () => {
      const { database, one, two } = await openTwo();
      const tasks = await Promise.all(
        Array.from({ length: 6 }, () => acceptOne(one.tasks, { lease: 'one' })),
      );
      const [taken, full, ...others] = tasks;
      await two.tasks.requestCancel(ALICE, taken!.id);
      await database.run(`CREATE TABLE inserts (n INTEGER); CREATE FUNCTION noted() RETURNS TRIGGER LANGUAGE plpgsql AS
      $$ BEGIN INSERT INTO inserts VALUES (1); RETURN NULL; END $$;
      CREATE TRIGGER noted AFTER INSERT ON events FOR EACH STATEMENT EXECUTE FUNCTION noted()`);
      const statements = async () =>
        (await database.run('SELECT count(*)::int AS n FROM inserts')).rows as { n: number }[];
      const gone = { ...fenceOf(taken!), epoch: 9 };
      const appended = (fence: Fence, text: string) => one.tasks.append(fence, [delta(text), delta(text)]);
      const results = await Promise.allSettled([
        appended(gone, 'zombie'),
        ...others.map((task) => appended(fenceOf(task), 'first')),
      ]);
      expect(
        results.map((result) => ('value' in result ? result.value : (result.reason as LangoError).code)),
      ).toEqual(['fenced', 3, 3, 3, 3]);
      expect(await statements()).toEqual([{ n: 1 }]);
      // A row that stands where the next one belongs fails its own append only. Those of one task keep their order.
      await database.run(
        `INSERT INTO events SELECT key, 2, 0, NULL, 'status', '{}' FROM tasks WHERE id = '${full!.id}'`,
      );
      const more = await Promise.allSettled([
        one.tasks.append(fenceOf(full!), [delta('no place')]),
        ...others.flatMap((task) => [appended(fenceOf(task), 'second'), appended(fenceOf(task), 'third')]),
      ]);
      expect(more.map(({ status }) => status)).toEqual(['rejected', ...Array<string>(8).fill('fulfilled')]);
      for (const task of others) {
        const texts = (await two.tasks.read(task.id, 1, 9)).map(({ body }) => 'text' in body && body.text);
        expect(texts).toEqual(['first', 'first', 'second', 'second', 'third', 'third']);
      }
      expect(await two.tasks.read(taken!.id, 1, 9)).toMatchObject([{ body: { type: 'cancel-request' } }]);
      await database.run('DROP TRIGGER noted ON events; DROP FUNCTION noted; DROP TABLE inserts');
      await Promise.all([one.close(), two.close()]);
      await database.drop();
    },
  );

  onServer('hold up no append of another task while one waits for a lock', async () => {
    const { database, one, two } = await openTwo();
    const tasks = await Promise.all(Array.from({ length: 3 }, () => acceptOne(one.tasks, { lease: 'one' })));
    await database.run(`BEGIN; SELECT 1 FROM tasks WHERE id = '${tasks[1]!.id}' FOR UPDATE`);
    const [first, stuck, last] = tasks.map((task) => one.tasks.append(fenceOf(task), [delta('said')]));
    expect(await Promise.all([first, last])).toEqual([2, 2]);
    expect(await one.tasks.append(fenceOf(tasks[0]!), [delta('more')])).toBe(3);
    expect(await two.tasks.read(tasks[1]!.id, 1, 9)).toEqual([]);
    await database.run('COMMIT');
    expect(await stuck).toBe(2);
    await Promise.all([one.close(), two.close()]);
    await database.drop();
  });
});

describe('the acceptance of messages by PostgreSQL', () => {
  onServer('is one statement for those of one turn, and each succeeds or fails for itself', async () => {
    const { database, one, two } = await openTwo();
    const entries = Array.from({ length: 6 }, (_, at) => newTask(at < 2 ? { givenContextId: newId() } : {}));
    await two.tasks.accept(entries[5]!);
    const statements = jest.spyOn(pg.Client.prototype, 'query');
    const again = { ...entries[4]!, id: newId() };
    const sent = [...entries, again].map((entry) => one.tasks.accept(entry));
    const outcomes = await Promise.all(sent);
    const inserts = statements.mock.calls.filter((call) => JSON.stringify(call).includes('INTO inbox'));
    statements.mockRestore();
    const accepted = Array<string>(5).fill('accepted');
    expect(outcomes.map(({ kind }) => kind)).toEqual([...accepted, 'repeated', 'repeated']);
    // Those with and without a context, and the one that was sent twice.
    expect(inserts).toHaveLength(2);
    const { rows } = await database.run('SELECT id FROM tasks ORDER BY key');
    const made = entries.slice(0, 5).map(({ id }) => id);
    const ids = (rows as { id: string }[]).map(({ id }) => id).filter((id) => made.includes(id));
    expect(ids).toEqual(made.toSorted());
    // A message that cannot be stored fails alone.
    const [taken, fresh] = [newTask({ id: entries[0]!.id }), newTask()];
    const settled = await Promise.allSettled([taken, fresh].map((entry) => one.tasks.accept(entry)));
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    await Promise.all([one.close(), two.close()]);
    await database.drop();
  });
});

describe('the look for earlier messages in PostgreSQL', () => {
  onServer('is one statement for those of one turn, and finds the ones that were sent before', async () => {
    const { database, one, two } = await openTwo();
    const entries = Array.from({ length: 6 }, () => newTask());
    const [first, last] = [entries[0]!, entries.at(-1)!];
    for (const entry of [first, last]) await two.tasks.accept(entry);
    const statements = jest.spyOn(pg.Client.prototype, 'query');
    const news = await Promise.all(entries.slice(1, -1).map(async (entry) => one.tasks.findEarlier(entry)));
    expect(news).toEqual(Array(4).fill(undefined));
    const asked = JSON.stringify(statements.mock.calls);
    expect(asked.match(/FROM inbox/g)).toHaveLength(1);
    statements.mockRestore();
    const sent = entries.map((entry, at) => ({ ...entry, isSame: () => at === 0 }));
    const found = await Promise.all(sent.map(async (entry) => one.tasks.findEarlier(entry)));
    expect(found.map((outcome) => outcome?.kind)).toEqual([
      ...['repeated', undefined, undefined, undefined, undefined, 'conflict'],
    ]);
    await database.run('DROP TABLE inbox');
    const lost = await Promise.allSettled(entries.map(async (entry) => one.tasks.findEarlier(entry)));
    expect(lost.map(({ status }) => status)).toEqual(Array(6).fill('rejected'));
    await Promise.all([one.close(), two.close()]);
    await database.drop();
  });
});
