import { secretReference, type ScrubStream, type Scrubber } from '../core/secrets.js';
import { compileScrubber } from '../scrub/scrubber.js';

/** Replaces a mask that contains the value of a secret, so that scrubbing a text twice gives the same text. */
const SAFE_MASK = '***';

/** Compiles a scrubber that replaces the values of secrets by their references. */
export function compileValues(secrets: readonly (readonly [name: string, value: string])[]): Scrubber {
  const hidden = secrets.map(([name, value]) => ({
    value,
    mask: secretReference(name),
    encodedMask: `[secret ${name}, encoded]`,
  }));
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

/** A scrubber for the secrets at the time of each call. */
export class LiveScrubber implements Scrubber {
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

/** Returns a scrubber that applies `first` and then `second`. */
export function bothScrubbers(first: Scrubber, second: Scrubber): Scrubber {
  return {
    get isEmpty() {
      return first.isEmpty && second.isEmpty;
    },
    text: (text) => second.text(first.text(text)),
    stream() {
      const [before, after] = [first.stream(), second.stream()];
      return {
        push: (piece) => after.push(before.push(piece)),
        end: () => after.push(before.end()) + after.end(),
      };
    },
  };
}
