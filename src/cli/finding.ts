import { errorText, isLangoError } from '../core/errors.js';

/** One line of `lango doctor`. */
export interface Finding {
  readonly check: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly text: string;
  /** What to do about it. */
  readonly advice?: string;
}

export function ok(check: string, text: string): Finding {
  return { check, status: 'ok', text };
}

export function warn(check: string, text: string, advice?: string): Finding {
  return { check, status: 'warn', text, ...(advice === undefined ? {} : { advice }) };
}

export function fail(check: string, text: string, advice?: string): Finding {
  return { check, status: 'fail', text, ...(advice === undefined ? {} : { advice }) };
}

export function failedBy(check: string, error: unknown): Finding {
  return fail(check, errorText(error), isLangoError(error) ? error.hint : undefined);
}
