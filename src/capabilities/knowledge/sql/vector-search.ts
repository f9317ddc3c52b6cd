import { setImmediate as nextTurn } from 'node:timers/promises';
import { BoundedCache } from '../../../core/bounded-cache.js';
import { LangoError } from '../../../core/errors.js';
import { cosine, Nearest, VectorTable } from './vector-table.js';
import type { CollectionRow } from './library-rows.js';
import { all, first, type SqlDatabase } from '../../../core/sql.js';

/** The limit of the cache, over all collections. The collection searched last stays cached even if it is larger. */
const MEMORY_BYTES = 256 * 1024 * 1024;
/** Rows to compare before yielding to the event loop. */
const ROWS_PER_TURN = 10_000;
/** Rows to read before yielding to the event loop. */
const ROWS_AT_ONCE = 500;
/** As the table in memory is slightly imprecise, this many times `limit` of its best rows are compared exactly. */
const CANDIDATES = 4;

const COUNT = 'SELECT count(*) AS count FROM vectors WHERE collection = ?';
const PAGE =
  'SELECT passage, vector FROM vectors WHERE collection = ? AND passage > ? ORDER BY passage LIMIT ?';
/** The vectors that were written after a stamp, and the newest stamp. Only databases that are shared have stamps. */
const NEW = 'SELECT passage, vector, stamp FROM vectors WHERE collection = ? AND stamp > ? ORDER BY stamp';
const NEWEST = 'SELECT coalesce(max(stamp), 0) AS stamp FROM vectors WHERE collection = ?';
const SOME = 'SELECT passage, vector FROM vectors WHERE passage IN';

/** The vectors of a collection, in memory or still being read. */
interface CachedTable {
  readonly reading: Promise<VectorTable>;
  /** The memory they take. 0 while they are being read. */
  bytes: number;
  readonly dimension: number;
  /** In a shared database: vectors with a stamp up to this one are in the table, or still being read. */
  stamp: number;
}

interface VectorRow {
  readonly passage: number;
  readonly vector: Buffer;
}

type StampedRow = VectorRow & { readonly stamp: number };

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
    this.#tables.get(collectionId)?.reading.then(change, () => undefined);
  }

  async #table(collection: CollectionRow): Promise<VectorTable> {
    const known = this.#tables.get(collection.id);
    const isOf = known?.dimension === collection.dimension;
    const cached = known && isOf ? known : await this.#begin(collection);
    this.#tables.set(collection.id, cached, cached.bytes);
    try {
      const table = await cached.reading;
      if (this.#database.isShared) await this.#catchUp(collection.id, cached, table);
      cached.bytes = table.bytes;
      // A write may have dropped the table meanwhile.
      if (this.#tables.get(collection.id) === cached) this.#tables.set(collection.id, cached, cached.bytes);
      return table;
    } catch (error) {
      if (this.#tables.get(collection.id) === cached) this.#tables.take(collection.id);
      throw error;
    }
  }

  async #begin(collection: CollectionRow): Promise<CachedTable> {
    const { id, dimension } = collection;
    const newest = this.#database.isShared
      ? await this.#database.read(() => first<Pick<StampedRow, 'stamp'>>(NEWEST, id))
      : undefined;
    return { reading: this.#load(collection), bytes: 0, dimension, stamp: newest?.stamp ?? 0 };
  }

  /** Reads the vectors that other processes wrote. Vectors that they removed stay in the table until the exact comparison. */
  async #catchUp(collectionId: number, cached: CachedTable, table: VectorTable): Promise<void> {
    const rows = await this.#database.read(() => all<StampedRow>(NEW, collectionId, cached.stamp));
    for (const { passage, vector, stamp } of rows) {
      table.set(passage, toVector(vector));
      cached.stamp = stamp;
    }
  }

  async #load({ id, dimension }: CollectionRow): Promise<VectorTable> {
    const read = <Row>(sql: string, ...values: readonly unknown[]) =>
      this.#database.read(() => all<Row>(sql, ...values));
    const [size] = await read<{ readonly count: number }>(COUNT, id);
    const table = new VectorTable(dimension, size?.count);
    let after = 0;
    for (;;) {
      const rows = await read<VectorRow>(PAGE, id, after, ROWS_AT_ONCE);
      for (const { passage, vector } of rows) table.set(passage, toVector(vector));
      if (rows.length < ROWS_AT_ONCE) return table;
      after = rows.at(-1)!.passage;
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
