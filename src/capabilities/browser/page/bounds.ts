import type { Range } from '../page-functions.js';

/** Bounds on everything that leaves a page. */
export const FOUND_MAX = 5_000;
const LABEL_MAX = 100;

export function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}

/** A text in one line, of at most `LABEL_MAX` characters. */
export function label(text: unknown): string {
  const whole = typeof text === 'string' ? text : '';
  return cut(whole.replace(/\s+/g, ' ').trim(), LABEL_MAX);
}

export function rangeOf(total: number, from: number, count: number): Range {
  return { total, from, to: Math.min(total, from + count) };
}
