import { plainWord, type Token } from './words.js';

/** Part of a text: the tokens from `from` up to, and not including, `to`. */
export interface Clause {
  readonly text: string;
  readonly tokens: readonly Token[];
  readonly from: number;
  readonly to: number;
}

type Element =
  | { readonly type: 'word'; readonly word: string }
  /** Takes one token; with a suffix, one that ends with it. */
  | { readonly type: 'one'; readonly name: string; readonly suffix: string }
  /** Takes all tokens that the elements before and after it leave. */
  | { readonly type: 'rest'; readonly name: string };

/** A sentence of the table, ready to be compared with clauses. */
export interface Sentence {
  /** As the table has it. */
  readonly source: string;
  readonly elements: readonly Element[];
  /** How many words of its own it has: the measure of how exactly it fits. */
  readonly weight: number;
  readonly isQuestion: boolean;
}

/** The values of the placeholders, by name. */
export type Values = ReadonlyMap<string, string>;

export function parseSentence(source: string): Sentence {
  const isQuestion = source.endsWith('?');
  const elements = source.replace(/\?$/, '').split(' ').map(toElement);
  const weight = elements.filter(({ type }) => type === 'word').length;
  return { source, elements, weight, isQuestion };
}

function toElement(part: string): Element {
  const [, name, dots, suffix = ''] = /^\{(\w+)(\.\.\.)?\}([:,]?)$/.exec(part) ?? [];
  if (name === undefined) return { type: 'word', word: plainWord(part, 0, part.length) };
  return dots === undefined ? { type: 'one', name, suffix } : { type: 'rest', name };
}

/** The values that make the sentence the clause; undefined when it is another sentence. Both are read once, from both ends. */
export function matchSentence({ elements, isQuestion }: Sentence, clause: Clause): Values | undefined {
  const values = new Map<string, string>();
  const rest = elements.findIndex(({ type }) => type === 'rest');
  const head = rest === -1 ? elements : elements.slice(0, rest);
  const tail = rest === -1 ? [] : elements.slice(rest + 1);
  const tailStart = clause.to - tail.length;
  let at = clause.from;
  for (const element of head) {
    const next = take(element, { ...clause, from: at, to: tailStart }, values);
    if (next === undefined) return undefined;
    at = next;
  }
  if (rest === -1) return at === clause.to ? values : undefined;
  if (at >= tailStart) return undefined;
  for (const [index, element] of tail.entries()) {
    if (take(element, { ...clause, from: tailStart + index }, values) === undefined) return undefined;
  }
  const text = textOf({ ...clause, from: at, to: tailStart });
  const { name } = elements[rest] as Extract<Element, { type: 'rest' }>;
  values.set(name, isQuestion && tail.length === 0 ? text.replace(/\?$/, '') : text);
  return values;
}

/** Takes the element from the beginning of the clause; gives where the next one begins, or undefined when it does not fit. */
function take(element: Element, clause: Clause, values: Map<string, string>): number | undefined {
  const { text, tokens, from, to } = clause;
  const token = tokens[from];
  if (!token || from >= to) return undefined;
  switch (element.type) {
    case 'word':
      return token.word === element.word ? from + 1 : undefined;
    case 'one': {
      if (!text.slice(token.start, token.end).endsWith(element.suffix)) return undefined;
      values.set(element.name, oneValue(text, token));
      return from + 1;
    }
    case 'rest':
      return undefined;
  }
}

/** The text of a clause to the letter; of a single quotation, what is between the quotes. */
function textOf({ text, tokens, from, to }: Clause): string {
  const first = tokens[from];
  const last = tokens[to - 1];
  if (!first || !last) return '';
  return from === to - 1 && first.quoted !== undefined ? first.quoted : text.slice(first.start, last.end);
}

/** A word without the punctuation that ends it in a sentence. A path such as `..` and a name such as `a.` in quotes keep theirs. */
function oneValue(text: string, { start, end, quoted }: Token): string {
  return quoted ?? text.slice(start, end).replace(/(?<=[^\s.,:;!?])[,:;.!?]{1,3}$/, '');
}
