import { fitOf, isFileName, isOneWord, type Kind } from './kinds.js';
import type { Template } from './template.js';
import { CLOSERS, FILLERS, OPENERS, STOP_WORDS } from './vocabulary.js';
import { stem, type Token, type Words } from './words.js';

/** How a sentence matches a template. */
export interface Alignment {
  /** False when the sentence ends before the template does. */
  readonly isFull: boolean;
  readonly score: number;
  /** Which tokens, from and up to, each placeholder took. */
  readonly slots: ReadonlyMap<string, readonly [from: number, to: number]>;
  /** Placeholders that the sentence ended before. */
  readonly missing: readonly string[];
}

/**
 * The score: each word of the example that the sentence has counts 100 and its length, each one-word
 * placeholder by how well it fits (3 to 11), each small word passed over in either costs 1, each word of the example
 * that is missing at the end costs 50. So the longest literal match wins.
 */
const WORD_SCORE = 100;
const LONGEST_COUNTED_WORD = 20;
const SKIP_COST = 1;
const MISSING_COST = 50;
const FILE_WORD = stem('file');
const IMPOSSIBLE = -1_000_000;

type Row =
  | {
      readonly type: 'literal';
      readonly stem: string;
      readonly isOptional: boolean;
      /** "the file {path}": a path that shows by its form what it is needs no such word before it. */
      readonly tellsFile: boolean;
    }
  | { readonly type: 'one-word'; readonly name: string; readonly kind: Kind }
  /** The first word of a placeholder that takes many, and each further one. */
  | { readonly type: 'first'; readonly name: string }
  | { readonly type: 'more'; readonly name: string; readonly endsAtColon: boolean };

/** What happens in a row of the table at a token, written down to walk the best way again. */
const MOVES = {
  none: 0,
  /** The token belongs to this row; on to the next of both. */
  take: 1,
  /** The token belongs to this row, which goes on. */
  stay: 2,
  /** The token is passed over. */
  skip: 3,
  /** On to the next row with the same token. */
  leave: 4,
  end: 5,
} as const;
type Move = (typeof MOVES)[keyof typeof MOVES];

interface Table {
  readonly rows: readonly Row[];
  readonly words: Words;
  readonly isPartial: boolean;
  readonly width: number;
  readonly scores: Int32Array;
  readonly moves: Uint8Array;
}

/**
 * The best match of a whole sentence with a template; with `isPartial` the sentence may end early, once
 * it said what the template is about and only placeholders are missing that a person can be asked for.
 * Time and space are proportional to the length of the one times that of the other.
 */
export function align(template: Template, words: Words, isPartial: boolean): Alignment | undefined {
  const rows = template.flatMap(toRows);
  if (!canBegin(rows, words.tokens) || !hasRoom(rows, words.tokens)) return undefined;
  const width = words.tokens.length + 1;
  const size = (rows.length + 1) * width;
  const scores = new Int32Array(size).fill(IMPOSSIBLE);
  const table: Table = { rows, words, isPartial, width, scores, moves: new Uint8Array(size) };
  for (let row = rows.length; row >= 0; row -= 1) {
    for (let index = width - 1; index >= 0; index -= 1) fillCell(table, row, index);
  }
  const score = table.scores[0] ?? IMPOSSIBLE;
  return score > IMPOSSIBLE / 2 ? walk(table, score) : undefined;
}

function toRows(element: Template[number], index: number, template: Template): readonly Row[] {
  if (element.type === 'literal') {
    const next = template[index + 1];
    const isBeforePath = next?.type === 'placeholder' && next.kind.type === 'path';
    return [{ ...element, tellsFile: isBeforePath && element.stem === FILE_WORD }];
  }
  const { name, kind, endsAtColon } = element;
  if (isOneWord(kind)) return [{ type: 'one-word', name, kind }];
  return [
    { type: 'first', name },
    { type: 'more', name, endsAtColon },
  ];
}

/** A quick look that spares the table for most templates: the first word has to be there. */
function canBegin(rows: readonly Row[], tokens: readonly Token[]): boolean {
  const wanted = new Set<string>();
  for (const row of rows) {
    if (row.type !== 'literal') return true;
    wanted.add(row.stem);
    if (!row.isOptional) break;
  }
  for (const token of tokens) {
    if (wanted.has(token.stem)) return true;
    if (token.quoted !== undefined || !(FILLERS.has(token.stem) || OPENERS.has(token.stem))) return false;
  }
  return false;
}

/** The other quick look: without a placeholder for any number of words, a long sentence cannot match. */
function hasRoom(rows: readonly Row[], tokens: readonly Token[]): boolean {
  if (rows.some((row) => row.type === 'more')) return true;
  let left = rows.length;
  for (const { stem, quoted } of tokens) {
    const isSmall = FILLERS.has(stem) || OPENERS.has(stem) || CLOSERS.has(stem);
    if (quoted !== undefined || !isSmall) left -= 1;
    if (left < 0) return false;
  }
  return true;
}

