import { hash } from 'node:crypto';

/** A document as it is served. */
export interface Shelved {
  readonly body: string;
  /** A strong entity tag: the hash of the body. */
  readonly etag: string;
  /** When the body was last another one, in milliseconds since the epoch; whole seconds. */
  readonly modifiedAt: number;
}

const MAX_PLACES = 256;
const ETAG_CHARACTERS = 22;

/** Documents that stay the same, to the byte and in their dates, until what they are made of changes. */
export class Shelf {
  readonly #held = new Map<string, Shelved & { readonly source: string }>();

  /** Calls `make` only when `source` is not the one of the last time at this place. */
  get(place: string, source: string, make: () => string): Shelved {
    const held = this.#held.get(place);
    if (held?.source === source) return held;
    const body = make();
    const etag = `"${hash('sha256', body, 'base64url').slice(0, ETAG_CHARACTERS)}"`;
    const fresh = { body, etag, source, modifiedAt: Math.floor(Date.now() / 1_000) * 1_000 };
    this.#held.delete(place);
    if (this.#held.size >= MAX_PLACES) this.#held.delete(this.#held.keys().next().value!);
    this.#held.set(place, fresh);
    return fresh;
  }
}
