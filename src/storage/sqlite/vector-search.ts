import { setImmediate as nextTurn } from 'node:timers/promises';
import { LangoError } from '../../core/errors.js';
import type { Near } from '../vector-table.js';
import { cosine, Nearest, VectorTable } from '../vector-table.js';
import type { SqliteDatabase } from './database.js';
import type { Prepared } from './prepared.js';
import type { Shelf } from './shelves.js';

/** What stays in memory between searches, of all shelves together; the one searched last always does. */
const MEMORY_BYTES = 256 * 1024 * 1024;
/** Rows compared, and rows read, before others get their turn. */
const ROWS_PER_TURN = 10_000;
const ROWS_AT_ONCE = 500;
/** The table in memory is a hair imprecise: so many more of its best are compared exactly. */
const CANDIDATES = 4;

const COUNT = 'SELECT count(*) AS count FROM vectors WHERE shelf = ?';
const PAGE = 'SELECT passage, vector FROM vectors WHERE shelf = ? AND passage > ? ORDER BY passage LIMIT ?';
const ONE = 'SELECT vector FROM vectors WHERE passage = ?';

/** The vectors of a shelf, while they are read and from then on. */
interface Kept {
  readonly reading: Promise<VectorTable>;
  /** How much memory they take; unknown while they are read. */
  bytes: number;
}

interface VectorRow {
  readonly passage: number;
  readonly vector: Buffer;
}

/** Searches the vectors of shelves; keeps a small copy of each in memory, of the ones last searched. */
export class VectorSearch {
  readonly #database: SqliteDatabase;
  readonly #prepared: Prepared;
  /** By shelf, the one used last at the end. */
  readonly #tables = new Map<number, Kept>();

  constructor(database: SqliteDatabase, prepared: Prepared) {
    this.#database = database;
    this.#prepared = prepared;
  }

  /** Ids with their cosines, the nearest first. Rejects with `conflict` when the dimension is another. */
  async find(
    shelves: readonly Shelf[],
    vector: Float32Array,
    limit: number,
  ): Promise<ReadonlyMap<number, number>> {
    const best = new Nearest(limit * CANDIDATES);
    for (const shelf of shelves) {
      assertDimension(shelf, vector.length);
      const table = await this.#table(shelf);
      for (let row = 0; row < table.size; row += ROWS_PER_TURN) {
        table.scan(vector, best, { from: row, to: row + ROWS_PER_TURN });
        if (row + ROWS_PER_TURN < table.size) await nextTurn();
      }
    }
    const exact = best.list().flatMap(({ id }) => this.#compare(id, vector) ?? []);
    exact.sort((a, b) => b.score - a.score || a.id - b.id);
    return new Map(exact.slice(0, limit).map(({ id, score }) => [id, score]));
  }

  /** After the commit: these are on the shelf now. */
  added(shelfId: number, vectors: ReadonlyMap<number, Float32Array>): void {
    this.#change(shelfId, (table) => vectors.forEach((vector, id) => table.set(id, vector)));
  }

  /** After the commit: these are gone. */
  removed(shelfId: number, ids: readonly number[]): void {
    this.#change(shelfId, (table) => ids.forEach((id) => table.delete(id)));
  }

  /** After the commit: all of the shelf's are gone. */
  dropped(shelfId: number): void {
    this.#tables.delete(shelfId);
  }

  /** A table that is being read gets the change afterwards: it may have been read before the commit. */
  #change(shelfId: number, change: (table: VectorTable) => void): void {
    this.#tables.get(shelfId)?.reading.then(change, () => undefined);
  }

  #compare(id: number, vector: Float32Array): Near | undefined {
    const row = this.#database.read(() => this.#prepared.first<Pick<VectorRow, 'vector'>>(ONE, id));
    return row && { id, score: cosine(toVector(row.vector), vector) };
  }

  async #table(shelf: Shelf): Promise<VectorTable> {
    const kept = this.#tables.get(shelf.id) ?? { reading: this.#load(shelf), bytes: 0 };
    this.#tables.delete(shelf.id);
    this.#tables.set(shelf.id, kept);
    try {
      const table = await kept.reading;
      kept.bytes = table.bytes;
      this.#makeRoom(shelf.id);
      return table;
    } catch (error) {
      if (this.#tables.get(shelf.id) === kept) this.#tables.delete(shelf.id);
      throw error;
    }
  }

  async #load({ id, dimension }: Shelf): Promise<VectorTable> {
    const read = <Row>(sql: string, ...values: readonly unknown[]) =>
      this.#database.read(() => this.#prepared.all<Row>(sql, ...values));
    const table = new VectorTable(dimension, read<{ readonly count: number }>(COUNT, id)[0]?.count);
    let after = 0;
    for (;;) {
      const rows = read<VectorRow>(PAGE, id, after, ROWS_AT_ONCE);
      for (const { passage, vector } of rows) table.set(passage, toVector(vector));
      if (rows.length < ROWS_AT_ONCE) return table;
      after = rows.at(-1)!.passage;
      await nextTurn();
    }
  }

  /** Waits for nobody: one that is still being read counts once it is there. */
  #makeRoom(used: number): void {
    let all = 0;
    for (const [id, { bytes }] of [...this.#tables].reverse()) {
      all += bytes;
      if (all > MEMORY_BYTES && id !== used) this.#tables.delete(id);
    }
  }
}

export function assertDimension({ collection, dimension }: Shelf, given: number): void {
  if (dimension === 0 || dimension === given) return;
  throw new LangoError(
    'conflict',
    `The vectors of the collection ${collection} have ${dimension} numbers, and these have ${given}.`,
    { hint: 'Make them anew: lango ingest --reembed' },
  );
}

/** Copied out of the driver's memory, which may not be aligned for floats. */
function toVector(blob: Buffer): Float32Array {
  return new Float32Array(new Uint8Array(blob).buffer);
}

export function toBlob(vector: Float32Array): Buffer {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
}
