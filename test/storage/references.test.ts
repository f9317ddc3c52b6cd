import { expect, it } from '@jest/globals';
import { silentLogger } from '../../src/core/logger.js';
import { all, runNow, type Dialect, type Statement } from '../../src/core/sql.js';
import { withContents } from '../../src/storage/references.js';
import type { StoredEvent } from '../../src/storage/rows.js';
import { openSqliteStorage } from '../../src/storage/sqlite/storage.js';
import { taskSql } from '../../src/storage/task-sql.js';

const sql = taskSql(new Proxy({} as Dialect, { get: () => (given: string) => given }));

/** Reads a page, and returns the statements that it took. */
function statementsFor(bodies: readonly object[]): readonly Statement[] {
  const rows = bodies.map((body, index): StoredEvent => {
    return { seq: index + 1, at: 0, author: null, body: JSON.stringify(body) };
  });
  const statements: Statement[] = [];
  runNow(withContents(sql, 'above', rows), (statement) => {
    statements.push(statement);
    return { rows: [], changes: 0 };
  });
  return statements;
}

const reference = (...from: readonly [string, number, number, ...number[]]) => ({
  ...{ type: 'text-delta', artifactId: 'x', replace: false },
  from,
});

it('a page of a thousand references takes one statement more, which names each entry once', () => {
  const page = Array.from({ length: 1_000 }, (_, index) =>
    reference(`task ${index % 3}`, 1 + index, 1 + index),
  );
  expect(statementsFor(page)).toHaveLength(1);
  const [statement] = statementsFor([
    reference('b', 4, 6),
    reference('a', 7, 7),
    reference('b', 2, 3),
    reference('b', 5, 5, 10, 20),
    reference('b', 9, 9),
  ]);
  expect(statement!.values).toEqual(['above', '[["a",7,7],["b",2,6],["b",9,9]]']);
});

it('SQLite reads no other entries of the other tasks', async () => {
  const storage = openSqliteStorage({
    file: ':memory:',
    synchronous: 'normal',
    logger: silentLogger,
  });
  const { origins } = taskSql(storage.database.dialect);
  const plan = await storage.database.read(() =>
    all<{ readonly detail: string }>(`EXPLAIN QUERY PLAN ${origins}`, '', '[]'),
  );
  const details = plan
    .map(({ detail }) => detail)
    .filter((detail) => /\b(?:tasks|events|below|above)\b/.test(detail));
  expect(details).toEqual([
    expect.stringMatching(/^SEARCH below USING INDEX .*\(id=\?\)/),
    expect.stringMatching(/^SEARCH above USING INDEX .*\(id=\?\)/),
    'SEARCH events USING PRIMARY KEY (task=? AND seq>? AND seq<?)',
  ]);
  await storage.close();
});

it('a page without references takes none', () => {
  const whole = { ...reference('a', 1, 1), text: 'here' };
  expect(statementsFor([whole, { type: 'activity', activity: { type: 'turn-start' } }])).toEqual([]);
});
