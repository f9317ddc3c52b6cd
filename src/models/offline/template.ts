import type { Example, FunctionSpec } from '../../core/model.js';
import { kindOf, nameWords, parameterSchema, type Kind } from './kinds.js';
import { ARTICLES } from './vocabulary.js';
import { readWords } from './words.js';

/** The words of an example and its placeholders, in order. */
type Element =
  | { readonly type: 'literal'; readonly stem: string; readonly isOptional: boolean }
  | {
      readonly type: 'placeholder';
      readonly name: string;
      readonly kind: Kind;
      /** "{key}: {content}": what many words stand for ends at a colon. */
      readonly endsAtColon: boolean;
    };

export type Template = readonly Element[];

/** A longer example is prose, and too dear to match. */
const LONGEST_EXAMPLE_WORDS = 60;
const PLACEHOLDER = /^[^\p{L}\p{N}{}]*\{(\w+)\}[^\p{L}\p{N}{}]*$/u;

/**
 * An example in a form that sentences can be held against. Small words are optional unless the
 * example has no others. Undefined for an example of placeholders only: everything would match it.
 */
export function compileTemplate(
  example: Example,
  parameters: FunctionSpec['parameters'],
): Template | undefined {
  const { text, tokens } = readWords(example.text);
  if (tokens.length > LONGEST_EXAMPLE_WORDS) return undefined;
  const elements = tokens.flatMap((token): readonly Element[] => {
    const written = text.slice(token.start, token.end);
    const name = PLACEHOLDER.exec(written)?.[1];
    if (name) {
      const kind = kindOf(name, parameterSchema(parameters, name));
      return [{ type: 'placeholder', name, kind, endsAtColon: written.endsWith(':') }];
    }
    if (token.stem === '') return [];
    return [{ type: 'literal', stem: token.stem, isOptional: ARTICLES.has(token.stem) }];
  });
  const literals = elements.filter((element) => element.type === 'literal');
  if (literals.length === 0) return undefined;
  if (literals.some((literal) => !literal.isOptional)) return elements;
  return elements.map((element) =>
    element.type === 'literal' ? { ...element, isOptional: false } : element,
  );
}

/** An example for a person: "write [content] to [path]". */
export function humanText(example: string): string {
  return example.replace(/\{(\w+)\}/g, (_, name: string) => `[${nameWords(name).join(' ')}]`);
}
