import { NodeHtmlMarkdown } from 'node-html-markdown';
import { LangoError } from '../core/errors.js';

/** Converts HTML to Markdown. Throws `invalid-input` for HTML that cannot be parsed, such as endless nesting. */
export function toMarkdown(html: string): string {
  try {
    return NodeHtmlMarkdown.translate(html, {
      keepDataImages: false,
      useLinkReferenceDefinitions: false,
    }).trim();
  } catch (cause) {
    throw new LangoError('invalid-input', 'The HTML cannot be converted to Markdown.', { cause });
  }
}
