import { findPieces, type Link, type Piece } from './pieces.js';

/** One thing that is asked for, by its place in the text. */
export interface Clause {
  readonly start: number;
  readonly end: number;
  /** Words it takes from the clause before. */
  readonly lead: string;
  /** How it goes with the clause before; of no meaning for the first. */
  readonly link: Link;
}

/** The words of a clause of `text`. */
export function clauseText(text: string, { start, end, lead }: Omit<Clause, 'link'>): string {
  const own = text.slice(start, end);
  return lead === '' ? own : `${lead} ${own}`;
}

/** What the interpreter says of a sentence. */
export interface Meaning {
  /** It can be understood by itself. */
  readonly isClear: boolean;
  /** It asks for something with a goal ("plan {goal}"): what follows belongs to the goal. */
  readonly holdsGoal: boolean;
  /** It can be understood and uses what came out before. */
  readonly refersBack: boolean;
  /** Where quotations begin that are a value, with another value behind them. */
  readonly quotations: readonly number[];
  /** The words before its first value. */
  readonly lead: string;
}

/**
 * The clauses of a text, in order. Strong joints always divide. A weak one (a full stop, a comma, a
 * plain "and", a line break) divides where both sides can be understood, else not where the whole can, else where one
 * side can. "read a.txt and b.txt" is two clauses: the second takes the first one's words.
 */
export function splitClauses(text: string, meaningOf: MeaningOf): readonly Clause[] {
  const clauses: Clause[] = [];
  let current: Open | undefined;
  for (const piece of findPieces(text)) {
    const next = open({ text, meaningOf }, toClause(text, piece));
    const step: Step = current ? join({ text, meaningOf }, current, { ...next, piece }) : { divide: next };
    if ('divide' in step && current && !isIntroduction(current, piece)) clauses.push(current.clause);
    current = 'divide' in step ? step.divide : step.join;
  }
  if (current) clauses.push(current.clause);
  return clauses.filter(({ start, end }) => end > start);
}

type MeaningOf = (sentence: string) => Meaning;

/** A clause that may still grow. */
interface Open {
  readonly clause: Clause;
  readonly sentence: string;
  readonly meaning: Meaning;
}

type Step = { readonly divide: Open } | { readonly join: Open };

interface Context {
  readonly text: string;
  readonly meaningOf: MeaningOf;
}

function join(context: Context, current: Open, next: Open & { readonly piece: Piece }): Step {
  const whole: Clause = { ...current.clause, end: next.clause.end };
  const belongsToGoal = current.meaning.holdsGoal && !next.meaning.refersBack;
  if (belongsToGoal) return { join: { ...current, clause: whole } };
  if (next.piece.isStrong) return { divide: next };
  if (current.meaning.isClear && next.meaning.isClear) return { divide: next };
  const joined = open(context, whole);
  if (joined.meaning.isClear && !tearsQuotation(current, joined)) return { join: joined };
  if (next.meaning.isClear) return { divide: next };
  if (!current.meaning.isClear) return { join: joined };
  return { divide: completed(context, current, next) };
}

/** 'write "a" to a.txt, "b" to b.txt': nobody who quotes a text means one that goes on behind the quotes. */
function tearsQuotation(current: Open, joined: Open): boolean {
  return current.meaning.quotations.some((start) => !joined.meaning.quotations.includes(start));
}

/** `next` with the first words of the clause before, if it can be understood so: "(read) b.txt". */
function completed(context: Context, { meaning }: Open, next: Open): Open {
  if (meaning.lead === '') return next;
  const whole = open(context, { ...next.clause, lead: meaning.lead });
  return whole.meaning.isClear ? whole : next;
}

/** "Do these:" before a list asks for nothing by itself. */
function isIntroduction(current: Open, next: Piece): boolean {
  return next.isItem && current.sentence.endsWith(':') && !current.meaning.isClear;
}

function open({ text, meaningOf }: Context, clause: Clause): Open {
  const sentence = clauseText(text, clause);
  return { clause, sentence, meaning: meaningOf(sentence) };
}

function toClause(text: string, { start, end, link }: Piece): Clause {
  let last = end;
  while (last > start && ',;'.includes(text.charAt(last - 1))) last -= 1;
  return { start, end: last, lead: '', link };
}
