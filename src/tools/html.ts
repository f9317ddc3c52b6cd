import { NodeHtmlMarkdown } from 'node-html-markdown';
import { parseHTML } from 'node-html-markdown/dist/utilities.js';
import { Visitor } from 'node-html-markdown/dist/visitor.js';
import { LangoError } from '../core/errors.js';

const converter = new NodeHtmlMarkdown({ keepDataImages: false, useLinkReferenceDefinitions: false });
/** More newlines in a row than this are cut. */
const MOST_NEWLINES = 3;
const TOO_MANY_NEWLINES = new RegExp(String.raw`(?:\n[^\S\n]*){${MOST_NEWLINES + 1},}`, 'g');

/** Converts HTML to Markdown. Throws `invalid-input` for HTML that cannot be parsed, such as endless nesting. */
export function toMarkdown(html: string): string {
  try {
    const { result } = new LinearVisitor(converter, parseHTML(html, converter.options));
    return String(result.text).replace(TOO_MANY_NEWLINES, lastLines).trim();
  } catch (cause) {
    throw new LangoError('invalid-input', 'The HTML cannot be converted to Markdown.', { cause });
  }
}

function lastLines(run: string): string {
  return `\n${run.split('\n').slice(-MOST_NEWLINES).join('\n')}`;
}

/**
 * Writes what the library's visitor writes, in time that grows with the page. The library keeps the output as one string
 * and copies all of it at each append, so that a page of 500 KB took half a minute.
 */
class LinearVisitor extends Visitor {
  override appendResult(text: string, start?: number, spaceIfRepeatingChar?: boolean): void {
    if (text === '' && start === undefined) return;
    const { result } = this;
    // The base class visits the page in its constructor, and only reads `length` and `substr` of the output.
    if (typeof result.text === 'string') result.text = new Output() as unknown as string;
    const output = result.text as unknown as Output;
    if (start !== undefined) output.cut(start);
    const repeats = spaceIfRepeatingChar === true && text !== '' && output.last(1) === text[0];
    output.append(repeats ? ` ${text}` : text);
    const [space] = /\s*$/.exec(output.last(LOOKED_AT))!;
    result.trailingNewlineStats = {
      whitespace: space.length,
      newLines: space.replaceAll(/[^\r\n]/g, '').length,
    };
  }
}

/** The characters of the end of the output that decide how many newlines follow. */
const LOOKED_AT = 10;

/** A text that is appended to, read and cut at its end. */
class Output {
  readonly #parts: string[] = [];
  length = 0;

  append(text: string): void {
    if (text === '') return;
    this.#parts.push(text);
    this.length += text.length;
  }

  /** The text from `start` on. Takes time by its length. */
  substr(start: number): string {
    const parts: string[] = [];
    let from = this.length;
    for (let at = this.#parts.length - 1; at >= 0 && from > start; at -= 1) {
      const part = this.#parts[at]!;
      from -= part.length;
      parts.push(part);
    }
    const text = parts.reverse().join('');
    return start > from ? text.slice(start - from) : text;
  }

  last(characters: number): string {
    return this.substr(Math.max(0, this.length - characters));
  }

  /** Removes all from `start` on. */
  cut(start: number): void {
    let removed = '';
    while (this.length > start) {
      removed = this.#parts.pop()!;
      this.length -= removed.length;
    }
    this.append(removed.slice(0, start - this.length));
  }

  toString(): string {
    return this.#parts.join('');
  }
}
