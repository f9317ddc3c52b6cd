import { LangoError } from './errors.js';
import type { Scope } from './task.js';

/**
 * Where a secret may go: `exec`, a command's environment; `http`, a header of a request; `browser`, a field of a page.
 * The last two also need the host.
 */
export const SECRET_PLACES = ['exec', 'http', 'browser'] as const;
export type SecretPlace = (typeof SECRET_PLACES)[number];

const REFERENCE = /\{\{secret:([A-Za-z][A-Za-z0-9_.-]{0,63})\}\}/g;

export function secretReference(name: string): string {
  return `{{secret:${name}}}`;
}

/** The names that `text` refers to, each once. */
export function referencedSecrets(text: string): readonly string[] {
  return text.includes('{{secret:')
    ? [...new Set([...text.matchAll(REFERENCE)].map(([, name]) => name!))]
    : [];
}

/** `text` with each reference replaced by what `valueOf` gives for its name. */
export function replaceReferences(text: string, valueOf: (name: string) => string): string {
  return text.replace(REFERENCE, (_, name: string) => valueOf(name));
}

/** Where its owner lets a secret go. Both empty: nowhere. */
export interface SecretPermission {
  readonly places: readonly SecretPlace[];
  /** Lower-case names, exact: "api.example.com". */
  readonly hosts: readonly string[];
}

/** What anybody may know of a secret: everything but its value. */
export interface SecretItem extends SecretPermission {
  readonly name: string;
  /** What stands for it in arguments: `{{secret:NAME}}`. */
  readonly reference: string;
  readonly version: number;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** True when its value cannot be read any more: damaged, or tampered with. */
  readonly isDamaged?: boolean;
}

export interface NewSecret extends SecretPermission {
  readonly name: string;
  readonly value: string;
  /** The idempotency key of the call that stores it: doing so again changes nothing. */
  readonly key?: string;
  /** Whether one of that name is replaced; else that is a `conflict`. */
  readonly replace: boolean;
}

/** A person's secrets, to look after. Scoped: those of others are absent. */
export interface SecretKeeper {
  /** Rejects with `invalid-input` for a value that is too short or too long to be kept out of texts. */
  store(scope: Scope, secret: NewSecret): Promise<SecretItem>;
  list(scope: Scope): Promise<readonly SecretItem[]>;
  get(scope: Scope, name: string): Promise<SecretItem | undefined>;
  /** Replaces what was allowed before. Rejects with `not-found`. */
  allow(scope: Scope, name: string, permission: SecretPermission): Promise<SecretItem>;
  /** False when there was none. */
  delete(scope: Scope, name: string): Promise<boolean>;
}

/** What stands between agents and the values of secrets. */
export interface SecretGuard {
  /** Of one owner; it always knows the newest secrets. */
  scrubber(scope: Scope): Scrubber;
  /**
   * `text` with every reference replaced by the value. Rejects with `not-found` for a name that this owner does not
   * have, and with `forbidden` unless the owner allowed this use.
   */
  resolve(scope: Scope, text: string, use: SecretUse): Promise<string>;
}

export interface SecretUse {
  readonly tool: string;
  readonly place: SecretPlace;
  /** Where the value would be sent; required for `http` and `browser`. */
  readonly host?: string;
}

/** Takes the values of secrets out of texts, in plain and in encoded forms. */
export interface Scrubber {
  /** There is nothing to look for: texts pass as they are, at no cost. */
  readonly isEmpty: boolean;
  text(text: string): string;
  /** For a text that comes in pieces: a value is found across their borders. */
  stream(): ScrubStream;
}

export interface ScrubStream {
  /** What may be shown now: all of the text so far but an end that a value may begin with. */
  push(piece: string): string;
  /** The rest; the next piece begins a new text. */
  end(): string;
}

/** Finds nothing. */
export const noScrubber: Scrubber = {
  isEmpty: true,
  text: (text) => text,
  stream: () => ({ push: (piece) => piece, end: () => '' }),
};

/** For an agent that has no vault: a reference cannot be resolved. */
export const noSecrets: SecretGuard = {
  scrubber: () => noScrubber,
  async resolve(_scope, text) {
    if (referencedSecrets(text).length === 0) return text;
    throw new LangoError('not-supported', 'There is no vault here, so no secret can be used.');
  },
};
