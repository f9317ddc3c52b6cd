import { LangoError } from '../../../core/errors.js';

/** Normalizes vectors to length 1. Throws `unavailable` unless all are valid vectors of one dimension. */
export function toUnitVectors(rows: readonly ArrayLike<number>[]): readonly Float32Array[] {
  const dimension = rows[0]?.length ?? 0;
  return rows.map((row) => {
    const vector = Float32Array.from(row);
    const length = Math.hypot(...vector);
    if (vector.length !== dimension || dimension === 0 || !Number.isFinite(length) || length === 0) {
      throw new LangoError(
        'unavailable',
        'The embedding model returned invalid vectors or vectors of different dimensions.',
        { hint: 'Check embedding.model: it must be a model for embeddings.' },
      );
    }
    return vector.map((value) => value / length);
  });
}
