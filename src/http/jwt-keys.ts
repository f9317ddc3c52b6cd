import type { FlattenedJWSInput, JSONWebKeySet, JWSHeaderParameters, LocalJWKSet } from 'jose';
import { LangoError, errorText } from '../core/errors.js';
import type { Logger } from '../core/logger.js';

export interface JwtKeysOptions {
  /** Reads the whole set, from wherever it is. */
  readonly load: () => Promise<unknown>;
  /** After this age the set is read again. */
  readonly refreshSeconds: number;
  /** Tokens with an unknown key make us read the set again, but not more often than this. */
  readonly cooldownSeconds: number;
  readonly logger: Logger;
}

type Find = LocalJWKSet;

interface Held {
  readonly find: Find;
  readonly at: number;
}

/** Keys that could not be renewed are trusted for so many refresh times; then nobody is known. */
const MAX_AGE_IN_REFRESHES = 12;

/** The public keys of an issuer: read late, kept, renewed when they are old or a key is not among them. */
export class JwtKeys {
  readonly #options: JwtKeysOptions;
  #held: Held | undefined;
  #triedAt = -Infinity;
  #loading: Promise<void> | undefined;
  #problem: unknown;

  constructor(options: JwtKeysOptions) {
    this.#options = options;
  }

  /** Reads the keys ahead of the first request. Never rejects: what is wrong stands in the log. */
  async prepare(): Promise<void> {
    await this.#renew();
  }

  /** The key that a token names. Rejects with `unavailable` when there are no keys at all. */
  async find(header: JWSHeaderParameters, token: FlattenedJWSInput): Promise<Awaited<ReturnType<Find>>> {
    const { refreshSeconds } = this.#options;
    if (this.#age() > refreshSeconds) await this.#renew();
    const held = this.#require();
    try {
      return await held.find(header, token);
    } catch (error) {
      if ((error as { readonly code?: unknown }).code !== 'ERR_JWKS_NO_MATCHING_KEY') throw error;
      await this.#renew();
      const renewed = this.#require();
      if (renewed === held) throw error;
      return renewed.find(header, token);
    }
  }

  /** In seconds. */
  #age(): number {
    return this.#held ? (performance.now() - this.#held.at) / 1_000 : Infinity;
  }

  #require(): Held {
    const { refreshSeconds, cooldownSeconds } = this.#options;
    if (this.#held && this.#age() <= refreshSeconds * MAX_AGE_IN_REFRESHES) return this.#held;
    throw new LangoError(
      'unavailable',
      'Tokens cannot be checked now: the keys of their issuer are not there.',
      {
        retryable: true,
        retryAfterMs: cooldownSeconds * 1_000,
        cause: this.#problem,
      },
    );
  }

  /** Reads the set again, unless that was tried a moment ago. */
  async #renew(): Promise<void> {
    const { cooldownSeconds } = this.#options;
    if (!this.#loading && performance.now() - this.#triedAt < cooldownSeconds * 1_000) return;
    this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined;
    });
    await this.#loading;
  }

  async #load(): Promise<void> {
    this.#triedAt = performance.now();
    try {
      const { createLocalJWKSet } = await import('jose');
      const set = await this.#options.load();
      this.#held = { find: createLocalJWKSet(set as JSONWebKeySet), at: performance.now() };
    } catch (error) {
      this.#problem = error;
      this.#options.logger.warn('the keys that signatures are checked with cannot be read', {
        error: errorText(error),
        until: this.#held ? 'the keys from before are used' : 'every signature is refused',
      });
    }
  }
}
