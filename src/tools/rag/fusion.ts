import type { Hit } from '../../core/library.js';

/** How little the first places count more than the next ones; the usual value. */
const RANK_OFFSET = 60;

/**
 * Several lists of hits as one, by reciprocal rank: scores of different searches cannot be compared, places can. What
 * stands high in several lists comes first.
 */
export function fuse(lists: readonly (readonly Hit[])[], limit: number): readonly Hit[] {
  const fused = new Map<number, Hit>();
  for (const hits of lists) {
    hits.forEach((hit, index) => {
      const score = (fused.get(hit.id)?.score ?? 0) + 1 / (RANK_OFFSET + index + 1);
      fused.set(hit.id, { ...hit, score });
    });
  }
  return [...fused.values()].sort((a, b) => b.score - a.score || a.id - b.id).slice(0, limit);
}
