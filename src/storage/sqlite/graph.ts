import type {
  EdgeQuery,
  GraphStore,
  KnownTriple,
  NewTriple,
  Triple,
  TriplePattern,
} from '../../stores/graph.js';
import { nameKey } from '../../stores/graph.js';
import type { Page } from '../../stores/page.js';
import type { Scope } from '../../core/task.js';
import { parsePosition, toPositionText } from '../position.js';
import type { Row } from '../records.js';
import { toRecord } from '../records.js';
import type { SqliteDatabase, Step } from './database.js';
import type { Prepared } from './prepared.js';

const COLUMNS = ['subject', 'predicate', 'object'] as const;

const NAME_ID = 'SELECT id FROM graph_names WHERE tenant = ? AND owner = ? AND key = ?';
const INSERT_NAME = 'INSERT INTO graph_names (tenant, owner, key, name) VALUES (?, ?, ?, ?)';
const INSERT_TRIPLE = `INSERT OR IGNORE INTO graph_triples (subject, predicate, object, source, context, at, from_outside)
  VALUES (?, ?, ?, ?, ?, ?, ?)`;
/** The id for "no context". */
const NONE = 0;
/** An id that no name has. */
const UNKNOWN = -1;
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
const LIST = `
  SELECT n.key, n.name AS subject, t.predicate AS predicate_id, t.object AS object_id, t.source AS source_id, t.at, t.from_outside,
    (SELECT name FROM graph_names WHERE id = t.predicate) AS predicate,
    (SELECT name FROM graph_names WHERE id = t.object) AS object,
    (SELECT name FROM graph_names WHERE id = t.source) AS source
  FROM graph_names n CROSS JOIN graph_triples t ON t.subject = n.id
  WHERE n.tenant = ? AND n.owner = ? AND n.key >= ?
    AND (n.key > ? OR (t.predicate, t.object, t.source) > (?, ?, ?))
  ORDER BY n.key, t.predicate, t.object, t.source LIMIT ?`;

interface Condition {
  /** A condition on the columns of `graph_triples`. */
  readonly sql: string;
  readonly values: readonly (number | string)[];
}

/** A triple with one of its sources. */
interface ListRow extends Triple {
  readonly key: string;
  readonly predicate_id: number;
  readonly object_id: number;
  readonly source_id: number;
  readonly source: string;
  readonly at: number;
  readonly from_outside: 0 | 1;
}

/** The ids of the names of a triple. */
type Ids = Readonly<Record<'subject' | 'predicate' | 'object' | 'source' | 'context', number>>;

/** Stores each triple as the ids of four names. A name belongs to one owner, and so does the triple. See schema.ts. */
export class SqliteGraphStore implements GraphStore {
  readonly #database: SqliteDatabase;
  readonly #prepared: Prepared;

  constructor(database: SqliteDatabase) {
    this.#database = database;
    this.#prepared = database.prepared;
  }

  async add(scope: Scope, triples: readonly NewTriple[]): Promise<number> {
    return this.#database.write(() => this.addInTransaction(scope, triples));
  }

  /** Like `add`, inside a write of another store. */
  addInTransaction(scope: Scope, triples: readonly NewTriple[]): number {
    const now = this.#database.now();
    let added = 0;
    for (const { subject, predicate, object, source, fromOutside, contextId } of triples) {
      const ids = [subject, predicate, object, source].map((name) => this.#intern(scope, name));
      const context = contextId === undefined ? NONE : this.#intern(scope, contextName(contextId));
      added += this.#prepared.run(INSERT_TRIPLE, ...ids, context, now, fromOutside ? 1 : 0).changes;
    }
    return added;
  }

  async remove(scope: Scope, pattern: TriplePattern): Promise<number> {
    if (COLUMNS.every((column) => pattern[column] === undefined)) return this.#removeAll(scope);
    return this.#deleteAll(() => this.#matching(scope, pattern));
  }

  async removeSource(scope: Scope, source: string): Promise<number> {
    return this.#deleteAll(() => this.#statedBy(scope, source));
  }

  /** Like `removeSource`, inside a write of another store. */
  removeSourceInTransaction(scope: Scope, source: string): void {
    while (!this.#deleteSome(this.#statedBy(scope, source)).isLast);
  }

  async forgetContext(scope: Scope, contextId: string): Promise<number> {
    return this.#deleteAll(() => ({
      sql: 'context = ? AND context > 0',
      values: [this.#idOf(scope, contextName(contextId)) ?? UNKNOWN],
    }));
  }

  async find(scope: Scope, pattern: TriplePattern, limit: number): Promise<readonly KnownTriple[]> {
    return this.#database.read(() => this.#select(this.#matching(scope, pattern), limit));
  }

