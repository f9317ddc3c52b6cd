export interface FoundWord {
  readonly start: number;
  readonly end: number;
  readonly id: number; // The id of the word, as given to `compileWords`.
}

/** Returns the character that counts for `code`, or `SKIPPED` for one that may interrupt words. */
export type Fold = (code: number) => number;
export const SKIPPED = -1;

/** A longer interruption ends a word. */
const MAX_SKIPPED_CHARACTERS = 8;
const ASCII = 128;

/** The state of the automaton after the first characters of a word. */
interface Node {
  readonly depth: number; // The number of characters that lead here; 0 for the root.
  readonly next: Map<number, Node>;
  back: Node | undefined; // The node of the longest other word beginning that the text so far ends with.
  length: number; // The length (0 for none) and the id of the longest word that ends here.
  id: number;
}

/** An automaton that finds many words in one pass over a text (Aho and Corasick, 1975). */
export interface WordAutomaton {
  readonly root: Node;
  readonly fold: Fold;
  readonly begins: Uint8Array; // By ASCII character: 1 for the first character of a word.
  readonly deepest: number; // The length of the longest word.
}

export function compileWords(
  words: readonly { readonly text: string; readonly id: number }[],
  fold: Fold,
): WordAutomaton {
  const root = createNode(0);
  for (const { text, id } of words) {
    let node = root;
    for (let index = 0; index < text.length; index += 1) {
      const code = fold(text.charCodeAt(index));
      if (code === SKIPPED) continue;
      const known = node.next.get(code);
      const child: Node = known ?? createNode(node.depth + 1);
      if (!known) node.next.set(code, child);
      node = child;
    }
    if (node.length > 0) continue;
    node.length = node.depth;
    node.id = id;
  }
  const begins = Uint8Array.from({ length: ASCII }, (_, code) => (root.next.has(fold(code)) ? 1 : 0));
  return { root, fold, begins, deepest: linkNodes(root) };
}

const createNode = (depth: number): Node => ({ depth, next: new Map(), back: undefined, length: 0, id: 0 });

/** Links the nodes in order of depth, because a link leads to a node nearer to the root. Returns the largest depth. */
function linkNodes(root: Node): number {
  const nodes = [root];
  for (const node of nodes) {
    for (const [code, child] of node.next) {
      const back = node.back ? step(node.back, code) : root;
      child.back = back;
      nodes.push(child);
      if (child.length > 0) continue;
      child.length = back.length;
      child.id = back.id;
    }
  }
  return nodes.at(-1)!.depth;
}

function step(from: Node, code: number): Node {
  for (let node = from; ; node = node.back) {
    const child = node.next.get(code);
    if (child) return child;
    if (!node.back) return node;
  }
}

/** Reads one text through an automaton, in chunks. */
export class WordReader {
  readonly #words: WordAutomaton;
  /** The positions of the newest characters that count, the newest at `#count - 1`. */
  readonly #positions: Float64Array;
  #count = 0;
  #node: Node;
  #skipped = 0;

  constructor(words: WordAutomaton) {
    this.#words = words;
    this.#node = words.root;
    this.#positions = new Float64Array(words.deepest + 1);
  }

  /** Reads the character from `position` to `end`, and returns the longest word that ends with it. */
  read(code: number, position: number, end = position + 1): FoundWord | undefined {
    const { root, fold, begins } = this.#words;
    // Fast path for most characters: no word has begun, and none begins here.
    if (this.#node === root && begins[code] === 0) return undefined;
    const folded = fold(code);
    if (folded === SKIPPED) {
      this.#skipped += 1;
      if (this.#skipped > MAX_SKIPPED_CHARACTERS) this.#node = root;
      return undefined;
    }
    this.#skipped = 0;
    this.#positions[this.#count % this.#positions.length] = position;
    this.#count += 1;
    this.#node = step(this.#node, folded);
    const { length, id } = this.#node;
    return length === 0 ? undefined : { start: this.#positionOf(length), end, id };
  }

  /** The start of the longest end of the text that may become a word; undefined without one. */
  get openSince(): number | undefined {
    const { depth } = this.#node;
    return depth === 0 ? undefined : this.#positionOf(depth);
  }

  #positionOf(charactersBack: number): number {
    return this.#positions[(this.#count - charactersBack) % this.#positions.length]!;
  }
}
