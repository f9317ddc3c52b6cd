import type { Figure, Result } from './figures.js';

export interface Outcome {
  readonly mode: 'quick' | 'full';
  readonly rounds: number;
  readonly machine: { readonly cpus: number; readonly load: number; readonly node: string };
  readonly figures: readonly Figure[];
}

/** The columns, each with the names of the servers in it. A column without a figure is left out. */
const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  lango: ['lango', 'lango-serve'],
  stock: ['stock'],
  bare: ['bare'],
  postgres: ['lango-postgres', 'database'],
};

/** The result as text for a terminal, and for a page in Markdown. */
export function renderTable({ mode, rounds, machine, figures }: Outcome): string {
  const columns = Object.keys(COLUMNS).filter((name) =>
    figures.some((figure) => inColumn(name, figure) !== undefined),
  );
  const heads = ['', ...columns, 'unit', 'what counts', 'target', ''];
  const rows = [heads, ...figures.map((figure) => cells(figure, columns))];
  const widths = heads.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const lines = rows.map(
    (row) =>
      `| ${row.map((cell, column) => aligned(cell, column >= 1 && column <= columns.length, widths[column]!)).join(' | ')} |`,
  );
  const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`;
  const { node, cpus, load } = machine;
  const note = `${mode} run, ${rounds} rounds, node ${node}, ${cpus} processors, load ${load.toFixed(1)} at the end`;
  return [lines[0], rule, ...lines.slice(1), '', note].join('\n');
}

function cells(figure: Figure, columns: readonly string[]): readonly string[] {
  const shown = columns.map((name) => {
    const value = inColumn(name, figure);
    return value === undefined ? '' : rounded(value);
  });
  return [figure.title, ...shown, figure.unit, ...judged(figure.result)];
}

function inColumn(name: string, { values }: Figure): number | undefined {
  return COLUMNS[name]!.map((server) => values[server]).find((found) => found !== undefined);
}

function judged(result: Result | undefined): readonly [string, string, string] {
  if (!result) return ['', '', ''];
  const { of, value, target } = result;
  const text = `${of} ${rounded(value)}`;
  return target ? [text, `${target.is} ${target.value}`, target.met ? 'met' : 'MISSED'] : [text, '', ''];
}

/** Rounds to three significant digits. */
function rounded(value: number): string {
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.max(Math.abs(value), 0.01))));
  return value.toLocaleString('en-US', { maximumFractionDigits: digits });
}

function aligned(cell: string, isNumber: boolean, width: number): string {
  return isNumber ? cell.padStart(width) : cell.padEnd(width);
}
