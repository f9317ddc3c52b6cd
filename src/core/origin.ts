/**
 * The entries of another task that hold the content of an entry: the id of the task, and the numbers of the first and the
 * last of them. `begin` counts in the text of the first one and `end` in that of the last one, as in `slice` of a string;
 * without them the texts are whole.
 */
export type Origin = readonly [task: string, first: number, last: number, begin?: number, end?: number];

/** Returns the origin of a part of a text of this length. Undefined for a part of several entries. */
export function partOf(
  [task, first, last, offset = 0, rest]: Origin,
  { begin, end, length }: { readonly begin: number; readonly end: number; readonly length: number },
): Origin | undefined {
  if (first !== last || offset < 0) return undefined;
  const stop = end === length ? rest : offset + end;
  return stop === undefined ? [task, first, last, offset + begin] : [task, first, last, offset + begin, stop];
}

/** Returns the origin of two texts as one. Undefined unless the second follows the first where both come from. */
export function joinOrigins(before: Origin | undefined, after: Origin | undefined): Origin | undefined {
  if (!before || !after || before[0] !== after[0]) return undefined;
  const [task, first, middle, begin = 0, stop] = before;
  const [, next, last, start = 0, end] = after;
  const follows = stop === undefined ? next === middle + 1 && start === 0 : next === middle && start === stop;
  if (!follows) return undefined;
  if (end !== undefined) return [task, first, last, begin, end];
  return begin === 0 ? [task, first, last] : [task, first, last, begin];
}
