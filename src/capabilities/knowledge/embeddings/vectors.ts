import { LangoError } from '../../../core/errors.js';

/** Normalizes vectors to length 1. Throws `unavailable` unless all are valid vectors of one dimension. */
export function toUnitVectors(rows: readonly ArrayLike<number>[]): readonly Float32Array[] {
  const dimension = rows[0]?.length ?? 0;
  return rows.map((row) => {
    const vector = Float32Array.from(row);
    const length = Math.hypot(...vector);
    if (vector.length !== dimension || dimension === 0 || !Number.isFinite(length) || length === 0) {
      const text = 'The embedding model returned invalid vectors or vectors of different dimensions.';
      throw new LangoError('unavailable', text, {
        hint: 'Check embedding.model: it must be a model for embeddings.',
      });
    }
    return vector.map((value) => value / length);
  });
}

/**
 * The cosine below which two texts have nothing to do with each other, by the name of the model. Each model has its
 * own: for E5, trained with a low temperature, any two texts are above 0.7; for MiniLM related ones are often below
 * 0.5. The values are low on purpose, because one passage too many is better than a missing one.
 */
const FLOORS: readonly (readonly [RegExp, number])[] = [
  [/ada-002/, 0.74],
  [/(^|[-_/])e5([-_]|$)/, 0.76],
  [/bge-m3/, 0.35],
  [/bge-/, 0.45],
  [/nomic-embed/, 0.4],
  [/text-embedding-3|voyage/, 0.2],
];

/** For models that the table does not know. */
const OTHERWISE = 0.15;

export function minSimilarityOf(model: string): number {
  const name = model.toLowerCase();
  return FLOORS.find(([pattern]) => pattern.test(name))?.[1] ?? OTHERWISE;
}
