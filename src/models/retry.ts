import { once } from 'node:events';
import { errorText, isLangoError } from '../core/errors.js';
import { defined } from '../core/json.js';
import type { Logger } from '../core/logger.js';
import type { ModelEvent, ModelRequest, SpentUsage } from '../core/model.js';
import { retryDelayMs } from '../core/retry.js';
import { wellFormed } from '../core/text.js';
import { Deadline } from '../core/time.js';
import { ModelFailure } from './failure.js';

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
  const failed: SpentUsage[] = [];
  const again = new NextAttempt(call);
  let lastTextBy = 0;
  for (let attempts = 1; ; attempts++) {
    try {
      for await (const event of call.attempt(again.note)) {
        call.signal.throwIfAborted();
        if (event.type === 'end') {
          yield wellFormed({ ...event, answer: { ...event.answer, ...(failed.length > 0 && { failed }) } });
          return;
        }
        const restarts = lastTextBy > 0 && lastTextBy < attempts;
        lastTextBy = attempts;
        yield restarts ? { ...event, restarts } : event;
      }
      throw new ModelFailure('bad-answer', 'The model ended without an output.');
    } catch (error) {
      const failure = toFailure(error, call);
      const usage = error instanceof ModelFailure ? error.usage : undefined;
      if (usage && usage.input + usage.output > 0) failed.push({ usage });
      if (call.adjust?.(failure)) continue;
      if (await again.isAllowedAfter(failure)) continue;
      yield errorEvent(call.signal.aborted ? CANCELED : failure, failed);
      return;
    }
  }
}

/** Decides whether a call is made once more, and waits before it. */
class NextAttempt {
  /** The note for the model in the next attempt. */
  note: string | undefined;
  readonly #call: Call;
  #notes = 0;
  #retries = 0;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Resolves once the next attempt may begin, or with false when there is none. */
  async isAllowedAfter(failure: ModelFailure): Promise<boolean> {
    const { logger, onRetry, signal } = this.#call;
    const { code, message: reason } = failure;
    const { again, retryable, retryAfterMs } = failure.details;
    if (again) {
      this.note = again.note;
      this.#notes += 1;
      if (signal.aborted || this.#notes > again.times) return false;
      onRetry?.(code, 0);
      logger.warn('a model gave nothing and is asked again', { reason });
      return true;
    }
    this.#retries += 1;
    const delayMs = retryDelayMs(this.#retries, retryAfterMs, LONGEST_DELAY_MS);
    if (!retryable || this.#retries > this.#mostRetries(failure) || !this.#hasTimeFor(delayMs)) return false;
    onRetry?.(code, delayMs);
    logger.warn('a model call failed and is retried', { code, reason, delayMs: Math.round(delayMs) });
    using wait = new Deadline(signal).expect(delayMs);
    if (!wait.signal.aborted) await once(wait.signal, 'abort');
    return wait.hasPassed;
  }

  #mostRetries({ code, details: { triesFew } }: ModelFailure): number {
    const { maxRetries, hasFallback } = this.#call;
    return code === 'unreachable' || triesFew || hasFallback ? Math.min(maxRetries, FEW_RETRIES) : maxRetries;
  }

  #hasTimeFor(delayMs: number): boolean {
    const { deadline = Infinity } = this.#call;
    return delayMs <= LONGEST_ASKED_MS && Date.now() + delayMs < deadline;
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

function errorEvent({ code, message, details }: ModelFailure, failed: readonly SpentUsage[]): ModelEvent {
  const { retryable = false, about, retryAfterMs, windowTokens } = details;
  const spent = failed.length > 0 && { failed };
  return {
    type: 'error',
    code,
    message,
    retryable,
    ...defined({ about, retryAfterMs, windowTokens }),
    ...spent,
  };
}