  async list(scope: Scope, after: string, limit: number): Promise<Page<KnownTriple>> {
    const [key, ...ids] = parsePosition(after, ['', NONE, NONE, NONE]);
    return this.#database.read(() => {
      const rows = this.#prepared.all<ListRow>(LIST, scope.tenant, scope.owner, key, key, ...ids, limit);
      const triples = [...Map.groupBy(rows, tripleOf).values()];
      const isLast = rows.length < limit;
      // The last triple may have further sources. It moves to the next page, unless it fills this page alone.
      const complete = isLast || triples.length === 1 ? triples : triples.slice(0, -1);
      return {
        items: complete.map(mergeSources),
        next: isLast ? undefined : positionAfter(complete.at(-1)!.at(-1)!),
      };
    });
  }

  async edges(scope: Scope, node: string, query: EdgeQuery): Promise<readonly KnownTriple[]> {
    return this.#database.read(() => {
      const id = this.#idOf(scope, node);
      if (id === undefined) return [];
      const along = this.#along(scope, query.predicates);
      const ends = query.direction === 'both' ? ['out', 'in'] : [query.direction];
      return ends.flatMap((end) => {
        const column = end === 'out' ? 'subject' : 'object';
        const condition = { sql: `${column} = ?${along.sql}`, values: [id, ...along.values] };
        return this.#select(condition, query.limit);
      });
    });
  }

  #along(scope: Scope, predicates: readonly string[] | undefined): Condition {
    if (!predicates) return { sql: '', values: [] };
    const ids = predicates.flatMap((name) => this.#idOf(scope, name) ?? []);
    return { sql: ` AND predicate IN (${ids.map(() => '?').join(', ')})`, values: ids };
  }

  /** A name that this owner does not have is queried as `UNKNOWN`, which matches nothing. */
  #matching(scope: Scope, pattern: TriplePattern): Condition {
    const named = COLUMNS.filter((column) => pattern[column] !== undefined);
    if (named.length === 0) return { sql: OWNED, values: [scope.tenant, scope.owner] };
    return {
      sql: named.map((column) => `${column} = ?`).join(' AND '),
      values: named.map((column) => this.#idOf(scope, pattern[column]!) ?? UNKNOWN),
    };
  }

  #select({ sql, values }: Condition, limit: number): readonly KnownTriple[] {
    const rows = this.#prepared.all<Row>(
      `
      SELECT s.name AS subject, p.name AS predicate, o.name AS object, found.sources, found.at, found.from_outside
      FROM (
        SELECT subject, predicate, object, max(at) AS at, min(from_outside) AS from_outside, json_group_array(
          (SELECT name FROM graph_names WHERE id = source) ORDER BY at, source
        ) AS sources
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

  #statedBy(scope: Scope, source: string): Condition {
    return { sql: 'source = ?', values: [this.#idOf(scope, source) ?? UNKNOWN] };
  }

  /** Removes triples by ranges of names, so that no step reads the triples of other owners. */
  async #removeAll({ tenant, owner }: Scope): Promise<number> {
    let removed = 0;
    for (let after = ''; ;) {
      const keys = this.#database.read(() =>
        this.#prepared.column<string>(NAMES_AFTER, tenant, owner, after, ROWS_AT_ONCE),
      );
      const last = keys.at(-1);
      if (last === undefined) return removed;
      const values = [tenant, owner, after, last];
      removed += await this.#deleteAll(() => ({ sql: NAMED_BETWEEN, values }));
      after = last;
    }
  }

  /** The condition is built again in each step, as the id of a removed name may be reused. */
  #deleteAll(condition: () => Condition): Promise<number> {
    return this.#database.writeInSteps(() => this.#deleteSome(condition()));
  }

  /** Counts the triples that no other source states: those are removed for good. */
  #deleteSome({ sql, values }: Condition): Step {
    const rows = this.#prepared.all<Ids>(
      `SELECT subject, predicate, object, source, context FROM graph_triples WHERE ${sql} LIMIT ?`,
      ...values,
      ROWS_AT_ONCE,
    );
    let count = 0;
    for (const { subject, predicate, object, source } of rows) {
      this.#prepared.run(DELETE_ROW, subject, predicate, object, source);
      if (this.#prepared.first(STATED, subject, predicate, object) === undefined) count += 1;
    }
    const names = new Set(rows.flatMap((row) => Object.values(row)));
    for (const id of names) this.#prepared.run(DELETE_UNUSED_NAME, { id });
    return { count, isLast: rows.length < ROWS_AT_ONCE };
  }

  #intern(scope: Scope, name: string): number {
    const known = this.#idOf(scope, name);
    if (known !== undefined) return known;
    const { lastInsertRowid } = this.#prepared.run(
      INSERT_NAME,
      scope.tenant,
      scope.owner,
      nameKey(name),
      name.trim(),
    );
    return Number(lastInsertRowid);
  }

  #idOf(scope: Scope, name: string): number | undefined {
    const { tenant, owner } = scope;
    return this.#prepared.first<{ readonly id: number }>(NAME_ID, tenant, owner, nameKey(name))?.id;
  }
}

function tripleOf({ key, predicate_id, object_id }: ListRow): string {
  return `${predicate_id} ${object_id} ${key}`;
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

function positionAfter({ predicate_id, object_id, source_id, key }: ListRow): string {
  return toPositionText([key, predicate_id, object_id, source_id]);
}

/** The name that stands for a context. No source has such a name. */
function contextName(contextId: string): string {
  return `context ${contextId}`;
}
