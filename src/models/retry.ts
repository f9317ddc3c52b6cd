import { setTimeout as sleep } from 'node:timers/promises';
import { errorText } from '../core/errors.js';
import type { Logger } from '../core/logger.js';
import type { ModelEvent } from '../core/model.js';
import { ModelFailure } from './failure.js';

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 16_000;
/** A vendor that asks for more patience than this gets none: the caller decides what to do. */
const LONGEST_ASKED_MS = 60_000;

/** One model call, as often as it takes. */
export interface Call {
  /** Text as it comes, then one `end`. Throws whatever went wrong; may be started again after that. */
  attempt(): AsyncIterable<AnswerEvent>;
  readonly maxRetries: number;
  readonly signal: AbortSignal;
  readonly logger: Logger;
}

export type AnswerEvent = Extract<ModelEvent, { type: 'text' | 'end' }>;

/**
 * Keeps a provider's promise: never throws, repeats what may be repeated while no text was handed
 * out, and ends with exactly one `end` or `error`.
 */
export async function* streamCall(call: Call): AsyncGenerator<ModelEvent, void> {
  let isTextOut = false;
  for (let failures = 1; ; failures++) {
    try {
      for await (const event of call.attempt()) {
        call.signal.throwIfAborted();
        isTextOut ||= event.type === 'text';
        yield event;
        if (event.type === 'end') return;
      }
      throw new ModelFailure('bad-answer', 'The model ended without an answer.');
    } catch (error) {
      const failure = toFailure(error, call);
      const delayMs = retryDelayMs(failures, failure.retryAfterMs);
      const mayRepeat = failure.retryable && !isTextOut && failures <= call.maxRetries;
      if (!mayRepeat || delayMs > LONGEST_ASKED_MS || !(await isWaitOver(delayMs, failure, call))) {
        yield errorEvent(call.signal.aborted ? CANCELED : failure);
        return;
      }
    }
  }
}

const CANCELED = new ModelFailure('canceled', 'The model call was canceled.');

function toFailure(error: unknown, { signal, logger }: Call): ModelFailure {
  if (signal.aborted) return CANCELED;
  if (error instanceof ModelFailure) return error;
  logger.error('A model call failed in a way nobody thought of', { error: errorText(error) });
  return new ModelFailure('bad-answer', 'The model call failed inside this server; its log says why.');
}

/** False when the wait was cut short by an abort. */
async function isWaitOver(
  delayMs: number,
  failure: ModelFailure,
  { signal, logger }: Call,
): Promise<boolean> {
  logger.warn('A model call failed and is repeated', {
    code: failure.code,
    reason: failure.message,
    delayMs: Math.round(delayMs),
  });
  return sleep(delayMs, true, { signal }).catch(() => false);
}

function errorEvent({ code, message, retryable }: ModelFailure): ModelEvent {
  return { type: 'error', code, message, retryable };
}

/**
 * How long to wait after the `failures`-th failure in a row: what the vendor asked for, else a time that
 * doubles each time, of which a random part up to a half is taken off so that clients do not come back at once.
 */
export function retryDelayMs(failures: number, askedMs: number | undefined): number {
  if (askedMs !== undefined) return askedMs;
  const longest = Math.min(FIRST_DELAY_MS * 2 ** (failures - 1), LONGEST_DELAY_MS);
  return longest * (1 - Math.random() / 2);
}

/** The headers of a response, of whichever `fetch`. */
export interface HeaderLookup {
  get(name: string): string | null;
}

/** What `retry-after-ms` or `Retry-After` (seconds or a date, RFC 9110 section 10.2.3) ask for; never negative. */
export function retryAfterMs(headers: HeaderLookup | undefined): number | undefined {
  const milliseconds = headers?.get('retry-after-ms');
  if (milliseconds) return atLeastZero(Number(milliseconds));
  const value = headers?.get('retry-after');
  if (!value) return undefined;
  const seconds = Number(value);
  return atLeastZero(Number.isNaN(seconds) ? Date.parse(value) - Date.now() : seconds * 1000);
}

function atLeastZero(value: number): number | undefined {
  return Number.isNaN(value) ? undefined : Math.max(0, value);
}
