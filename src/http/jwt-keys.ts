import { readFile } from 'node:fs/promises';
import type { FlattenedJWSInput, JSONWebKeySet, JWSHeaderParameters, LocalJWKSet } from 'jose';
import { LangoError, errorText } from '../core/errors.js';
import { discoveryUrl } from '../core/identity.js';
import { isJsonObject, type JsonObject } from '../core/json.js';
import type { Logger } from '../core/logger.js';

export interface JwtKeysOptions {
  /** Reads the whole set: see `keysFromUrl`, `keysFromFile` and `keysFromIssuer`. */
  readonly load: () => Promise<unknown>;
  /** The age at which the set is read again. */
  readonly refreshSeconds: number;
  /** The shortest time between two reads that unknown keys cause. */
  readonly cooldownSeconds: number;
  readonly logger: Logger;
}

type LoadedKeys = Readonly<{ find: LocalJWKSet; thumbprints: ReadonlySet<string | undefined>; at: number }>;

/** Keys that cannot be renewed stay trusted for this many times `refreshSeconds`. After that, every token is refused. */
const MAX_AGE_IN_REFRESHES = 12;

/** The public keys of an issuer: read on first use, and again when they are old or lack the key of a token. */
export class JwtKeys {
  readonly #options: JwtKeysOptions;
  #loaded: LoadedKeys | undefined;
  #triedAt = -Infinity;
  #loading: Promise<void> | undefined;
  #problem: unknown;

  constructor(options: JwtKeysOptions) {
    this.#options = options;
  }

  /** Whether the keys that were read last include the one with this thumbprint (RFC 7638), whatever the set calls it. */
  has(thumbprint: string): boolean {
    return this.#loaded?.thumbprints.has(thumbprint) === true;
  }

  /** Resolves to the key that a token names. Rejects with `unavailable` while there are no keys. */
  readonly find = async (header: JWSHeaderParameters, token: FlattenedJWSInput): ReturnType<LocalJWKSet> => {
    const { refreshSeconds } = this.#options;
    if (this.#ageSeconds() > refreshSeconds) await this.renew();
    const loaded = this.#require();
    try {
      return await loaded.find(header, token);
    } catch (error) {
      if ((error as { readonly code?: unknown }).code !== 'ERR_JWKS_NO_MATCHING_KEY') throw error;
      await this.renew();
      const renewed = this.#require();
      if (renewed === loaded) throw error;
      return renewed.find(header, token);
    }
  };

  #ageSeconds(): number {
    return this.#loaded ? (performance.now() - this.#loaded.at) / 1_000 : Infinity;
  }

  #require(): LoadedKeys {
    const { refreshSeconds, cooldownSeconds } = this.#options;
    if (this.#loaded && this.#ageSeconds() <= refreshSeconds * MAX_AGE_IN_REFRESHES) return this.#loaded;
    throw new LangoError(
      'unavailable',
      'Tokens cannot be checked now: the keys of their issuer cannot be read.',
      { retryable: true, retryAfterMs: cooldownSeconds * 1_000, cause: this.#problem },
    );
  }

  /** Reads the set again, unless the last attempt is younger than the cooldown. Never rejects: a failure is logged. */
  async renew(): Promise<void> {
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
      const { calculateJwkThumbprint, createLocalJWKSet } = await import('jose');
      const set = (await this.#options.load()) as JSONWebKeySet;
      const find = createLocalJWKSet(set);
      const thumbprints = await Promise.all(
        set.keys.map((key) => calculateJwkThumbprint(key).catch(() => undefined)),
      );
      this.#loaded = { find, thumbprints: new Set(thumbprints), at: performance.now() };
    } catch (error) {
      this.#problem = error;
      this.#options.logger.warn('the keys that signatures are checked with cannot be read', {
        error: errorText(error),
        until: this.#loaded ? 'the keys from before are used' : 'every signature is refused',
      });
    }
  }
}

export function keysFromUrl(url: string, send: typeof fetch): () => Promise<unknown> {
  return () => readJson(url, send);
}

export function keysFromFile(file: string): () => Promise<unknown> {
  return async () => {
    try {
      return JSON.parse(await readFile(file, 'utf8')) as unknown;
    } catch (error) {
      throw new LangoError('invalid-config', `The key file ${file} cannot be read: ${errorText(error)}`);
    }
  };
}

/** Reads a key set from the address in the issuer's metadata (OpenID Connect Discovery 1.0, section 4). */
export function keysFromIssuer(
  issuer: string,
  send: typeof fetch,
  onMetadata: (facts: JsonObject) => void,
): () => Promise<unknown> {
  return async () => {
    const facts = await readJson(discoveryUrl(issuer), send);
    if (!isJsonObject(facts) || facts['issuer'] !== issuer) {
      throw new LangoError('unavailable', `The metadata at ${issuer} is that of another issuer.`, {
        hint: 'Set auth.jwt.issuer to the issuer exactly as its metadata names it.',
      });
    }
    const { jwks_uri: jwks } = facts;
    const address = typeof jwks === 'string' ? URL.parse(jwks) : null;
    // Keys over plain HTTP could be forged. They are accepted only from the origin of an issuer that itself has no TLS (tests).
    if (!address || (address.protocol !== 'https:' && address.origin !== new URL(issuer).origin)) {
      throw new LangoError('unavailable', `The metadata of ${issuer} names no https address of its keys.`);
    }
    onMetadata(facts);
    return readJson(address.href, send);
  };
}

async function readJson(url: string, send: typeof fetch): Promise<unknown> {
  const response = await send(url, { headers: { accept: 'application/json' } });
  if (!response.ok) {
    await response.body?.cancel();
    throw new LangoError('unavailable', `${url} responded with ${response.status}.`);
  }
  return response.json();
}
