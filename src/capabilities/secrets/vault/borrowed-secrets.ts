import { BoundedCache } from '../../../core/bounded-cache.js';
import { LangoError } from '../../../core/errors.js';
import type { Logger } from '../../../core/logger.js';
import { referencedSecrets, replaceReferences } from '../../../core/secrets.js';
import type { Scrubber, SecretAccess, SecretGuard, SecretUse } from '../../../core/secrets.js';
import { scopeKey, type Scope } from '../../../core/task.js';
import { both } from '../../../scrub/scrubber.js';
import { ScrubbedValues } from './value-scrubber.js';

export interface BorrowedSecretsOptions {
  /** Asks the node that stores the secrets for a value. Rejects with `not-found`, `forbidden` or `unavailable`. */
  readonly ask: (scope: Scope, name: string, use: SecretUse) => Promise<string>;
  /** The access to the secrets in this node's own vault, which are searched for too. */
  readonly own: SecretAccess;
  readonly logger: Logger;
}

/** Maximum number of values that commands got and that are held after their calls, of all owners together. */
const GIVEN_MAX = 500;

/**
 * The secrets that owners store on another node, which decides about each use. This node holds a value in memory only. It
 * drops the value of a header once all output of the call is scrubbed. A command may write its value into a file that a
 * later call reads, so that value is held until the process ends or `GIVEN_MAX` newer ones were given.
 */
export class BorrowedSecrets implements SecretGuard {
  readonly #options: BorrowedSecretsOptions;
  /** The values to search for, each with a key of its own: two calls may hold the same value. */
  readonly #held = new ScrubbedValues<symbol>();
  /** Drops a value that commands got, by owner, name and value. The value given longest ago is first. */
  readonly #given = new BoundedCache<string, () => void>(GIVEN_MAX, { onDropped: (_, drop) => drop() });

  constructor(options: BorrowedSecretsOptions) {
    this.#options = options;
  }

  /** The scrubber for the log, which removes the secrets of all owners. */
  get everywhere(): Scrubber {
    return both(this.#options.own.everywhere, this.#held.everywhere);
  }

  scrubber(scope: Scope): Scrubber {
    return both(this.#options.own.guard.scrubber(scope), this.#held.scrubber(scope));
  }

  async resolve(scope: Scope, text: string, use: SecretUse): Promise<string> {
    await this.check(scope, text, use);
    const names = referencedSecrets(text);
    const values = new Map<string, string>();
    for (const name of names) {
      const value = await this.#options.ask(scope, name, use);
      this.#hold(scope, [name, value], use);
      values.set(name, value);
      const { owner } = scope;
      this.#options.logger.info('a secret was borrowed', { secret: name, owner, tool: use.tool });
    }
    return replaceReferences(text, (name) => values.get(name)!);
  }

  /** The node that stores the secrets says only when it is asked for a value whether it permits a use. */
  async check(_scope: Scope, text: string, { place }: SecretUse): Promise<void> {
    if (referencedSecrets(text).length === 0 || place !== 'browser') return;
    const problem = 'A secret that another server stores cannot be typed into a page here.';
    const advice = 'Send it in a header with http_request';
    const hint = `${advice}, or run the browser agent on the server that stores the secret.`;
    throw new LangoError('not-supported', problem, { hint });
  }

  #hold(
    scope: Scope,
    secret: readonly [name: string, value: string],
    { place, scrubbed = Promise.resolve() }: SecretUse,
  ): void {
    const id = JSON.stringify([scopeKey(scope), ...secret]);
    const known = place === 'exec' ? this.#given.get(id) : undefined;
    const key = Symbol(secret[0]);
    if (!known) this.#held.set(scope, key, secret);
    const remove = () => this.#held.delete(scope, key);
    const drop = known ?? (() => void scrubbed.then(remove, remove));
    if (place === 'exec') this.#given.set(id, drop);
    else drop();
  }
}
