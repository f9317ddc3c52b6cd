import { NodeHtmlMarkdown } from 'node-html-markdown';
import { parseHTML } from 'node-html-markdown/dist/utilities.js';
import { Visitor } from 'node-html-markdown/dist/visitor.js';
import { LangoError } from '../core/errors.js';

const converter = new NodeHtmlMarkdown({ keepDataImages: false, useLinkReferenceDefinitions: false });
/** A longer row of newlines is cut to this number. */
const MAX_NEWLINES = 3;
const TOO_MANY_NEWLINES = new RegExp(String.raw`(?:\n[^\S\n]*){${MAX_NEWLINES + 1},}`, 'g');

/** Converts HTML to Markdown. Throws `invalid-input` for HTML that cannot be parsed, such as endless nesting. */
export function toMarkdown(html: string): string {
  try {
    const { result } = new LinearVisitor(converter, parseHTML(html, converter.options));
    return String(result.text).replace(TOO_MANY_NEWLINES, lastLines).trim();
  } catch (cause) {
    throw new LangoError('invalid-input', 'The HTML cannot be converted to Markdown.', { cause });
  }
}

const lastLines = (run: string): string => `\n${run.split('\n').slice(-MAX_NEWLINES).join('\n')}`;

/** Writes the output in linear time. The library's visitor copies all of it at each append: half a minute for 500 KB. */
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
    const [space] = /\s*$/.exec(output.last(TAIL_LENGTH))!;
    result.trailingNewlineStats = {
      whitespace: space.length,
      newLines: space.replaceAll(/[^\r\n]/g, '').length,
    };
  }
}

/** The library reads this many characters at the end of the output to decide how many newlines to add. */
const TAIL_LENGTH = 10;

/** A text that can be appended to, and read and cut at its end, without copying all of it. */
class Output {
  readonly #parts: string[] = [];
  length = 0;

  append(text: string): void {
    if (text === '') return;
    this.#parts.push(text);
    this.length += text.length;
  }

  /** Returns the text from `start` on, in time proportional to its length. */
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
