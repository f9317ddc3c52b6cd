import type { Kind } from './kinds.js';

const REFERENCE =
  /^(it|this|that|them|these|those|((the|that|this|those|these|its|your|their) )((\w{1,20}) )?(result|output|answer|list|listing|content|contents|text|summary|finding|plan|reply|response|data|match|matches)s?)$/i;
const LONGEST_REFERENCE = 60;

/** Whether a value is a word such as "it" or "the result" that stands for what came before. Never a quotation. */
export function isReference(value: { readonly text: string; readonly isQuoted: boolean }): boolean {
  return !value.isQuoted && value.text.length <= LONGEST_REFERENCE && REFERENCE.test(value.text);
}

/** Whether "it" means the text that came out before, not the thing (file, page, number) that was named before. */
export function refersToText(kind: Kind): boolean {
  return kind.type === 'text' || kind.type === 'list';
}
