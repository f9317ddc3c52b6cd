import { NodeHtmlMarkdown } from 'node-html-markdown';
import { LangoError } from '../core/errors.js';

/** HTML as Markdown. Throws `invalid-input` for what cannot be read, as when it is nested without end. */
export function toMarkdown(html: string): string {
  try {
    return NodeHtmlMarkdown.translate(html, {
      keepDataImages: false,
      useLinkReferenceDefinitions: false,
    }).trim();
  } catch (cause) {
    throw new LangoError('invalid-input', 'The HTML cannot be read as Markdown.', { cause });
  }
}
