import type { Page } from '../../../core/page.js';
import { all, column, first, lockOf, run, writeInSteps } from '../../../core/sql.js';
import type { Query, SqlDatabase, Step } from '../../../core/sql.js';
import type { Scope } from '../../../core/task.js';
import { parsePosition, toPositionText } from '../../../stores/position.js';
import { toRecord, type Row } from '../../../stores/records.js';

/** One statement: SUBJECT has the relation PREDICATE to OBJECT. All three are names. */
export interface Triple {
  readonly subject: string;
  readonly predicate: string;
  readonly object: string;
}

export interface NewTriple extends Triple {
  /** The origin ("task 0199…", "knowledge deploy-key", "docs/guide.md"). A triple may have several. */
  readonly source: string;
  /** Whether the statement comes from outside: a page, a document, another agent. */
  readonly fromOutside: boolean;
  /** The context of the statement; absent for one from a document. */
  readonly contextId?: string;
}

export interface KnownTriple extends Triple {
  /** The oldest first. */
  readonly sources: readonly string[];
  /** The time of the newest source, in milliseconds since the epoch. */
  readonly at: number;
  /** Whether every source is from outside. */
  readonly fromOutside: boolean;
}

/** A member that is absent matches anything. */
type TriplePattern = Partial<Triple>;

export interface EdgeQuery {
  /** `out`: the node is the subject; `in`: it is the object. */
  readonly direction: 'out' | 'in' | 'both';
  /** Undefined for all. */
  readonly predicates: readonly string[] | undefined;
  readonly limit: number;
}

/** Returns one key for all spellings of a name that differ only in case, white space or Unicode form. */
export function nameKey(name: string): string {
  return name.normalize('NFKC').trim().replace(/\s+/gu, ' ').toLowerCase();
}

const COLUMNS = ['subject', 'predicate', 'object'] as const;

const NAME_ID = 'SELECT id FROM graph_names WHERE tenant = ? AND owner = ? AND key = ?';
const NAME_IDS = 'SELECT id FROM graph_names WHERE tenant = ? AND owner = ? AND key IN';
const INSERT_NAME = 'INSERT INTO graph_names (tenant, owner, key, name) VALUES (?, ?, ?, ?) RETURNING id';
const INSERT_TRIPLE = `INSERT INTO graph_triples (subject, predicate, object, source, context, at, from_outside)
  VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`;
/** The id that stands for "no context". */
const NONE = 0;
/** The number of rows that one transaction removes, and of names whose triples it searches for. */
const ROWS_AT_ONCE = 200;
const DELETE_ROW =
  'DELETE FROM graph_triples WHERE subject = ? AND predicate = ? AND object = ? AND source = ?';
const STATED = 'SELECT 1 FROM graph_triples WHERE subject = ? AND predicate = ? AND object = ?';
const NAMES_AFTER =
  'SELECT key FROM graph_names WHERE tenant = ? AND owner = ? AND key > ? ORDER BY key LIMIT ?';
const NAMED_BETWEEN =
  'subject IN (SELECT id FROM graph_names WHERE tenant = ? AND owner = ? AND key > ? AND key <= ?)';
/** Checked for each row, so that a query with a limit stops early. */
const OWNED = 'EXISTS (SELECT 1 FROM graph_names WHERE id = subject AND tenant = ? AND owner = ?)';
/** Removes a name that no triple uses any more, so that nothing of forgotten triples remains. */
const DELETE_UNUSED_NAME = `
  DELETE FROM graph_names WHERE id = @id
    AND NOT EXISTS (SELECT 1 FROM graph_triples WHERE subject = @id)
    AND NOT EXISTS (SELECT 1 FROM graph_triples WHERE object = @id)
    AND NOT EXISTS (SELECT 1 FROM graph_triples WHERE predicate = @id)
    AND NOT EXISTS (SELECT 1 FROM graph_triples WHERE source = @id)
    AND NOT EXISTS (SELECT 1 FROM graph_triples WHERE context = @id AND context > 0)`;

/** The triples of an owner, one row per source, sorted by subject, from a position on. */
const list = (orderedJoin: string): string => `
  SELECT n.key, n.name AS subject, t.predicate AS predicate_id, t.object AS object_id, t.source AS source_id, t.at, t.from_outside,
    (SELECT name FROM graph_names WHERE id = t.predicate) AS predicate,
    (SELECT name FROM graph_names WHERE id = t.object) AS object,
    (SELECT name FROM graph_names WHERE id = t.source) AS source
  FROM graph_names n ${orderedJoin} graph_triples t ON t.subject = n.id
  WHERE n.tenant = ? AND n.owner = ? AND n.key >= ?
    AND (n.key > ? OR (t.predicate, t.object, t.source) > (?, ?, ?))
  ORDER BY n.key, t.predicate, t.object, t.source LIMIT ?`;

