import { hash } from 'node:crypto';
import { canonicalJson } from '../core/canonical-json.js';
import type { AskedRequest, ModelMessage } from '../core/model.js';
import type { Request } from './bill.js';

/** The hashes of objects that are in many requests, so that the work of a turn does not grow with its conversation. */
const KNOWN = new WeakMap<object, string>();
const HASH_CHARACTERS = 16;

/** Returns a short hash of an object that never changes. `write` makes its text. */
export function shortHash(value: object, write: (value: object) => string = canonicalJson): string {
  const known = KNOWN.get(value) ?? hash('sha256', write(value), 'hex').slice(0, HASH_CHARACTERS);
  KNOWN.set(value, known);
  return known;
}

/** Describes the requests of one run by their hashes. Names the parts of a request where they are not those of the one before. */
export class AskedRequests {
  #newest = '';

  describe({ system, functions, messages, maxTokens, output }: Request, model: string): AskedRequest {
    const blocks = system.filter(({ stable }) => stable).map((block) => shortHash(block));
    const parts = {
      system: blocks,
      functions: Object.fromEntries(functions.map((spec) => [spec.name, shortHash(spec)])),
    };
    const whole = [
      [...system, ...functions].map((part) => shortHash(part)),
      messages.flatMap(hashesOf),
      maxTokens,
    ];
    const asked = { model, hash: shortHash(output ? [...whole, output] : whole) };
    const newest = JSON.stringify(parts);
    if (newest === this.#newest) return asked;
    this.#newest = newest;
    return { ...asked, ...parts };
  }
}

/** A message of results is made again for each request, and its results are not. Large ones are written by the engine itself. */
function hashesOf(message: ModelMessage): readonly string[] {
  const parts = message.role === 'results' ? message.results : [message];
  return parts.map((part) => shortHash(part, JSON.stringify));
}
