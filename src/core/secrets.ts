import { LangoError } from './errors.js';
import { Contract } from './service.js';
import type { Scope } from './task.js';

/** The places that a secret may be sent to. A header (`http`) and a field of a page (`browser`) also need a permitted host. */
export const SECRET_PLACES = ['exec', 'http', 'browser'] as const;
export type SecretPlace = (typeof SECRET_PLACES)[number];

export const VAULT_NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;
const REFERENCE = /\{\{secret:([A-Za-z][A-Za-z0-9_.-]{0,63})\}\}/g;

export function secretReference(name: string): string {
  return `{{secret:${name}}}`;
}

/** Returns the names that `text` refers to, each once. */
export function referencedSecrets(text: string): readonly string[] {
  return text.includes('{{secret:')
    ? [...new Set([...text.matchAll(REFERENCE)].map(([, name]) => name!))]
    : [];
}

/** Replaces each reference in `text` with `valueOf(name)`. */
export function replaceReferences(text: string, valueOf: (name: string) => string): string {
  return text.replace(REFERENCE, (_, name: string) => valueOf(name));
}

export interface SecretGuard {
  /** Returns the scrubber of an owner. It always knows the newest secrets. */
  scrubber(scope: Scope): Scrubber;
  /** Replaces each reference with its value. Rejects with `not-found`, or `forbidden` for a use that is not permitted. */
  resolve(scope: Scope, text: string, use: SecretUse): Promise<string>;
  /** Rejects where `resolve` is known to reject. Reads no value. */
  check(scope: Scope, text: string, use: SecretUse): Promise<void>;
}

export interface SecretUse {
  readonly tool: string;
  readonly place: SecretPlace;
  /** The receiver of the value; required for `http` and `browser`. */
  readonly host?: string;
  readonly signal?: AbortSignal; // Aborts when the call is canceled.
  /** Settles when all that may hold the value is scrubbed. A guard that borrowed it forgets it then. Default: now. */
  readonly scrubbed?: Promise<unknown>;
}

/** Removes the values of secrets from texts, in plain and encoded forms. */
export interface Scrubber {
  /** Whether there are no secrets. Texts then stay unchanged, at no cost. */
  readonly isEmpty: boolean;
  text(text: string): string;
  /** For a text in chunks: finds values across the borders of chunks. */
  stream(): ScrubStream;
}

export interface ScrubStream {
  /** Returns the text that may be shown now. It holds back an end that may be the beginning of a value. */
  push(piece: string): string;
  /** Returns the rest. The next chunk begins a new text. */
  end(): string;
}

/** Changes nothing. */
export const noScrubber: Scrubber = {
  isEmpty: true,
  text: (text) => text,
  stream: () => ({ push: (piece) => piece, end: () => '' }),
};

/** For a node without a vault: references cannot be resolved. */
export const noSecrets: SecretGuard = {
  scrubber: () => noScrubber,
  async resolve(scope, text, use) {
    await this.check(scope, text, use);
    return text;
  },
  async check(_scope, text) {
    if (referencedSecrets(text).length === 0) return;
    throw new LangoError('not-supported', 'There is no vault here, so no secret can be used.');
  },
};

export interface SecretAccess {
  readonly guard: SecretGuard;
  /** Removes the values of all owners, for the log. */
  readonly everywhere: Scrubber;
}

/** Opens the access at its first call. */
export const SECRETS = new Contract<() => Promise<SecretAccess>>('secrets');