interface Condition {
  /** A condition on the columns of `graph_triples`. */
  readonly sql: string;
  readonly values: readonly string[];
}

/** A triple with one of its sources. */
type ListRow = Triple &
  Readonly<Record<'key' | 'source', string>> &
  Readonly<Record<'predicate_id' | 'object_id' | 'source_id' | 'at' | 'from_outside', number>>;

/** The ids of the names of a triple. */
type Ids = Readonly<Record<'subject' | 'predicate' | 'object' | 'source' | 'context', number>>;

/**
 * An owner's triples, each stored as the ids of four names of this owner. Names with the same `nameKey` are the same name
 * and are shown as first written. Writes resolve after commit and reject with code `storage`. Adding is atomic. Removing
 * runs in steps, so that other work is not held up; when one fails, a repeated call continues.
 */
export class GraphStore {
  readonly #database: SqlDatabase;

  constructor(database: SqlDatabase) {
    this.#database = database;
  }

  /** Adds the triples that are not known from their source yet, and resolves with their number. */
  async add(scope: Scope, triples: readonly NewTriple[]): Promise<number> {
    return this.#database.write(lockOf(scope), (now) => this.addInTransaction(scope, triples, now));
  }

  /** Like `add`, inside a write of another store. */
  *addInTransaction(scope: Scope, triples: readonly NewTriple[], now: number): Query<number> {
    let added = 0;
    for (const { subject, predicate, object, source, fromOutside, contextId } of triples) {
      const ids: number[] = [];
      for (const name of [subject, predicate, object, source]) ids.push(yield* this.#intern(scope, name));
      const context = contextId === undefined ? NONE : yield* this.#intern(scope, contextName(contextId));
      added += yield* run(INSERT_TRIPLE, ...ids, context, now, fromOutside ? 1 : 0);
    }
    return added;
  }

  /** Removes all triples that match, and resolves with their number. An empty pattern matches all. */
  async remove(scope: Scope, pattern: TriplePattern): Promise<number> {
    const isAll = COLUMNS.every((column) => pattern[column] === undefined);
    return isAll ? this.#removeAll(scope) : this.#deleteAll(scope, matching(scope, pattern));
  }

  /** Removes a source, and resolves with the number of triples that no other source states. */
  async removeSource(scope: Scope, source: string): Promise<number> {
    return this.#deleteAll(scope, named('source', scope, source));
  }

  /** Like `removeSource`, inside a write of another store. */
  *removeSourceInTransaction(scope: Scope, source: string): Query<void> {
    while (!(yield* deleteSome(named('source', scope, source))).isLast);
  }

  /** Removes the sources of a context, and resolves like `removeSource`. */
  async forgetContext(scope: Scope, contextId: string): Promise<number> {
    const { sql, values } = named('context', scope, contextName(contextId));
    return this.#deleteAll(scope, { sql: `${sql} AND context > 0`, values });
  }

  /** Finds up to `limit` triples, in a stable order. */
  async find(scope: Scope, pattern: TriplePattern, limit: number): Promise<readonly KnownTriple[]> {
    return this.#database.read(() => this.#select(matching(scope, pattern), limit));
  }

  /**
   * Lists all triples in pages, by subject. `limit` counts sources and is at least 1; a triple with more sources comes
   * again with the others. Throws `invalid-input` for an `after` that was not a `next`.
   */
  async list(scope: Scope, after: string, limit: number): Promise<Page<KnownTriple>> {
    const [key, ...ids] = parsePosition(after, ['', NONE, NONE, NONE]);
    const sql = list(this.#database.dialect.orderedJoin);
    const rows = await this.#database.read(() =>
      all<ListRow>(sql, scope.tenant, scope.owner, key, key, ...ids, limit),
    );
    const tripleOf = ({ key, predicate_id, object_id }: ListRow) => `${predicate_id} ${object_id} ${key}`;
    const triples = [...Map.groupBy(rows, tripleOf).values()];
    const isLast = rows.length < limit;
    // The last triple may have further sources. It moves to the next page, unless it fills this page alone.
    const complete = isLast || triples.length === 1 ? triples : triples.slice(0, -1);
    const items = complete.map(mergeSources);
    if (isLast) return { items, next: undefined };
    const last = complete.at(-1)!.at(-1)!;
    return { items, next: toPositionText([last.key, last.predicate_id, last.object_id, last.source_id]) };
  }

  /** Lists the triples of a node, at most `limit` of each direction. */
  async edges(
    scope: Scope,
    node: string,
    { direction, predicates, limit }: EdgeQuery,
  ): Promise<readonly KnownTriple[]> {
    const along = predicates ? ` AND predicate IN (${NAME_IDS} ${this.#database.dialect.items('text')})` : '';
    const names = predicates ? [scope.tenant, scope.owner, JSON.stringify(predicates.map(nameKey))] : [];
    const found: KnownTriple[] = [];
    for (const end of direction === 'both' ? (['out', 'in'] as const) : [direction]) {
      const { sql, values } = named(end === 'out' ? 'subject' : 'object', scope, node);
      const condition = { sql: sql + along, values: [...values, ...names] };
      found.push(...(await this.#database.read(() => this.#select(condition, limit))));
    }
    return found;
  }

  *#select({ sql, values }: Condition, limit: number): Query<readonly KnownTriple[]> {
    const sources = '(SELECT name FROM graph_names WHERE id = source)';
    const rows = yield* all<Row>(
      `
      SELECT s.name AS subject, p.name AS predicate, o.name AS object, found.sources, found.at, found.from_outside
      FROM (
        SELECT subject, predicate, object, max(at) AS at, min(from_outside) AS from_outside,
          ${this.#database.dialect.jsonList(sources, 'at, source')} AS sources
        FROM graph_triples WHERE ${sql} GROUP BY subject, predicate, object LIMIT ?
      ) AS found
      JOIN graph_names s ON s.id = found.subject
      JOIN graph_names p ON p.id = found.predicate
      JOIN graph_names o ON o.id = found.object`,
      ...values,
      limit,
    );
    return rows.map((row) => toRecord(row, { json: ['sources'], flags: ['fromOutside'] }));
  }

  /** Removes triples by ranges of names, so that no step reads the triples of other owners. */
  async #removeAll(scope: Scope): Promise<number> {
    const { tenant, owner } = scope;
    let removed = 0;
    for (let after = ''; ;) {
      const from = after;
      const keys = await this.#database.read(() =>
        column<string>(NAMES_AFTER, tenant, owner, from, ROWS_AT_ONCE),
      );
      const last = keys.at(-1);
      if (last === undefined) return removed;
      const values = [tenant, owner, from, last];
      removed += await this.#deleteAll(scope, { sql: NAMED_BETWEEN, values });
      after = last;
    }
  }

