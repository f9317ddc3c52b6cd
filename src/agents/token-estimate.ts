import { estimateTokens } from '../core/text.js';

/** About how many tokens vendors count for an image of usual size. */
const IMAGE_TOKENS = 1_500;

const KNOWN = new WeakMap<object, number>();

/** Estimates the tokens of messages, instructions and functions, each of them once: no call reads a long conversation again. */
export function tokensIn(items: readonly object[]): number {
  return items.reduce((sum, item) => {
    const tokens = KNOWN.get(item) ?? tokensOf(item);
    KNOWN.set(item, tokens);
    return sum + tokens;
  }, 0);
}

function tokensOf(item: object): number {
  let images = 0;
  const text = JSON.stringify(item, (name, value: unknown) => {
    if (name !== 'bytes' || typeof value !== 'string') return value;
    images += 1;
    return undefined;
  });
  return estimateTokens(text) + images * IMAGE_TOKENS;
}
