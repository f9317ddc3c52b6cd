import { estimateDataTokens } from '../core/text.js';

const KNOWN = new WeakMap<object, number>();

/** Estimates the tokens of messages, instructions and functions, each of them once: no call reads a long conversation again. */
export function tokensIn(items: readonly object[]): number {
  return items.reduce((sum, item) => {
    const tokens = KNOWN.get(item) ?? estimateDataTokens(item);
    KNOWN.set(item, tokens);
    return sum + tokens;
  }, 0);
}
