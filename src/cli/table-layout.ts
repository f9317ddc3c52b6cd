import type { Paint } from '../terminal/paint.js';

export interface LayoutOptions {
  /** The width of the terminal. */
  readonly columns: number;
  readonly paint: Pick<Paint, 'isColored' | 'bold' | 'cyan' | 'dim' | 'italic'>;
}

type Align = 'left' | 'right' | 'center';

const RULE = /^:?-+:?$/;
const GAP = 3;

/**
 * Lays out the lines of a Markdown table with columns of one width each; cells break between words where the table is
 * wider than the terminal. Without colors the result is Markdown too. Lines that are no table, or that have no room, stay
 * as they are.
 */
export function layOutTable(lines: readonly string[], options: LayoutOptions): readonly string[] {
  const [head = [], rule = [], ...body] = lines.map(cellsOf);
  if (rule.length === 0 || !rule.every((cell) => RULE.test(cell))) return lines;
  const { paint } = options;
  const rows = [head, ...body].map((cells) => rule.map((_, index) => styled(cells[index] ?? '', paint)));
  const widths = widthsOf(rows, options);
  if (!widths) return lines;
  const aligns = rule.map(alignOf);
  const [first = [], ...rest] = rows.map((cells) => linesOf(cells, widths, aligns));
  const [bar, line] = paint.isColored ? [paint.dim('│'), '─'] : ['|', '-'];
  const row = (cells: readonly string[]) => `${bar} ${cells.join(` ${bar} `)} ${bar}`;
  const under = widths.map((width, index) => ruleOf(width, line, paint.isColored ? 'left' : aligns[index]!));
  return [
    ...first.map((cells) => row(cells.map((cell) => (paint.isColored ? paint.bold(cell) : cell)))),
    row(under.map((one) => (paint.isColored ? paint.dim(one) : one))),
    ...rest.flat().map(row),
  ];
}

function cellsOf(line: string): readonly string[] {
  const inner = line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '');
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim());
}

/** Paints bold text and code word by word, so that a cell can break between words. */
function styled(cell: string, paint: LayoutOptions['paint']): string {
  if (!paint.isColored) return cell;
  const words = (text: string, style: (word: string) => string) => text.split(' ').map(style).join(' ');
  return cell
    .replaceAll('\\|', '|')
    .replace(/\*\*(.+?)\*\*/g, (_, text: string) => words(text, paint.bold))
    .replace(/`([^`]+)`/g, (_, text: string) => words(text, paint.cyan));
}

const alignOf = (rule: string): Align =>
  !rule.endsWith(':') ? 'left' : rule.startsWith(':') ? 'center' : 'right';

function ruleOf(width: number, line: string, align: Align): string {
  const whole = line.repeat(width);
  if (align === 'left') return whole;
  return `${align === 'center' ? ':' : line}${line.repeat(width - 2)}:`;
}

/** The widths of the columns; undefined when a word of each would not fit. */
function widthsOf(rows: readonly (readonly string[])[], { columns }: LayoutOptions) {
  const widest = (measure: (cell: string) => number) =>
    rows[0]!.map((_, index) => Math.max(GAP, ...rows.map((cells) => measure(cells[index]!))));
  const widths = widest(widthOf);
  const least = widest((cell) => Math.max(...cell.split(' ').map(widthOf)));
  const room = columns - GAP * widths.length - 1;
  const total = (given: readonly number[]) => given.reduce((sum, width) => sum + width, 0);
  if (total(least) > room) return undefined;
  for (let over = total(widths) - room; over > 0; over -= 1) {
    const slack = widths.map((width, index) => (width > least[index]! ? width : 0));
    widths[slack.indexOf(Math.max(...slack))]! -= 1;
  }
  return widths;
}

/** The lines of one row, each with its cells filled up to the widths. */
function linesOf(cells: readonly string[], widths: readonly number[], aligns: readonly Align[]) {
  const broken = cells.map((cell, index) => breakCell(cell, widths[index]!));
  const height = Math.max(...broken.map(({ length }) => length));
  return Array.from({ length: height }, (_, at) =>
    broken.map((lines, index) => fill(lines[at] ?? '', widths[index]!, aligns[index]!)),
  );
}

function breakCell(cell: string, width: number): readonly string[] {
  const lines: string[] = [''];
  for (const word of cell.split(' ')) {
    const last = lines.at(-1)!;
    const longer = last === '' ? word : `${last} ${word}`;
    if (widthOf(longer) <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

function fill(text: string, width: number, align: Align): string {
  const room = width - widthOf(text);
  const before = align === 'left' ? 0 : align === 'right' ? room : Math.floor(room / 2);
  return ' '.repeat(before) + text + ' '.repeat(room - before);
}

/** Wide in a terminal: the scripts of East Asia, and pictures. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{20000}-\u{3fffd}]/u;
const ZERO = /\p{M}|\p{Cf}/u;
// eslint-disable-next-line no-control-regex
const ESCAPES = /\u001b\[[0-9;]*m/g;

/** The number of columns that a text takes, without its colors. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text.replace(ESCAPES, ''))
    width += ZERO.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return width;
}
