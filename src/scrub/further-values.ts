import { noScrubber, type Scrubber, type ScrubStream, type SecretGuard } from '../core/secrets.js';
import { compileScrubber } from './scrubber.js';

const MASK = '[hidden]';

/** Makes a scrubber that hides these values. */
export function scrubberOf(values: readonly string[]): Scrubber {
  return values.length === 0 ? noScrubber : compileScrubber(values.map((value) => ({ value, mask: MASK })));
}

/** Returns a guard whose scrubbers also hide what `further` hides, of every owner. */
export function alsoHiding(guard: SecretGuard, further: Scrubber): SecretGuard {
  if (further.isEmpty) return guard;
  return {
    scrubber: (scope) => both(guard.scrubber(scope), further),
    resolve: (scope, text, use) => guard.resolve(scope, text, use),
  };
}

/** Makes a scrubber that hides what either one hides. `first` may learn further values. */
export function both(first: Scrubber, second: Scrubber): Scrubber {
  if (second.isEmpty) return first;
  return {
    isEmpty: false,
    text: (text) => second.text(first.text(text)),
    stream: (): ScrubStream => {
      const [before, after] = [first.stream(), second.stream()];
      return {
        push: (piece) => after.push(before.push(piece)),
        end: () => after.push(before.end()) + after.end(),
      };
    },
  };
}
