import { BoundedCache } from '../../core/bounded-cache.js';
import { LangoError, isLangoError, type ErrorCode } from '../../core/errors.js';
import type { KeepingNode } from '../../core/operation.js';
import type { Logger } from '../../core/logger.js';
import { noScrubber, noSecrets, referencedSecrets, replaceReferences } from '../../core/secrets.js';
import type { Scrubber, SecretAccess, SecretGuard, SecretUse } from '../../core/secrets.js';
import { scopeKey, type Scope } from '../../core/task.js';
import { pause } from '../../core/time.js';
import { VAULT_OPERATIONS } from '../../core/vault-operations.js';
import { both } from '../../scrub/scrubber.js';
import type { OpenSealedVault } from './vault/sealed-vault.js';
import { ScrubbedValues } from './vault/value-scrubber.js';

/**
 * Opens the access of a node to the secrets of its owners, which `node` keeps, or this one where that is undefined. Without a
 * vault, references to secrets cannot be resolved.
 */
export async function openAccess(
  openVault: () => Promise<OpenSealedVault>,
  node: KeepingNode | undefined,
  logger: Logger,
): Promise<SecretAccess> {
  const own = await openVault().then(
    ({ secrets }) => ({ guard: secrets, everywhere: secrets.everywhere }),
    (error: unknown) => {
      if (isLangoError(error)) return { guard: noSecrets, everywhere: noScrubber };
      throw error;
    },
  );
  if (!node) return own;
  const guard = new BorrowedSecrets({ ask: askOf(node), own, logger });
  return { guard, everywhere: guard.everywhere };
}

/** Temporary errors. */
const PASSING: readonly ErrorCode[] = ['unavailable', 'timeout', 'too-many'];
const PAUSES_MS = [250, 1_000];

/**
 * Asks for a secret before a call has any effect, so it is safe to ask again for calls of every effect class: when the
 * node responds again within a second, the call continues; otherwise it fails with nothing done. The model, or the
 * person who approved an unsafe call, decides whether to try later.
 */
function askOf(node: KeepingNode): BorrowedSecretsOptions['ask'] {
  return async (scope, name, { tool, place, host, signal }) => {
    for (let attempt = 0; ; attempt += 1) {
      try {
        const client = await node.clientFor(VAULT_OPERATIONS, scope, signal);
        // `BorrowedSecrets` refuses the other places before it asks.
        const use = { name, tool, place: place as 'exec' | 'http', ...(host !== undefined && { host }) };
        return (await client.useSecret(use)).value;
      } catch (error) {
        signal?.throwIfAborted();
        const pauseMs = PAUSES_MS[attempt];
        if (!isPassing(error) || pauseMs === undefined) throw explained(error, node.url);
        await pause(pauseMs, { signal });
        signal?.throwIfAborted();
      }
    }
  };
}

function isPassing(error: unknown): error is LangoError {
  return isLangoError(error) && PASSING.includes(error.code);
}

/** The error of a node that cannot be reached, or does not know this one. The refusals of a use stay as they are. */
function explained(cause: unknown, url: string): unknown {
  const server = `The server that keeps the secrets, ${url},`;
  if (isLangoError(cause, 'unauthenticated')) {
    const advice = 'Its operator names this server in auth.nodes there, with may: [secrets].';
    const problem = `${server} does not know this one. Nothing was done.`;
    return new LangoError('unavailable', problem, { hint: `${advice} Its log says what is wrong.`, cause });
  }
  if (!isPassing(cause)) return cause;
  const problem = `${server} does not respond: ${cause.message} Nothing was done.`;
  const hint = 'Call this again in a moment. If it fails again, tell the person that this server is away.';
  return new LangoError('unavailable', problem, { hint, retryable: true, cause });
}

interface BorrowedSecretsOptions {
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