  #deleteAll(scope: Scope, condition: Condition): Promise<number> {
    return writeInSteps(this.#database, lockOf(scope), () => deleteSome(condition));
  }

  *#intern({ tenant, owner }: Scope, name: string): Query<number> {
    const [known] = yield* column<number>(NAME_ID, tenant, owner, nameKey(name));
    return known ?? (yield* column<number>(INSERT_NAME, tenant, owner, nameKey(name), name.trim()))[0]!;
  }
}

/** The triples with this name in a column; none when the owner has no such name. */
function named(column: keyof Ids, { tenant, owner }: Scope, name: string): Condition {
  return { sql: `${column} = (${NAME_ID})`, values: [tenant, owner, nameKey(name)] };
}

function matching(scope: Scope, pattern: TriplePattern): Condition {
  const parts = COLUMNS.flatMap((one) => {
    const name = pattern[one];
    return name === undefined ? [] : [named(one, scope, name)];
  });
  if (parts.length === 0) return { sql: OWNED, values: [scope.tenant, scope.owner] };
  return { sql: parts.map(({ sql }) => sql).join(' AND '), values: parts.flatMap(({ values }) => values) };
}

/** Deletes some rows. Counts the triples that no source states any more. */
function* deleteSome({ sql, values }: Condition): Query<Step> {
  const rows = yield* all<Ids>(
    `SELECT subject, predicate, object, source, context FROM graph_triples WHERE ${sql} LIMIT ?`,
    ...values,
    ROWS_AT_ONCE,
  );
  let count = 0;
  for (const { subject, predicate, object, source } of rows) {
    yield* run(DELETE_ROW, subject, predicate, object, source);
    if ((yield* first(STATED, subject, predicate, object)) === undefined) count += 1;
  }
  const names = new Set(rows.flatMap((row) => Object.values(row)));
  for (const id of names) yield* run(DELETE_UNUSED_NAME, { id });
  return { count, isLast: rows.length < ROWS_AT_ONCE };
}

/** Merges the rows of one triple, of which there is at least one. */
function mergeSources(rows: readonly ListRow[]): KnownTriple {
  const { subject, predicate, object } = rows[0]!;
  const oldestFirst = rows.toSorted((a, b) => a.at - b.at);
  return {
    ...{ subject, predicate, object },
    sources: oldestFirst.map(({ source }) => source),
    at: oldestFirst.at(-1)!.at,
    fromOutside: rows.every((row) => row.from_outside === 1),
  };
}

/** The name that stands for a context. No source has such a name. */
const contextName = (contextId: string): string => `context ${contextId}`;
