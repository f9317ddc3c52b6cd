import { layOutTable, widthOf, type LayoutOptions } from './table-layout.js';

type Style = 'bold' | 'italic' | 'cyan';

/** The beginnings of lines whose kind the next characters decide. */
const OPEN_START = /^\s*(#{0,6}|[-*+>]|\d{1,3}[.)]?|`{1,2})?$/;
const START =
  /^(?<fence>\s*```.*)|^(?<heading>#{1,6}) +|^(?<bullet>\s*)[-*+] +|^(?<number>\s*\d{1,3}[.)] +)|^(?<quote>> ?)/;
/**
 * Lays out text for a terminal as it arrives: Markdown becomes colors and signs, and lines break between words. Without
 * colors the marks of Markdown stay. Code blocks keep their lines, and a table is shown once it is whole.
 */
export class TextLayout {
  readonly #options: LayoutOptions;
  readonly #styles = new Set<Style>();
  /** The beginning of a line whose kind is not known yet. */
  #start: string | undefined = '';
  #isInFence = false;
  /** The lines of the table that has begun. */
  #table: string[] = [];
  #isInTable = false;
  #isHeading = false;
  #column = 0;
  #indent = 0;
  #spaces = '';
  /** The word so far, in its colors, without `#run`. */
  #word = '';
  /** The end of the word that has one style. */
  #run = '';
  #wordWidth = 0;
  /** The stars at the end of the word. The next character decides whether they are a mark or text. */
  #stars = '';
  #out = '';

  constructor(options: LayoutOptions) {
    this.#options = options;
  }

  /** Returns what can be shown by now. A word is shown when its end is known. */
  write(text: string): string {
    for (const character of text) this.#take(character);
    return this.#taken();
  }

  /** Returns the rest. The next text begins a new line. */
  end(): string {
    this.#endLine();
    this.#endTable('');
    return this.#taken();
  }

  #taken(): string {
    this.#endCode();
    const out = this.#out;
    this.#out = '';
    return out;
  }

  #take(character: string): void {
    if (character === '\n') {
      const isRow = this.#isInTable;
      this.#endLine();
      if (!isRow) this.#out += '\n';
    } else if (this.#start !== undefined) this.#takeStart(character);
    else this.#takeInLine(character);
  }

  #takeStart(character: string): void {
    this.#start += character;
    const start = this.#start!;
    if (!this.#isInFence && OPEN_START.test(start)) return;
    if (start.trimStart().startsWith('```') || (this.#isInFence && '```'.startsWith(start.trim()))) return;
    this.#begin(start);
  }

  /** Begins a line whose kind is known. */
  #begin(start: string): void {
    this.#start = undefined;
    const { paint } = this.#options;
    this.#isInTable = !this.#isInFence && /^\s*\|/.test(start);
    if (!this.#isInTable) this.#endTable('\n');
    if (this.#isInFence || this.#isInTable) {
      this.#run = start;
      return;
    }
    const found = paint.isColored ? START.exec(start) : null;
    const { heading, bullet, number, quote } = found?.groups ?? {};
    this.#isHeading = heading !== undefined;
    const mark =
      bullet !== undefined ? `${bullet}• ` : (number ?? (quote === undefined ? '' : paint.dim('│ ')));
    this.#out += mark;
    this.#column = this.#indent = widthOf(mark);
    for (const character of start.slice(found?.[0].length ?? 0)) this.#takeInLine(character);
  }

  #takeInLine(character: string): void {
    if (this.#isInFence || this.#isInTable) {
      this.#run += character;
      return;
    }
    if (this.#options.paint.isColored && this.#isMark(character)) return;
    if (character === ' ') {
      this.#endWord();
      this.#spaces += ' ';
      return;
    }
    const width = widthOf(character);
    if (width === 2) this.#endWord();
    this.#run += character;
    this.#wordWidth += width;
  }

  /** Takes a mark of bold, italic or code, and says whether it did. */
  #isMark(character: string): boolean {
    if (character === '*' && !this.#styles.has('cyan')) {
      this.#stars += '*';
      return true;
    }
    this.#settleStars(character);
    if (character !== '`') return false;
    this.#toggle('cyan');
    return true;
  }

  /** Stars open a style before a letter and end it behind one. Other stars are text. */
  #settleStars(next: string): void {
    const stars = this.#stars;
    if (stars === '') return;
    this.#stars = '';
    const styles: readonly Style[] =
      stars.length === 1 ? ['italic'] : stars.length === 2 ? ['bold'] : ['bold', 'italic'];
    const isOpen = this.#styles.has(styles[0]!);
    const isBeforeWord = next.trim() !== '';
    const ends = isOpen && this.#wordWidth > 0;
    const begins = !isOpen && isBeforeWord && !/[\p{L}\p{N}]$/u.test(this.#run);
    if (stars.length <= 3 && (ends || begins)) styles.forEach((style) => this.#toggle(style));
    else {
      this.#run += stars;
      this.#wordWidth += stars.length;
    }
  }

  #toggle(style: Style): void {
    this.#endRun();
    if (!this.#styles.delete(style)) this.#styles.add(style);
  }

  #endRun(): void {
    if (this.#run === '') return;
    const { paint } = this.#options;
    const styled = [...this.#styles].reduce((text, style) => paint[style](text), this.#run);
    this.#word += this.#isHeading ? paint.bold(styled) : styled;
    this.#run = '';
  }

  #endWord(): void {
    this.#endRun();
    if (this.#word === '') return;
    const fits = this.#column + this.#spaces.length + this.#wordWidth <= this.#options.columns;
    if (fits || this.#column <= this.#indent) {
      this.#out += this.#spaces + this.#word;
      this.#column += this.#spaces.length + this.#wordWidth;
    } else {
      this.#out += `\n${' '.repeat(this.#indent)}${this.#word}`;
      this.#column = this.#indent + this.#wordWidth;
    }
    this.#spaces = this.#word = '';
    this.#wordWidth = 0;
  }

  /** Shows what a line of code holds so far. */
  #endCode(): void {
    if (!this.#isInFence || this.#run === '') return;
    this.#out += this.#options.paint.cyan(this.#run);
    this.#run = '';
  }

  #endTable(after: string): void {
    if (this.#table.length === 0) return;
    this.#out += layOutTable(this.#table, this.#options).join('\n') + after;
    this.#table = [];
  }

  #endLine(): void {
    const { paint } = this.#options;
    if (this.#start !== undefined && this.#start !== '') {
      const start = this.#start;
      if (start.trimStart().startsWith('```')) {
        this.#endTable('\n');
        this.#isInFence = !this.#isInFence;
        this.#out += paint.dim(start);
      } else this.#begin(start);
    }
    this.#settleStars('');
    if (this.#isInTable) {
      this.#table.push(this.#run);
      this.#run = '';
    } else if (this.#start === '') this.#endTable('\n');
    this.#endCode();
    this.#endWord();
    this.#styles.clear();
    this.#start = '';
    this.#spaces = '';
    this.#isHeading = this.#isInTable = false;
    this.#column = this.#indent = 0;
  }
}

/** Breaks one line, which may hold colors, between words. The rest is indented. */
export function wrapLine(line: string, columns: number): string {
  const indent = '  ';
  let column = 0;
  return line
    .split(/(?<=\S)(?= )/)
    .map((word) => {
      const width = widthOf(word);
      if (column === 0 || column + width <= columns) {
        column += width;
        return word;
      }
      const own = indent + word.trimStart();
      column = widthOf(own);
      return `\n${own}`;
    })
    .join('');
}
