import { LangoError } from '../../core/errors.js';
import type { CollectionFilter } from '../../core/library.js';
import type { Scope } from '../../core/task.js';
import { assertKeys } from '../rows.js';
import type { Prepared } from './prepared.js';

/** One collection of one owner. */
export interface Shelf {
  readonly id: number;
  readonly collection: string;
  /** Empty while it has no vectors. */
  readonly model: string;
  readonly dimension: number;
  readonly documents: number;
  readonly passages: number;
  /** Passages that have a vector. */
  readonly embedded: number;
}

/** Each is asked for by every search that names no collections. */
const MOST_SHELVES = 100;

const SHELVES = `SELECT id, collection, model, dimension, documents, passages, embedded FROM shelves
  WHERE tenant = ? AND owner = ? ORDER BY id`;
const ADD_SHELF = 'INSERT INTO shelves (tenant, owner, collection) VALUES (?, ?, ?)';

/** The owner's shelves that are meant. */
export function findShelves(
  prepared: Prepared,
  scope: Scope,
  { only, except }: CollectionFilter,
): readonly Shelf[] {
  return prepared
    .all<Shelf>(SHELVES, scope.tenant, scope.owner)
    .filter(({ collection }) => (only?.includes(collection) ?? true) && !except?.includes(collection));
}

/** Made when it does not exist. Throws `too-many` when the owner has no room for another. */
export function requireShelf(prepared: Prepared, scope: Scope, collection: string): Shelf {
  const shelves = findShelves(prepared, scope, {});
  const known = shelves.find((shelf) => shelf.collection === collection);
  if (known) return known;
  if (shelves.length >= MOST_SHELVES) {
    throw new LangoError(
      'too-many',
      `There are ${MOST_SHELVES} collections already, as many as there can be.`,
      {
        hint: 'Use one of them, or remove one.',
      },
    );
  }
  assertKeys({ tenant: scope.tenant, owner: scope.owner, collection });
  const { lastInsertRowid } = prepared.run(ADD_SHELF, scope.tenant, scope.owner, collection);
  const empty = { model: '', dimension: 0, documents: 0, passages: 0, embedded: 0 };
  return { id: Number(lastInsertRowid), collection, ...empty };
}
