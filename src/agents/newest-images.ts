import type { FunctionResult, ModelMessage } from '../core/model.js';

/** An image costs about as much as a page of text, and again with each further turn of its task. */
const IMAGES_SHOWN = 2;

const NO_LONGER_SHOWN =
  '[The image that came with this is not shown any more. Call the function again to see how it is now.]';

/** The same conversation with the images of its newest results only; the others are told of in words. */
export function withNewestImages(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  let left = IMAGES_SHOWN;
  const told = messages.toReversed().map((message) => {
    if (message.role !== 'results') return message;
    const results = message.results.toReversed().map((result) => {
      const count = result.images?.length ?? 0;
      const isShown = count <= left;
      left = Math.max(0, left - count);
      return isShown ? result : withoutImages(result);
    });
    return { ...message, results: results.reverse() };
  });
  return told.reverse();
}

function withoutImages({ images: _, ...result }: FunctionResult): FunctionResult {
  return { ...result, content: `${result.content}\n${NO_LONGER_SHOWN}` };
}
