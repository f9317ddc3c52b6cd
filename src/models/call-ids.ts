import { createHash } from 'node:crypto';
import type { FunctionCall } from '../core/model.js';

const ID_LENGTH = 9;

/** Kimi K2 reads the name of a function out of its id, and the number of the call in the conversation. */
const KIMI = /kimi-?k2/i;

/**
 * Makes the ids of the calls of one request. The ids that vendors give are refused by others: Mistral takes nine letters and
 * digits, Anthropic no dots and colons, and servers that number the calls of each answer anew repeat theirs. The same call
 * has the same id in each request, so that the vendor's cache finds its beginning again.
 */
export class CallIds {
  readonly #isKimi: boolean;
  readonly #used = new Set<string>();
  readonly #seen = new Map<string, number>();
  #count = 0;

  constructor(model: string) {
    this.#isKimi = KIMI.test(model);
  }

  /** The id of the next call of the conversation. */
  next({ id, name }: FunctionCall): string {
    const number = this.#count++;
    if (this.#isKimi) return `functions.${fitName(name)}:${number}`;
    let repeated = this.#seen.get(id) ?? 0;
    let made = shortHash(repeated === 0 ? id : `${repeated} ${id}`);
    while (this.#used.has(made)) made = shortHash(`${++repeated} ${id}`);
    this.#seen.set(id, repeated + 1);
    this.#used.add(made);
    return made;
  }
}

/** Nine letters and digits that are the same for the same text. */
export function shortHash(text: string): string {
  const hash = createHash('sha256').update(text).digest('base64url');
  return hash.replaceAll(/[-_]/g, '').slice(0, ID_LENGTH);
}

const LONGEST_NAME = 64;

/** The name of a function that was called, in a form that every vendor takes: a model may have made one up. */
export function fitName(name: string): string {
  const fit = name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, LONGEST_NAME);
  return /^[a-zA-Z_]/.test(fit) ? fit : `_${fit}`.slice(0, LONGEST_NAME);
}