function fillCell(table: Table, row: number, index: number): void {
  const { rows, words, scores, moves, width } = table;
  const cell = row * width + index;
  const token = words.tokens[index];
  const consider = (move: Move, score: number) => {
    if (score <= scores[cell]!) return;
    scores[cell] = score;
    moves[cell] = move;
  };
  const after = (nextRow: number, nextIndex: number) => scores[nextRow * width + nextIndex] ?? IMPOSSIBLE;
  const current = rows[row];
  const leave = (cost: number) => consider(MOVES.leave, after(row + 1, index) - cost);
  // Before anything longer that is as good: the first colon counts.
  if (current?.type === 'more' && current.endsAtColon && mayEnd(words, index)) leave(0);
  if (!token) {
    const end = endScore(table, row);
    if (end !== undefined) consider(MOVES.end, end);
  } else {
    const gain = takeScore(rows[row], words, index);
    if (gain !== undefined) consider(MOVES.take, gain + after(row + 1, index + 1));
    if (rows[row]?.type === 'more') consider(MOVES.stay, after(row, index + 1));
    else if (isSkippable(token, row, rows.length)) consider(MOVES.skip, after(row, index + 1) - SKIP_COST);
  }
  if (current?.type === 'more' && !current.endsAtColon) leave(0);
  if (current?.type === 'literal' && (current.isOptional || (current.tellsFile && isFileName(words, index))))
    leave(SKIP_COST);
}

/** Whether the token before ends with a colon, or nothing follows. */
function mayEnd({ text, tokens }: Words, index: number): boolean {
  return index === tokens.length || text.charAt((tokens[index - 1]?.end ?? 0) - 1) === ':';
}

/** The score of ending in `row`, at the end of the sentence. */
function endScore({ rows, isPartial }: Table, row: number): number | undefined {
  if (row === rows.length) return 0;
  if (!isPartial || rows[row]?.type === 'more') return undefined;
  const missing = rows.slice(row).filter((left) => left.type === 'literal' && !left.isOptional).length;
  return -MISSING_COST * missing;
}

function takeScore(row: Row | undefined, words: Words, index: number): number | undefined {
  const token = words.tokens[index]!;
  switch (row?.type) {
    case 'literal':
      if (token.quoted !== undefined || token.stem !== row.stem) return undefined;
      return WORD_SCORE + Math.min(row.stem.length, LONGEST_COUNTED_WORD);
    case 'one-word':
      return fitOf(row.kind, words, index);
    case 'first':
      return 0;
    case 'more':
    case undefined:
      return undefined;
  }
}

function isSkippable(token: Token, row: number, end: number): boolean {
  if (token.quoted !== undefined) return false;
  if (FILLERS.has(token.stem)) return true;
  return (row === 0 && OPENERS.has(token.stem)) || (row === end && CLOSERS.has(token.stem));
}

function walk({ rows, words, isPartial, width, moves }: Table, score: number): Alignment | undefined {
  const slots = new Map<string, readonly [number, number]>();
  const found: string[] = [];
  let row = 0;
  let index = 0;
  for (;;) {
    const move = moves[row * width + index];
    const current = rows[row];
    if (move === MOVES.end || move === MOVES.none) break;
    if (current && (move === MOVES.take || move === MOVES.stay)) {
      if (current.type === 'literal') found.push(...(current.isOptional ? [] : [current.stem]));
      else slots.set(current.name, [slots.get(current.name)?.[0] ?? index, index + 1]);
    }
    if (move === MOVES.leave && current?.type === 'literal' && current.tellsFile) found.push(current.stem);
    if (move === MOVES.take || move === MOVES.leave) row += 1;
    if (move !== MOVES.leave) index += 1;
  }
  if (index < words.tokens.length) return undefined;
  const missing = rows
    .slice(row)
    .flatMap((left) => ('name' in left && left.type !== 'more' ? [left.name] : []));
  const wanted = rows.flatMap((each) => (each.type === 'literal' && !each.isOptional ? [each.stem] : []));
  if (isPartial && (missing.length === 0 || !saysEnough(found, wanted))) return undefined;
  return { isFull: row === rows.length, score, slots, missing };
}

/** At least half of the words, and of those that tell what it is about; all of them, where none does. */
function saysEnough(found: readonly string[], wanted: readonly string[]): boolean {
  const isTelling = (each: string) => !STOP_WORDS.has(each);
  const telling = wanted.filter(isTelling).length;
  if (telling === 0) return found.length === wanted.length;
  return found.length * 2 >= wanted.length && found.filter(isTelling).length * 2 >= telling;
}
