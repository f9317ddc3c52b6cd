import type { FunctionSpec } from '../../core/model.js';
import { readAbilities, type Ability } from './abilities.js';
import { align } from './align.js';
import type { Meaning } from './clauses.js';
import { toArgument, valueOf } from './kinds.js';
import { isReference, refersToText } from './references.js';
import { smallTalk } from './talk.js';
import { STOP_WORDS } from './vocabulary.js';
import { readWords, sliceTokens, stemsOf, type Words } from './words.js';

/** How a sentence can be understood as a request for one ability. */
export interface Match {
  readonly ability: Ability;
  /** For a delegation: the agent that published the example, or that the sentence names. */
  readonly agent: string | undefined;
  /**
   * `full`: words and placeholders match. `partial`: something is missing at the end. `near`: it shares most
   * words with an example of another agent that has no placeholders; good enough to ask that agent.
   */
  readonly grade: 'full' | 'partial' | 'near';
  readonly score: number;
  readonly values: ReadonlyMap<string, Value>;
  readonly missing: readonly string[];
  /** The sentence up to its first value: "read" of "read notes.txt". */
  readonly lead: string;
}

/** What stood where a placeholder is. */
interface Value {
  readonly text: string;
  readonly isQuoted: boolean;
  /** Its place in the sentence. */
  readonly start: number;
  readonly end: number;
}

/** Understands sentences by the examples of some functions. Remembers what it was asked. */
export interface Interpreter {
  readonly abilities: readonly Ability[];
  /** All ways to understand a sentence, the best first: by grade, then score, then the order of the examples. */
  readonly matches: (sentence: string) => readonly Match[];
  readonly meaning: (sentence: string) => Meaning;
  /** Published abilities, those that share most words with the sentence first. */
  readonly nearest: (sentence: string) => readonly Ability[];
}

const GRADES = ['full', 'partial', 'near'] as const;
/** At least this share of an example's telling words, and at least two of them in the example. */
const NEAR_SHARE = 0.5;
const NEAR_WORDS = 2;
/** A word that more agents than this have in their examples ("list", "show") does not tell one from another. */
const MOST_AGENTS_OF_A_TELLING_WORD = 1;
const LONGEST_NEAR_CHARACTERS = 2_000;

export function createInterpreter(functions: readonly FunctionSpec[]): Interpreter {
  const abilities = readAbilities(functions);
  const known = new Map<string, readonly Match[]>();
  const matches = (sentence: string) => {
    const before = known.get(sentence);
    if (before) return before;
    const found = findMatches(abilities, sentence);
    known.set(sentence, found);
    return found;
  };
  return {
    abilities,
    matches,
    meaning: (sentence) => toMeaning(sentence, matches(sentence)[0]),
    nearest: (sentence) => rankByNearness(abilities, sentence),
  };
}

function findMatches(abilities: readonly Ability[], sentence: string): readonly Match[] {
  const words = dropCourtesy(readWords(sentence));
  if (words.tokens.length === 0) return [];
  const found = abilities.flatMap((ability) => matchOne(ability, words) ?? []);
  const near = found.length > 0 ? [] : findNear(abilities, sentence);
  return [...found, ...near].sort(
    (a, b) => GRADES.indexOf(a.grade) - GRADES.indexOf(b.grade) || b.score - a.score,
  );
}

function matchOne(ability: Ability, words: Words): Match | undefined {
  const { template } = ability;
  const alignment = align(template, words, false) ?? align(template, words, true);
  if (!alignment) return undefined;
  const slots = [...alignment.slots];
  const values = slots.map(([name, [begin, to]]): [string, Value] => {
    const from = begin + introductionOf(name, words, [begin, to]);
    const first = words.tokens[from]!;
    const isQuoted = to === from + 1 && first.quoted !== undefined;
    const end = words.tokens[to - 1]!.end;
    return [name, { text: valueOf(words, from, to), isQuoted, start: first.start, end }];
  });
  const firstValue = Math.min(words.tokens.length, ...slots.map(([, [from]]) => from));
  return {
    ability,
    agent: ability.agent ?? namedAgent(template, values),
    grade: alignment.isFull ? 'full' : 'partial',
    score: alignment.score,
    values: new Map(values),
    missing: alignment.missing,
    lead: sliceTokens(words, 0, firstValue),
  };
}

/** How many words only say what comes: "the command date" for a command is "date". */
function introductionOf(name: string, { tokens }: Words, [from, to]: readonly [number, number]): number {
  const isNamed = tokens[from]?.plain === 'the' && tokens[from + 1]?.plain === name.toLowerCase();
  return isNamed && to - from > 2 ? 2 : 0;
}

