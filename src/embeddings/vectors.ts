import { LangoError } from '../core/errors.js';

/** Each of length 1, all of one dimension. Throws `unavailable` when they are not vectors of one kind. */
export function toUnitVectors(rows: readonly ArrayLike<number>[]): readonly Float32Array[] {
  const dimension = rows[0]?.length ?? 0;
  return rows.map((row) => {
    const vector = Float32Array.from(row);
    const length = Math.hypot(...vector);
    if (vector.length !== dimension || dimension === 0 || !Number.isFinite(length) || length === 0) {
      throw new LangoError('unavailable', 'The embedding model gave vectors that cannot be compared.', {
        hint: 'Check embedding.model: it must be a model for embeddings.',
      });
    }
    return vector.map((value) => value / length);
  });
}
