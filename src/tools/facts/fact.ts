import { z } from 'zod';
import { LONGEST_QUERY } from './recollection.js';
import { oneLine } from '../../core/text.js';

export const FACT_TIME_MS = 30_000;
const LONGEST_FACT = 1_000;

/** One line, in whatever script. */
export function factField(description: string) {
  return z.string().trim().min(1).max(LONGEST_FACT).describe(description);
}

export function queryField(description: string) {
  return z.string().trim().min(1).max(LONGEST_QUERY).describe(description);
}

/** What names a fact: its words, without what ends a sentence. */
export function factKey(fact: string): string {
  return oneLine(fact).replace(/[\s.!。！]+$/u, '') || oneLine(fact);
}

