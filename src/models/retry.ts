import { errorText, isLangoError } from '../core/errors.js';
import { defined } from '../core/json.js';
import type { Logger } from '../core/logger.js';
import type { ModelEvent, ModelRequest, SpentUsage } from '../core/model.js';
import { LONGEST_ASKED_MS, retryDelayMs } from '../core/retry.js';
import { wellFormed } from '../core/text.js';
import { pause } from '../core/time.js';
import { ModelFailure } from './failure.js';

export interface Call {
  /** Yields text as it arrives, then one `end`. Throws on failure, and can be called again after that. */
  attempt(): AsyncIterable<OutputEvent>;
  readonly maxRetries: number;
  readonly signal: AbortSignal;
  readonly onRetry?: ModelRequest['onRetry'];
  readonly logger: Logger;
}

export type OutputEvent = Extract<ModelEvent, { type: 'text' | 'end' }>;

/**
 * Runs a model call under the contract of a provider: never throws, retries a retryable failure, and ends with exactly one
 * `end` or `error`. The first text after a retry restarts the output if text was yielded before.
 */
export async function* streamCall(call: Call): AsyncGenerator<ModelEvent, void> {
  let lastTextBy = 0;
  const failed: SpentUsage[] = [];
  for (let failures = 1; ; failures++) {
    try {
      for await (const event of call.attempt()) {
        call.signal.throwIfAborted();
        const restarts = event.type === 'text' && lastTextBy > 0 && lastTextBy < failures;
        if (event.type === 'end') {
          yield wellFormed({ ...event, answer: { ...event.answer, ...(failed.length > 0 && { failed }) } });
          return;
        }
        lastTextBy = failures;
        yield restarts ? { ...event, restarts } : event;
      }
      throw new ModelFailure('bad-answer', 'The model ended without an output.');
    } catch (error) {
      const failure = toFailure(error, call);
      const usage = error instanceof ModelFailure ? error.usage : undefined;
      if (usage && usage.input + usage.output > 0) failed.push({ usage });
      const delayMs = retryDelayMs(failures, failure.retryAfterMs);
      const mayRepeat = failure.retryable && failures <= call.maxRetries;
      if (!mayRepeat || delayMs > LONGEST_ASKED_MS || !(await isWaitOver(delayMs, failure, call))) {
        yield errorEvent(call.signal.aborted ? CANCELED : failure, failed);
        return;
      }
    }
  }
}

const CANCELED = new ModelFailure('canceled', 'The model call was canceled.');

function toFailure(error: unknown, { signal, logger }: Call): ModelFailure {
  if (signal.aborted) return CANCELED;
  if (error instanceof ModelFailure) return error;
  // `loadPackage` throws this when the vendor's package is not installed.
  if (isLangoError(error, 'not-supported'))
    return new ModelFailure('rejected', `${error.message} ${error.hint}.`);
  logger.error('a model call failed with an unexpected error', { error: errorText(error) });
  return new ModelFailure('bad-answer', 'The model call failed inside this server; its log says why.');
}

/** Resolves with false when an abort ended the wait. */
async function isWaitOver(
  delayMs: number,
  failure: ModelFailure,
  { signal, onRetry, logger }: Call,
): Promise<boolean> {
  const { code, message: reason } = failure;
  onRetry?.(code, delayMs);
  logger.warn('a model call failed and is retried', { code, reason, delayMs: Math.round(delayMs) });
  return pause(delayMs, { signal });
}

function errorEvent(
  { code, message, retryable, about, retryAfterMs }: ModelFailure,
  failed: readonly SpentUsage[],
): ModelEvent {
  const spent = failed.length > 0 && { failed };
  return { type: 'error', code, message, retryable, ...defined({ about, retryAfterMs }), ...spent };
}
