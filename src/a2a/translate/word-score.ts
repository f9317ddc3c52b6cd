const SHORTEST_STEM = 4;

/** The share of the query's words, from 0 to 100, that a text has or that begin one of its words. */
export function wordScore(query: string, text: string): number {
  const asked = wordsOf(query);
  const own = wordsOf(text);
  const all = [...own];
  const isHit = (word: string): boolean =>
    own.has(word) || (word.length >= SHORTEST_STEM && all.some((one) => one.startsWith(word)));
  return asked.size === 0 ? 0 : Math.round((100 * [...asked].filter(isHit).length) / asked.size);
}

function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) ?? []);
}
