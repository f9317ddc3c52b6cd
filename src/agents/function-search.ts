import { z } from 'zod';
import { oncePerList } from '../core/bounded-cache.js';
import { objectIn } from '../core/json.js';
import { functionCalls, type ModelMessage } from '../core/model.js';
import { oneLine, shorten } from '../core/text.js';
import { reply, typedFunction, type AgentFunction } from './agent-function.js';
import { capabilityDescription } from './capabilities.js';

/** The name of the function that finds others, which no tool may have. */
export const FIND_NAME = 'find_functions';

const MOST_FOUND = 8;
const LONGEST_QUERY = 1_000;
const SHOWN_CHARACTERS = 300;
const NAMES_CHARACTERS = 4_000;
/** A line of a result that describes a function begins with its name. */
const FOUND_LINE = /^([a-z][a-z0-9_]{0,63}): /gm;

export interface SearchableFunctions {
  /** Described in each request. */
  readonly always: readonly AgentFunction[];
  /** Found by a search when there are more than `most`. */
  readonly searched: readonly AgentFunction[];
  readonly most: number;
}

/**
 * The functions that the requests of one run describe. Those that were found, or called before, come at the end in the
 * order in which they were found, so that the beginning of the list stays the same for the vendor's cache. What was found
 * is read from the conversation, so a resumed run and a later task of the conversation offer the same.
 */
export class FunctionSearch {
  readonly #found = new Set<string>();
  #newest: ModelMessage | undefined;
  /** Made again only when the functions change, so that its description stays the same text. */
  readonly #finder = oncePerList(finder);

  /** All functions of a turn after these messages. One that is not described can be called nevertheless. */
  offer(
    { always, searched, most }: SearchableFunctions,
    controls: readonly AgentFunction[],
    messages: readonly ModelMessage[],
  ): readonly AgentFunction[] {
    this.#read(messages);
    if (searched.length <= most) return [...always, ...searched, ...controls];
    const byName = new Map(searched.map((one) => [one.name, one]));
    const found = [...this.#found].flatMap((name) => byName.get(name) ?? []);
    const hidden = searched.filter(({ name }) => !this.#found.has(name));
    const undescribed = hidden.map((one) => ({ ...one, spec: undefined }));
    return [...always, ...controls, this.#finder(searched), ...found, ...undescribed];
  }

  /** Reads the messages that are new since the last turn; all of them when its newest one was cleared. */
  #read(messages: readonly ModelMessage[]): void {
    const from = this.#newest ? messages.lastIndexOf(this.#newest) + 1 : 0;
    for (const message of messages.slice(from)) namesIn(message).forEach((name) => this.#found.add(name));
    this.#newest = messages.at(-1);
  }
}

/** The names of functions that a message finds or calls. */
function namesIn(message: ModelMessage): readonly string[] {
  if (message.role === 'assistant') return functionCalls(message.content).map(({ name }) => name);
  if (message.role !== 'results') return [];
  const found = message.results.filter(({ name, isError }) => name === FIND_NAME && !isError);
  return found.flatMap(({ content }) => [...content.matchAll(FOUND_LINE)].map(([, name]) => name!));
}

function finder(searched: readonly AgentFunction[]): AgentFunction {
  const description = `Finds further functions by what they do. There are ${searched.length} that are not described here: ${capabilityDescription(searched)}. Call it before you say that something cannot be done; call what it finds from then on.`;
  const words = z.string().min(1).max(LONGEST_QUERY);
  const schema = z.object({
    query: words.describe('What the function is to do, in a few words, or its name'),
  });
  return typedFunction({ name: FIND_NAME, description, schema }, (call, { query }) => {
    const { tools } = call.run.grant;
    const granted = searched.filter(({ name }) => tools?.includes(name) ?? true);
    return reply(call, resultOf(query, granted), false);
  });
}

function resultOf(query: string, searched: readonly AgentFunction[]): string {
  const found = bestOf(query, searched).slice(0, MOST_FOUND);
  if (found.length === 0) {
    const names = searched.map(({ name }) => name).join(', ');
    return `Nothing was found for these words. All names: ${shorten(names, NAMES_CHARACTERS) || 'none'}`;
  }
  const lines = found.map(
    ({ name, spec }) => `${name}: ${shorten(oneLine(spec?.description ?? ''), SHOWN_CHARACTERS)}`,
  );
  return ['These functions are described to you from now on:', ...lines].join('\n');
}

const NAME_WEIGHT = 3;
const PART_WEIGHT = 0.5;
const SHORTEST_PART = 4;

/** The functions that have words of the query in their name, description or arguments, the best first. */
function bestOf(query: string, searched: readonly AgentFunction[]): readonly AgentFunction[] {
  const entries = searched.map((one) => {
    const { description = '', parameters = {} } = one.spec ?? {};
    const text = [description, ...Object.keys(objectIn(parameters['properties']))].join(' ');
    const score = query.includes(one.name) ? Infinity : 0;
    return { one, name: wordsOf(one.name), text: wordsOf(text), score };
  });
  for (const word of wordsOf(query)) {
    const found = entries.map(({ name, text }) => NAME_WEIGHT * shareIn(name, word) + shareIn(text, word));
    // A word of few functions says more than one of many.
    const weight = Math.log(1 + searched.length / (1 + found.filter(Boolean).length));
    for (const [at, entry] of entries.entries()) entry.score += weight * found[at]!;
  }
  const hits = entries.filter(({ score }) => score > 0);
  return hits.sort((a, b) => b.score - a.score).map(({ one }) => one);
}

/** 1 for a word that is among these, less for one that begins another. */
function shareIn(words: readonly string[], word: string): number {
  if (words.includes(word)) return 1;
  return word.length >= SHORTEST_PART && words.some((one) => one.startsWith(word)) ? PART_WEIGHT : 0;
}

/** The words of a text, in lower case and without the "s" of the plural. */
function wordsOf(text: string): readonly string[] {
  const apart = text.replace(/(\p{Ll})(?=\p{Lu})/gu, '$1 ').toLowerCase();
  const words = apart.match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.map((word) => (word.length > SHORTEST_PART ? word.replace(/s$/, '') : word));
}
