import { once } from 'node:events';
import { errorText, isLangoError } from '../core/errors.js';
import { defined } from '../core/json.js';
import type { Logger } from '../core/logger.js';
import type { ModelEvent, ModelRequest, SpentUsage } from '../core/model.js';
import { retryDelayMs } from '../core/retry.js';
import { wellFormed } from '../core/text.js';
import { Deadline } from '../core/time.js';
import { badAnswer, ModelFailure } from './failure.js';

export interface Call extends Pick<ModelRequest, 'signal' | 'onRetry' | 'deadline' | 'hasFallback'> {
  /**
   * Yields text as it arrives, then one `end`. Throws on failure, and can be called again after that, also with a note for
   * the model.
   */
  attempt(note?: string): AsyncIterable<OutputEvent>;
  /** Changes later attempts after a refusal. With true, another one is made at once. Default: nothing can be changed. */
  adjust?(failure: ModelFailure): boolean;
  readonly maxRetries: number;
  readonly logger: Logger;
}

export type OutputEvent = Extract<ModelEvent, { type: 'text' | 'end' }>;

/** The retries when more would cost money or patience for nothing: another model may respond, or none ever will. */
const FEW_RETRIES = 3;
const LONGEST_DELAY_MS = 60_000;
/** The longest wait that a vendor may ask for. */
const LONGEST_ASKED_MS = 300_000;

/**
 * Runs a model call under the contract of a provider: never throws, retries a retryable failure, and ends with exactly one
 * `end` or `error`. The first text after a retry restarts the output if text was yielded before.
 */
export async function* streamCall(call: Call): AsyncGenerator<ModelEvent, void> {
  const { signal, onRetry, logger } = call;
  const failed: SpentUsage[] = [];
  let note: string | undefined;
  let notes = 0;
  let retries = 0;
  let lastTextBy = 0;
  for (let attempts = 1; ; attempts++) {
    try {
      for await (const event of call.attempt(note)) {
        signal.throwIfAborted();
        if (event.type === 'end') {
          yield wellFormed({ ...event, answer: { ...event.answer, ...(failed.length > 0 && { failed }) } });
          return;
        }
        const restarts = lastTextBy > 0 && lastTextBy < attempts;
        lastTextBy = attempts;
        yield restarts ? { ...event, restarts } : event;
      }
      throw badAnswer('The model ended without an output.');
    } catch (error) {
      const failure = toFailure(error, call);
      const usage = error instanceof ModelFailure ? error.usage : undefined;
      if (usage && usage.input + usage.output > 0) failed.push({ usage });
      if (call.adjust?.(failure)) continue;
      const { again } = failure.details;
      if (again && !signal.aborted && notes < again.times) {
        ({ note } = again);
        notes += 1;
        onRetry?.(failure.code, 0);
        logger.warn('a model gave nothing and is asked again', { reason: failure.message });
        continue;
      }
      if (!again && (await mayRetry(failure, ++retries, call))) continue;
      yield errorEvent(signal.aborted ? CANCELED : failure, failed);
      return;
    }
  }
}

/** Resolves once the next attempt may begin, or with false when there is none. */
async function mayRetry(failure: ModelFailure, retries: number, call: Call): Promise<boolean> {
  const { maxRetries, hasFallback, deadline = Infinity, onRetry, logger, signal } = call;
  const { code, message: reason } = failure;
  const { retryable, triesFew, retryAfterMs } = failure.details;
  const isFew = code === 'unreachable' || triesFew || hasFallback;
  const most = isFew ? Math.min(maxRetries, FEW_RETRIES) : maxRetries;
  const delayMs = retryDelayMs(retries, retryAfterMs, LONGEST_DELAY_MS);
  const hasTime = delayMs <= LONGEST_ASKED_MS && Date.now() + delayMs < deadline;
  if (!retryable || retries > most || !hasTime) return false;
  onRetry?.(code, delayMs);
  logger.warn('a model call failed and is retried', { code, reason, delayMs: Math.round(delayMs) });
  using wait = new Deadline(signal).expect(delayMs);
  if (!wait.signal.aborted) await once(wait.signal, 'abort');
  return wait.hasPassed;
}

const CANCELED = new ModelFailure('canceled', 'The model call was canceled.');

function toFailure(error: unknown, { signal, logger }: Call): ModelFailure {
  if (signal.aborted) return CANCELED;
  if (error instanceof ModelFailure) return error;
  // `loadPackage` throws this when the vendor's package is not installed.
  if (isLangoError(error, 'not-supported'))
    return new ModelFailure('rejected', `${error.message} ${error.hint}.`);
  logger.error('a model call failed with an unexpected error', { error: errorText(error) });
  return badAnswer('The model call failed inside this server; its log says why.');
}

function errorEvent({ code, message, details }: ModelFailure, failed: readonly SpentUsage[]): ModelEvent {
  const { retryable = false, about, retryAfterMs, windowTokens } = details;
  const known = defined({ about, retryAfterMs, windowTokens });
  return { type: 'error', code, message, retryable, ...known, ...(failed.length > 0 && { failed }) };
}
