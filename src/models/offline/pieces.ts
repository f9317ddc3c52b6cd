import { readWords, type Token, type Words } from './words.js';

/** How a clause goes with the one before: after it, in the order of the text but on its own, or at the same time. */
export type Link = 'then' | 'loose' | 'parallel';

/** A stretch of a text between two places where it may be divided. */
export interface Piece {
  readonly start: number;
  readonly end: number;
  readonly link: Link;
  /** Whether it is divided from the piece before in any case, or only where that makes sense. */
  readonly isStrong: boolean;
  /** An entry of a numbered or bulleted list. */
  readonly isItem: boolean;
}

type Joint = Pick<Piece, 'link' | 'isStrong' | 'isItem'>;

const WEAK: Joint = { link: 'loose', isStrong: false, isItem: false };
const STRONG: Joint = { link: 'then', isStrong: true, isItem: false };
const ITEM: Joint = { link: 'then', isStrong: true, isItem: true };
const PARALLEL: Joint = { link: 'parallel', isStrong: true, isItem: false };
const MAYBE_PARALLEL: Joint = { link: 'parallel', isStrong: false, isItem: false };
/** Only before a list or at the very end: in a sentence it means "now". */
const AT_ONCE: Joint = { ...MAYBE_PARALLEL };

const CONNECTIVES: readonly (readonly [words: readonly string[], joint: Joint])[] = (
  [
    ['and after that', STRONG],
    ['and afterwards', STRONG],
    ['and then', STRONG],
    ['after that', STRONG],
    ['afterwards', STRONG],
    ['then', STRONG],
    ['and at the same time', PARALLEL],
    ['and in parallel', PARALLEL],
    ['and simultaneously', PARALLEL],
    ['and concurrently', PARALLEL],
    ['and meanwhile', PARALLEL],
    ['at the same time', MAYBE_PARALLEL],
    ['in parallel', MAYBE_PARALLEL],
    ['simultaneously', MAYBE_PARALLEL],
    ['concurrently', MAYBE_PARALLEL],
    ['meanwhile', MAYBE_PARALLEL],
    ['at once', AT_ONCE],
    ['and', WEAK],
  ] as const
).map(([phrase, joint]) => [phrase.split(' '), joint]);

const LIST_MARKER = /^(\d{1,3}[.)]|[-*•])$/;
/** A longer text is mostly content: it is divided at strong joints only. */
const LONGEST_WITH_WEAK_JOINTS = 4_000;
/** What comes after so many pieces stays in the last. */
const MOST_PIECES = 100;
/** "please do these things at the same time:" */
const LONGEST_INTRODUCTION_WORDS = 8;

/**
 * Where a text may be divided into clauses: at connectives ("and then", "at the same time", "and"), at the
 * ends of sentences, at commas, line breaks and list markers; never inside a quotation. Linear in the text.
 */
export function findPieces(text: string): readonly Piece[] {
  const words = readWords(text);
  const scan = new Scan(words);
  let index = 0;
  while (index < words.tokens.length) index += scan.step(index);
  return scan.finish();
}

class Scan {
  readonly #words: Words;
  readonly #withWeak: boolean;
  readonly #pieces: Piece[] = [];
  #joint: Joint = WEAK;
  /** The tokens of the piece under way. */
  #from: number | undefined;
  #to = 0;
  #isAllParallel = false;

  constructor(words: Words) {
    this.#words = words;
    this.#withWeak = words.text.length <= LONGEST_WITH_WEAK_JOINTS;
  }

  /** Looks at the token at `index`; how many tokens it dealt with. */
  step(index: number): number {
    const { tokens } = this.#words;
    const token = tokens[index]!;
    const startsLine = index === 0 || this.#hasLineBreak(tokens[index - 1]!, token);
    if (startsLine && this.#isMarker(index)) {
      this.#divide(ITEM);
      return 1;
    }
    if (startsLine) this.#divide(WEAK);
    const connective = connectiveAt(tokens, index);
    if (connective && this.#connect(index, connective)) return connective.length;
    this.#from ??= index;
    this.#to = index + 1;
    if (token.quoted === undefined && this.#endsWith('.;!?,', index)) this.#divide(WEAK);
    return 1;
  }

  finish(): readonly Piece[] {
    this.#close();
    if (!this.#isAllParallel) return this.#pieces;
    return this.#pieces.map((piece) => (piece.link === 'loose' ? { ...piece, link: 'parallel' } : piece));
  }

  /** False when the words are no joint here and belong to the piece. */
  #connect(index: number, { length, joint }: { length: number; joint: Joint }): boolean {
    if (joint.link === 'parallel') {
      if (this.#isIntroduction(index, length)) {
        this.#from = undefined;
        this.#isAllParallel = true;
        return true;
      }
      if (this.#isClosing(index, length)) {
        this.#isAllParallel ||= this.#pieces.length > 0;
        return this.#pieces.length > 0;
      }
    }
    const token = this.#words.tokens[index]!;
    if (joint === AT_ONCE) return false;
    if (joint === WEAK && token.end - token.start > 'and'.length) return false;
    this.#divide(joint === MAYBE_PARALLEL && this.#from === undefined ? PARALLEL : joint);
    return true;
  }

  /** "do these in parallel: …", "At the same time, …" */
  #isIntroduction(index: number, length: number): boolean {
    if (this.#pieces.length > 0) return false;
    return index === 0 || (index <= LONGEST_INTRODUCTION_WORDS && this.#endsWith(':', index + length - 1));
  }

  /** "… at the same time." */
  #isClosing(index: number, length: number): boolean {
    const last = index + length - 1;
    return last === this.#words.tokens.length - 1 || this.#endsWith('.!?', last);
  }

  #endsWith(characters: string, index: number): boolean {
    return characters.includes(this.#words.text.charAt(this.#words.tokens[index]!.end - 1));
  }

  #divide(joint: Joint): void {
    if (!joint.isStrong && !this.#withWeak) return;
    if (this.#pieces.length >= MOST_PIECES - 1) return;
    const closed = this.#close();
    if (closed || joint.isStrong) this.#joint = joint;
  }

  #close(): boolean {
    if (this.#from === undefined) return false;
    const { tokens } = this.#words;
    const start = tokens[this.#from]!.start;
    this.#pieces.push({ start, end: tokens[this.#to - 1]!.end, ...this.#joint });
    this.#from = undefined;
    return true;
  }

  #isMarker(index: number): boolean {
    const { text, tokens } = this.#words;
    const [marker, next] = [tokens[index]!, tokens[index + 1]];
    if (!next || this.#hasLineBreak(marker, next)) return false;
    return marker.end - marker.start <= 4 && LIST_MARKER.test(text.slice(marker.start, marker.end));
  }

  #hasLineBreak(before: Token, after: Token): boolean {
    return this.#words.text.slice(before.end, after.start).includes('\n');
  }
}

function connectiveAt(tokens: readonly Token[], index: number): { length: number; joint: Joint } | undefined {
  for (const [words, joint] of CONNECTIVES) {
    if (words.every((word, offset) => tokens[index + offset]?.plain === word)) {
      return { length: words.length, joint };
    }
  }
  return undefined;
}
