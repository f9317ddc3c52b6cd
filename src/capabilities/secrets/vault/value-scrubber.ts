import { parseObject } from '../../../core/json.js';
import { noScrubber, secretReference, type ScrubStream, type Scrubber } from '../../../core/secrets.js';
import { scopeKey, type Scope } from '../../../core/task.js';
import { compileScrubber } from '../../../scrub/scrubber.js';

/** A shorter value could not be told apart from ordinary text, in characters. */
export const MIN_SECRET = 6;

/** Replaces a mask that contains the value of a secret, so that scrubbing a text twice gives the same text. */
const SAFE_MASK = '***';

/**
 * Compiles a scrubber that replaces the values of secrets by their references. Of a value that is a JSON object it finds
 * the tokens, passwords and keys also by themselves.
 */
export function compileValues(secrets: readonly (readonly [name: string, value: string])[]): Scrubber {
  const hidden = secrets.flatMap(([name, whole]) =>
    [whole, ...hiddenMembers(whole)].map((value) => ({
      value,
      mask: secretReference(name),
      encodedMask: `[secret ${name}, encoded]`,
    })),
  );
  const first = compileScrubber(hidden);
  const isClean = (mask: string): boolean => first.text(mask) === mask;
  if (hidden.every(({ mask, encodedMask }) => isClean(mask) && isClean(encodedMask))) return first;
  return compileScrubber(
    hidden.map(({ value, mask, encodedMask }) => ({
      value,
      mask: isClean(mask) ? mask : SAFE_MASK,
      encodedMask: isClean(encodedMask) ? encodedMask : SAFE_MASK,
    })),
  );
}

/** The names of members that hold a secret: `refresh_token` is one; `token_type` holds an ordinary word. */
const HIDDEN_MEMBER = /(token|secret|password|private_?key)$/i;

function hiddenMembers(value: string): readonly string[] {
  const parsed = value.startsWith('{') ? parseObject(value) : undefined;
  const members = Object.entries(parsed ?? {});
  return members.flatMap(([name, member]) =>
    HIDDEN_MEMBER.test(name) && typeof member === 'string' && member.length >= MIN_SECRET ? [member] : [],
  );
}

/** A scrubber for the secrets at the time of each call. A class, as V8 makes objects with getters slowly. */
class LiveScrubber implements Scrubber {
  readonly #current: () => Scrubber;

  constructor(current: () => Scrubber) {
    this.#current = current;
  }

  get isEmpty(): boolean {
    return this.#current().isEmpty;
  }

  text(text: string): string {
    return this.#current().text(text);
  }

  stream(): ScrubStream {
    return this.#current().stream();
  }
}

type Secret = readonly [name: string, value: string];

/** The values of secrets that scrubbers remove, by owner and key. A scrubber is compiled at its first use after a change. */
export class ScrubbedValues<Key> {
  readonly #owners = new Map<string, Map<Key, Secret>>();
  /** By owner, and '' for all owners. */
  readonly #compiled = new Map<string, Scrubber>();

  /** Removes the values of all owners. */
  readonly everywhere: Scrubber = new LiveScrubber(() => this.#compile('', [...this.#owners.values()]));

  /** Removes the values of one owner. It always knows the newest ones. */
  scrubber(scope: Scope): Scrubber {
    const owner = scopeKey(scope);
    return new LiveScrubber(() => {
      const values = this.#owners.get(owner);
      return values ? this.#compile(owner, [values]) : noScrubber;
    });
  }

  has(scope: Scope, key: Key): boolean {
    return this.#owners.get(scopeKey(scope))?.has(key) ?? false;
  }

  set(scope: Scope, key: Key, secret: Secret): void {
    const owner = scopeKey(scope);
    const values = this.#owners.get(owner) ?? new Map<Key, Secret>();
    if (values.get(key)?.[1] === secret[1]) return;
    this.#owners.set(owner, values.set(key, secret));
    this.#changed(owner);
  }

  delete(scope: Scope, key: Key): void {
    const owner = scopeKey(scope);
    const values = this.#owners.get(owner);
    values?.delete(key);
    if (values?.size === 0) this.#owners.delete(owner);
    this.#changed(owner);
  }

  #changed(owner: string): void {
    this.#compiled.delete(owner);
    this.#compiled.delete('');
  }

  #compile(owner: string, maps: readonly ReadonlyMap<Key, Secret>[]): Scrubber {
    const known = this.#compiled.get(owner) ?? compileValues(maps.flatMap((values) => [...values.values()]));
    this.#compiled.set(owner, known);
    return known;
  }
}
