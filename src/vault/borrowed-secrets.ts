import { LangoError } from '../core/errors.js';
import type { Logger } from '../core/logger.js';
import type { Scrubber, SecretGuard, SecretUse } from '../core/secrets.js';
import { referencedSecrets, replaceReferences } from '../core/secrets.js';
import { scopeKey, type Scope } from '../core/task.js';
import { bothScrubbers, compileValues, LiveScrubber } from './value-scrubber.js';

export interface BorrowedSecretsOptions {
  /** Asks the node that keeps the secrets for a value. Rejects with `not-found`, `forbidden` or `unavailable`. */
  readonly ask: (scope: Scope, name: string, use: SecretUse) => Promise<string>;
  /** The scrubbers of the secrets in this node's own vault, which are searched for too. */
  readonly own: Pick<SecretGuard, 'scrubber'>;
  readonly ownEverywhere: Scrubber;
  readonly logger: Logger;
}

interface Held {
  readonly name: string;
  readonly value: string;
}

/**
 * The secrets that owners keep on another node of ours. That node decides about each use. A value is held here in memory
 * from its answer until all that came of the call is scrubbed, and nowhere else.
 */
export class BorrowedSecrets implements SecretGuard {
  readonly #options: BorrowedSecretsOptions;
  /** By owner: a value for each use that is not over. */
  readonly #held = new Map<string, ReadonlySet<Held>>();
  /** Compiled at first use after a change: by owner, and '' for all. */
  readonly #compiled = new Map<string, Scrubber>();

  constructor(options: BorrowedSecretsOptions) {
    this.#options = options;
  }

  /** Removes the secrets of all owners. For the log. */
  get everywhere(): Scrubber {
    const held = new LiveScrubber(() => this.#compile('', [...this.#held.values()]));
    return bothScrubbers(this.#options.ownEverywhere, held);
  }

  scrubber(scope: Scope): Scrubber {
    const owner = scopeKey(scope);
    const held = new LiveScrubber(() => this.#compile(owner, [this.#held.get(owner) ?? new Set()]));
    return bothScrubbers(this.#options.own.scrubber(scope), held);
  }

  async resolve(scope: Scope, text: string, use: SecretUse): Promise<string> {
    const names = referencedSecrets(text);
    if (names.length > 0 && use.place === 'browser') {
      throw new LangoError('not-supported', 'A secret of another server cannot be put into a page here.', {
        hint: 'Pass it in a header, with http_request, or run the agent of the browser on the server that keeps it.',
      });
    }
    const values = new Map<string, string>();
    for (const name of names) {
      const value = await this.#options.ask(scope, name, use);
      this.#hold(scope, { name, value }, use.scrubbed);
      values.set(name, value);
      this.#options.logger.info('a secret was borrowed', {
        secret: name,
        owner: scope.owner,
        tool: use.tool,
      });
    }
    return replaceReferences(text, (name) => values.get(name)!);
  }

  #hold(scope: Scope, held: Held, scrubbed: Promise<unknown> = Promise.resolve()): void {
    const owner = scopeKey(scope);
    this.#change(owner, (before) => before.add(held));
    const forget = () => this.#change(owner, (before) => void before.delete(held));
    scrubbed.then(forget, forget);
  }

  #change(owner: string, apply: (held: Set<Held>) => unknown): void {
    const held = new Set(this.#held.get(owner));
    apply(held);
    if (held.size > 0) this.#held.set(owner, held);
    else this.#held.delete(owner);
    this.#compiled.delete(owner);
    this.#compiled.delete('');
  }

  #compile(key: string, sets: readonly ReadonlySet<Held>[]): Scrubber {
    const all = sets.flatMap((held) => [...held].map(({ name, value }) => [name, value] as const));
    const known = this.#compiled.get(key) ?? compileValues(all);
    if (all.length > 0) this.#compiled.set(key, known);
    return known;
  }
}
