import type { Paint } from '../terminal/paint.js';
import { widthOf } from './text-width.js';

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
function widthsOf(
  rows: readonly (readonly string[])[],
  { columns }: LayoutOptions,
): readonly number[] | undefined {
  const count = rows[0]?.length ?? 0;
  const widest = (index: number, measure: (cell: string) => number) =>
    Math.max(GAP, ...rows.map((cells) => measure(cells[index]!)));
  const indexes = Array.from({ length: count }, (_, index) => index);
  const widths = indexes.map((index) => widest(index, widthOf));
  const least = indexes.map((index) => widest(index, (cell) => Math.max(...cell.split(' ').map(widthOf))));
  const room = columns - GAP * count - 1;
  const total = (given: readonly number[]) => given.reduce((sum, width) => sum + width, 0);
  if (total(least) > room) return undefined;
  for (let over = total(widths) - room; over > 0; over -= 1) {
    const slack = widths.map((width, index) => (width > least[index]! ? width : 0));
    widths[slack.indexOf(Math.max(...slack))]! -= 1;
  }
  return widths;
}

/** The lines of one row, each with its cells filled up to the widths. */
function linesOf(
  cells: readonly string[],
  widths: readonly number[],
  aligns: readonly Align[],
): readonly (readonly string[])[] {
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
