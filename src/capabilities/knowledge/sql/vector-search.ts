import { setImmediate as nextTurn } from 'node:timers/promises';
import { BoundedCache } from '../../../core/bounded-cache.js';
import { LangoError } from '../../../core/errors.js';
import { cosine, Nearest, VectorTable } from './vector-table.js';
import type { CollectionRow } from '../stores/library.js';
import { all, type SqlDatabase } from '../../../core/sql.js';

/** The limit of the cache, over all collections. The collection searched last stays cached even if it is larger. */
const MEMORY_BYTES = 256 * 1024 * 1024;
/** Rows to compare before yielding to the event loop. */
const ROWS_PER_TURN = 10_000;
/** Rows to read before yielding to the event loop. */
const ROWS_AT_ONCE = 500;
/** As the table in memory is slightly imprecise, this many times `limit` of its best rows are compared exactly. */
const CANDIDATES = 4;

/** The vectors of a collection after a position, in the order of that column. */
const page = (column: string): string => `SELECT passage, vector, ${column} AS at FROM vectors
  WHERE collection = ? AND ${column} > ? ORDER BY ${column} LIMIT ?`;
const SOME = 'SELECT passage, vector FROM vectors WHERE passage IN';

/** The vectors of a collection, in memory or still being read. */
interface CachedTable {
  readonly table: VectorTable;
  /** Resolves once the table is complete. */
  readonly reading: Promise<void>;
  /** The memory they take. 0 while they are being read. */
  bytes: number;
  readonly dimension: number;
  /** The position of the last vector that was read. */
  at: number;
}

interface VectorRow {
  readonly passage: number;
  readonly vector: Buffer;
}

/** Searches the vectors of collections. Keeps compact copies of the collections last searched in memory. */
export class VectorSearch {
  readonly #database: SqlDatabase;
  /** By collection id, with the memory they take: none while they are being read. */
  readonly #tables = new BoundedCache<number, CachedTable>(MEMORY_BYTES, { keepsNewest: true });

  constructor(database: SqlDatabase) {
    this.#database = database;
  }

  /** Resolves with ids of passages and their cosines, nearest first. Rejects with `conflict` if the dimension differs. */
  async find(
    collections: readonly CollectionRow[],
    vector: Float32Array,
    limit: number,
  ): Promise<ReadonlyMap<number, number>> {
    const best = new Nearest(limit * CANDIDATES);
    for (const collection of collections) {
      assertDimension(collection, vector.length);
      const table = await this.#table(collection);
      for (let row = 0; row < table.size; row += ROWS_PER_TURN) {
        table.scan(vector, best, { from: row, to: row + ROWS_PER_TURN });
        if (row + ROWS_PER_TURN < table.size) await nextTurn();
      }
    }
    const sql = `${SOME} ${this.#database.dialect.items('number')}`;
    const ids = JSON.stringify(best.list().map(({ id }) => id));
    const rows = await this.#database.read(() => all<VectorRow>(sql, ids));
    const exact = rows
      .map((row) => ({ id: row.passage, score: cosine(toVector(row.vector), vector) }))
      .sort((a, b) => b.score - a.score || a.id - b.id);
    return new Map(exact.slice(0, limit).map(({ id, score }) => [id, score]));
  }

  /** Call it after a commit that added these vectors. */
  added(collectionId: number, vectors: ReadonlyMap<number, Float32Array>): void {
    this.#change(collectionId, (table) => vectors.forEach((vector, id) => table.set(id, vector)));
  }

  /** Call it after a commit that removed these vectors. */
  removed(collectionId: number, ids: readonly number[]): void {
    this.#change(collectionId, (table) => ids.forEach((id) => table.delete(id)));
  }

  /** Call it after a commit that removed all vectors of the collection. */
  dropped(collectionId: number): void {
    this.#tables.take(collectionId);
  }

  /** Changes a table once it is read completely, because its rows may have been read before the commit. */
  #change(collectionId: number, change: (table: VectorTable) => void): void {
    const cached = this.#tables.get(collectionId);
    cached?.reading.then(
      () => change(cached.table),
      () => undefined,
    );
  }

  async #table(collection: CollectionRow): Promise<VectorTable> {
    const known = this.#tables.get(collection.id);
    const cached = known?.dimension === collection.dimension ? known : this.#begin(collection);
    this.#tables.set(collection.id, cached, cached.bytes);
    try {
      await cached.reading;
      // Other processes may have written more. Vectors that they removed stay in the table until the exact comparison.
      if (this.#database.isShared) await this.#readOn(collection.id, cached);
      cached.bytes = cached.table.bytes;
      // A write may have dropped the table meanwhile.
      if (this.#tables.get(collection.id) === cached) this.#tables.set(collection.id, cached, cached.bytes);
      return cached.table;
    } catch (error) {
      if (this.#tables.get(collection.id) === cached) this.#tables.take(collection.id);
      throw error;
    }
  }

  #begin({ id, dimension, embedded }: CollectionRow): CachedTable {
    const empty = { table: new VectorTable(dimension, embedded), bytes: 0, dimension, at: 0 };
    return Object.assign(empty, { reading: this.#readOn(id, empty) });
  }

  /** Reads the vectors that are not in the table yet. Only the rows of shared databases have stamps, which rise with each write. */
  async #readOn(collectionId: number, cached: Pick<CachedTable, 'table' | 'at'>): Promise<void> {
    const sql = page(this.#database.isShared ? 'stamp' : 'passage');
    for (;;) {
      const rows = await this.#database.read(() =>
        all<VectorRow & { readonly at: number }>(sql, collectionId, cached.at, ROWS_AT_ONCE),
      );
      for (const { passage, vector } of rows) cached.table.set(passage, toVector(vector));
      cached.at = rows.at(-1)?.at ?? cached.at;
      if (rows.length < ROWS_AT_ONCE) return;
      await nextTurn();
    }
  }
}

export function assertDimension({ name, dimension }: CollectionRow, given: number): void {
  if (dimension === 0 || dimension === given) return;
  const text = `The vectors of the collection ${name} have ${dimension} numbers, and these have ${given}.`;
  throw new LangoError('conflict', text, { hint: 'Compute them again with: lango ingest --reembed' });
}

/** Copies the bytes, because the driver's memory may not be aligned for floats. */
const toVector = (blob: Buffer): Float32Array => new Float32Array(new Uint8Array(blob).buffer);

export function toBlob(vector: Float32Array): Buffer {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
}
