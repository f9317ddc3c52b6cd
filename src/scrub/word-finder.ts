/** A word that was found, by its position in the whole text. */
export interface Found {
  readonly start: number;
  readonly end: number;
  /** The id of the word, as given to `compileWords`. */
  readonly id: number;
}

/** Returns the character that counts for `code`, or `SKIPPED` for one that may interrupt words. */
export type Fold = (code: number) => number;
export const SKIPPED = -1;

/** A longer interruption ends a word. */
const LONGEST_SKIP = 8;
const CODES = 0x10000;
const ASCII = 128;

/** An automaton that finds many words in one pass over a text (Aho and Corasick, 1975). */
export interface WordAutomaton {
  readonly fold: Fold;
  /** The result of `fold` for each ASCII character. */
  readonly folded: Int32Array;
  /** By folded ASCII character: 1 for the first character of a word. */
  readonly begins: Uint8Array;
  /** By node and character. */
  readonly next: ReadonlyMap<number, number>;
  /** The node of the longest other word beginning that the text so far ends with. */
  readonly back: Int32Array;
  /** The number of characters that lead to a node. */
  readonly depth: Int32Array;
  /** The length (0 for none) and the id of the longest word that ends at a node. */
  readonly length: Int32Array;
  readonly id: Int32Array;
  readonly deepest: number;
}

export function compileWords(
  words: readonly { readonly text: string; readonly id: number }[],
  fold: Fold,
): WordAutomaton {
  const next = new Map<number, number>();
  const nodes = [{ depth: 0, length: 0, id: 0, parent: 0, code: 0 }];
  for (const { text, id } of words) {
    let node = 0;
    for (let index = 0; index < text.length; index += 1) {
      const code = fold(text.charCodeAt(index));
      if (code === SKIPPED) continue;
      const edge = node * CODES + code;
      let child = next.get(edge);
      if (child === undefined) {
        child = nodes.length;
        nodes.push({ depth: nodes[node]!.depth + 1, length: 0, id: 0, parent: node, code });
        next.set(edge, child);
      }
      node = child;
    }
    const last = nodes[node]!;
    if (node !== 0 && last.length === 0) nodes[node] = { ...last, length: last.depth, id };
  }
  const folded = Int32Array.from({ length: ASCII }, (_, code) => fold(code));
  const begins = Uint8Array.from({ length: ASCII }, (_, code) => (next.has(code) ? 1 : 0));
  return {
    fold,
    folded,
    begins,
    next,
    ...linked(next, nodes),
    deepest: Math.max(...nodes.map(({ depth }) => depth)),
  };
}

interface Node {
  readonly depth: number;
  readonly length: number;
  readonly id: number;
  readonly parent: number;
  readonly code: number;
}

/** Computes the links in order of depth, because a link leads to a node nearer to the root. */
function linked(next: ReadonlyMap<number, number>, nodes: readonly Node[]) {
  const back = new Int32Array(nodes.length);
  const depth = Int32Array.from(nodes, (node) => node.depth);
  const length = Int32Array.from(nodes, (node) => node.length);
  const id = Int32Array.from(nodes, (node) => node.id);
  const order = [...nodes.keys()].sort((a, b) => depth[a]! - depth[b]!);
  for (const node of order) {
    const { parent, code } = nodes[node]!;
    if (node !== 0 && parent !== 0) back[node] = step(next, back, back[parent]!, code);
    if (length[node] === 0) {
      length[node] = length[back[node]!]!;
      id[node] = id[back[node]!]!;
    }
  }
  return { back, depth, length, id };
}

// Runs for each character of a text: an object for the four parameters would cost more than the work.
// eslint-disable-next-line max-params
function step(next: ReadonlyMap<number, number>, back: Int32Array, from: number, code: number): number {
  let node = from;
  for (;;) {
    const child = next.get(node * CODES + code);
    if (child !== undefined) return child;
    if (node === 0) return 0;
    node = back[node]!;
  }
}

/** Reads one text through an automaton, in chunks. */
export class WordReader {
  readonly #words: WordAutomaton;
  /** The positions of the newest characters that count, the newest at `#count - 1`. */
  readonly #places: Float64Array;
  #count = 0;
  #node = 0;
  #skipped = 0;

  constructor(words: WordAutomaton) {
    this.#words = words;
    this.#places = new Float64Array(words.deepest + 1);
  }

  /** Reads the character at `place` and returns the longest word that ends with it. */
  read(code: number, place: number): Found | undefined {
    const { next, back, length, id, begins } = this.#words;
    const folded = code < ASCII ? this.#words.folded[code]! : this.#words.fold(code);
    // Fast path for most characters: no word has begun, and none begins here.
    if (this.#node === 0 && folded < ASCII && folded >= 0 && begins[folded] === 0) return undefined;
    if (folded === SKIPPED) {
      this.#skipped += 1;
      if (this.#skipped > LONGEST_SKIP) this.#node = 0;
      return undefined;
    }
    this.#skipped = 0;
    this.#places[this.#count % this.#places.length] = place;
    this.#count += 1;
    this.#node = step(next, back, this.#node, folded);
    const found = length[this.#node]!;
    if (found === 0) return undefined;
    return { start: this.#placeOf(found), end: place + 1, id: id[this.#node]! };
  }

  /** The start of the longest end of the text that may become a word; undefined without one. */
  get openSince(): number | undefined {
    const depth = this.#words.depth[this.#node]!;
    return depth === 0 ? undefined : this.#placeOf(depth);
  }

  #placeOf(charactersBack: number): number {
    return this.#places[(this.#count - charactersBack) % this.#places.length]!;
  }
}
