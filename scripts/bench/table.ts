import type { Figure, Result } from './figures.js';

export interface Outcome {
  readonly mode: 'quick' | 'full';
  readonly rounds: number;
  readonly machine: { readonly cpus: number; readonly load: number; readonly node: string };
  readonly figures: readonly Figure[];
}

/** Columns, by the names of the servers that share one. */
const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  lango: ['lango', 'lango-serve'],
  stock: ['stock'],
  bare: ['bare'],
};

/** The result as text for a terminal, and for a page in Markdown. */
export function renderTable({ mode, rounds, machine, figures }: Outcome): string {
  const heads = ['', ...Object.keys(COLUMNS), 'unit', 'what counts', 'target', ''];
  const rows = [heads, ...figures.map(cells)];
  const widths = heads.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const lines = rows.map(
    (row) => `| ${row.map((cell, column) => aligned(cell, column, widths[column]!)).join(' | ')} |`,
  );
  const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`;
  const { node, cpus, load } = machine;
  const note = `${mode} run, ${rounds} rounds, node ${node}, ${cpus} processors, load ${load.toFixed(1)} at the end`;
  return [lines[0], rule, ...lines.slice(1), '', note].join('\n');
}

function cells({ title, unit, values, result }: Figure): readonly string[] {
  const shown = Object.values(COLUMNS).map((names) => {
    const value = names.map((name) => values[name]).find((found) => found !== undefined);
    return value === undefined ? '' : rounded(value);
  });
  return [title, ...shown, unit, ...judged(result)];
}

function judged(result: Result | undefined): readonly [string, string, string] {
  if (!result) return ['', '', ''];
  const { of, value, target } = result;
  const text = `${of} ${rounded(value)}`;
  return target ? [text, `${target.is} ${target.value}`, target.met ? 'met' : 'MISSED'] : [text, '', ''];
}

/** Three digits that matter. */
function rounded(value: number): string {
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.max(Math.abs(value), 0.01))));
  return value.toLocaleString('en-US', { maximumFractionDigits: digits });
}

function aligned(cell: string, column: number, width: number): string {
  return column >= 1 && column <= Object.keys(COLUMNS).length ? cell.padStart(width) : cell.padEnd(width);
}
