import type { Path, Problem } from './problem.js';

/** What was read, and where each part of it stands. */
export interface Source {
  /** Plain values; undefined when the text could not be read at all. */
  readonly values: unknown;
  readonly problems: readonly Problem[];
  /** "FILE:LINE:COLUMN" of the value at `path`, else of the nearest thing around it that was written. */
  locate(path: Path): string;
  /** Like `locate`, but points at the key itself. */
  locateKey(path: Path): string;
}

export interface SourceOptions {
  /** How the file is called in messages. */
  readonly file: string;
  readonly syntax: 'yaml' | 'json';
  /** Turns a text into the value it stands for; returns undefined to leave the key out. */
  readonly readText?: (text: string, path: Path) => TextReading;
}

export type TextReading = { readonly value: unknown } | { readonly problem: string };

/** A program's own object in the place of a file. */
export function objectSource(values: unknown): Source {
  return { values, problems: [], locate: () => 'settings', locateKey: () => 'settings' };
}