/** The exact name of the agent that a sentence names in its own way: "ask Operator to …". */
function namedAgent(
  template: Ability['template'],
  values: readonly (readonly [string, Value])[],
): string | undefined {
  const said = values.find(([name]) => name === 'agent_name')?.[1].text;
  const element = template.find((each) => each.type === 'placeholder' && each.name === 'agent_name');
  if (said === undefined || element?.type !== 'placeholder') return undefined;
  const name = toArgument(element.kind, said);
  return typeof name === 'string' ? name : undefined;
}

/** What an agent publishes as a plain sentence, said in other words. */
function findNear(abilities: readonly Ability[], sentence: string): readonly Match[] {
  const agents = agentsByStem(abilities);
  return abilities.flatMap((ability) => matchNear(ability, sentence, agents) ?? []);
}

function matchNear(
  ability: Ability,
  sentence: string,
  agents: ReadonlyMap<string, ReadonlySet<string>>,
): Match | undefined {
  const hasPlaceholders = ability.template.some((element) => element.type === 'placeholder');
  if (ability.agent === undefined || hasPlaceholders) return undefined;
  const telling = tellingStems(ability);
  const shared = sharedStems(telling, sentence);
  const share = shared.length / telling.length;
  if (telling.length < NEAR_WORDS || share < NEAR_SHARE) return undefined;
  if (!shared.some((stem) => agents.get(stem)!.size <= MOST_AGENTS_OF_A_TELLING_WORD)) return undefined;
  return {
    ability,
    agent: ability.agent,
    grade: 'near',
    score: share,
    values: new Map(),
    missing: [],
    lead: '',
  };
}

function agentsByStem(abilities: readonly Ability[]): ReadonlyMap<string, ReadonlySet<string>> {
  const agents = new Map<string, Set<string>>();
  for (const ability of abilities) {
    for (const stem of tellingStems(ability)) {
      agents.set(stem, (agents.get(stem) ?? new Set()).add(ability.agent ?? ''));
    }
  }
  return agents;
}

function rankByNearness(abilities: readonly Ability[], sentence: string): readonly Ability[] {
  const ranked = abilities
    .filter((ability) => ability.isPublished)
    .map((ability) => ({ ability, shared: sharedStems(tellingStems(ability), sentence).length }));
  return ranked.sort((a, b) => b.shared - a.shared).map(({ ability }) => ability);
}

function tellingStems({ template }: Ability): readonly string[] {
  return template.flatMap((element) =>
    element.type === 'literal' && !STOP_WORDS.has(element.stem) ? [element.stem] : [],
  );
}

function sharedStems(stems: readonly string[], sentence: string): readonly string[] {
  const said = new Set(stemsOf(sentence.slice(0, LONGEST_NEAR_CHARACTERS)));
  return stems.filter((each) => said.has(each));
}

function toMeaning(sentence: string, best: Match | undefined): Meaning {
  const isFull = best?.grade === 'full';
  const isGoal = (name: string) => name === 'goal';
  return {
    isClear: isFull || isClearTalk(sentence),
    holdsGoal: best !== undefined && ([...best.values.keys()].some(isGoal) || best.missing.some(isGoal)),
    refersBack: isFull && refersBack(best),
    quotations: isFull ? innerQuotations(best) : [],
    lead: isFull ? best.lead : '',
  };
}

/** Where quotations begin that are a value, with another value behind them. */
function innerQuotations({ values }: Match): readonly number[] {
  const all = [...values.values()];
  const last = Math.max(...all.map(({ start }) => start));
  return all.flatMap(({ isQuoted, start }) => (isQuoted && start < last ? [start] : []));
}

/** An opinion or a "yes" may well be the middle of a text: "write I am fine. Yes. to a.txt". */
function isClearTalk(sentence: string): boolean {
  const kind = smallTalk(sentence);
  return kind !== undefined && kind !== 'opinion' && kind !== 'assent';
}

/** Whether a value that may be any text stands for what came out before: "write the result to out.txt". */
export function refersBack({ ability, values }: Match): boolean {
  return [...values].some(([name, value]) => {
    const element = ability.template.find((each) => each.type === 'placeholder' && each.name === name);
    return element?.type === 'placeholder' && refersToText(element.kind) && isReference(value);
  });
}

/** Without a "please" or "for me" at its end, which a last placeholder would take for its own. */
function dropCourtesy({ text, tokens }: Words): Words {
  let end = tokens.length;
  const plain = (index: number) => tokens[index]?.plain ?? '';
  for (;;) {
    if (plain(end - 1) === 'please') end -= 1;
    else if (plain(end - 2) === 'for' && plain(end - 1) === 'me') end -= 2;
    else return { text, tokens: tokens.slice(0, end) };
  }
}
