import { describe, expect, it } from '@jest/globals';
import { silentLogger } from '../../src/core/logger.js';
import { NO_USAGE, type ModelEvent } from '../../src/core/model.js';
import { ModelFailure } from '../../src/models/failure.js';
import { retryAfterMs, retryDelayMs } from '../../src/core/retry.js';
import { streamCall, type OutputEvent } from '../../src/models/retry.js';
import { RecordingLogger } from '../support/recording-logger.js';

describe('the pause before the next attempt', () => {
  it('doubles up to a limit, minus a random half at most', () => {
    for (const [failures, longest] of [
      [1, 500],
      [2, 1_000],
      [3, 2_000],
      [20, 16_000],
    ] as const) {
      const delays = Array.from({ length: 200 }, () => retryDelayMs(failures, undefined));
      expect(Math.max(...delays)).toBeLessThanOrEqual(longest);
      expect(Math.min(...delays)).toBeGreaterThanOrEqual(longest / 2);
      expect(new Set(delays).size).toBeGreaterThan(100);
    }
  });

  it('is as long as the vendor asks for at least, and grows when it asks for little', () => {
    expect(retryDelayMs(1, 7_000)).toBe(7_000);
    expect(retryDelayMs(5, 0)).toBeGreaterThanOrEqual(4_000);
  });
});

describe("a vendor's advice to wait", () => {
  const asked = (headers: Record<string, string>) => retryAfterMs(new Headers(headers));

  it('may be in seconds or milliseconds', () => {
    expect(asked({ 'retry-after': '3' })).toBe(3_000);
    expect(asked({ 'retry-after': '0.5' })).toBe(500);
    expect(asked({ 'retry-after': '-3' })).toBe(0);
    expect(asked({ 'retry-after-ms': '250', 'retry-after': '3' })).toBe(250);
  });

  it('may be a date, also a past one', () => {
    const inTenMinutes = new Date(Date.now() + 600_000).toUTCString();
    expect(asked({ 'retry-after': inTenMinutes })).toBeGreaterThan(500_000);
    expect(asked({ 'retry-after': inTenMinutes })).toBeLessThanOrEqual(600_000);
    expect(asked({ 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' })).toBe(0);
  });

  it('may be missing or invalid', () => {
    expect(asked({})).toBeUndefined();
    expect(retryAfterMs(undefined)).toBeUndefined();
    expect(asked({ 'retry-after': 'soon' })).toBeUndefined();
    expect(asked({ 'retry-after-ms': 'soon' })).toBeUndefined();
  });
});

describe('a model call with retries', () => {
  const end: OutputEvent = { type: 'end', answer: { content: [], stopReason: 'end', usage: NO_USAGE } };

  async function eventsOf(
    attempt: () => AsyncIterable<OutputEvent>,
    logger = silentLogger,
  ): Promise<readonly ModelEvent[]> {
    const events: ModelEvent[] = [];
    const signal = new AbortController().signal;
    for await (const event of streamCall({ attempt, maxRetries: 1, signal, logger })) events.push(event);
    return events;
  }

  it('ends at the first end event, and drops later events', async () => {
    const got = await eventsOf(async function* () {
      yield end;
      yield { type: 'text', text: 'too late' };
    });
    expect(got).toEqual([end]);
  });

  it('ends with an error when the attempt ends without an end event', async () => {
    const got = await eventsOf(async function* () {
      yield { type: 'text', text: 'so' };
    });
    expect(got).toEqual([{ type: 'text', text: 'so' }, expect.objectContaining({ code: 'bad-answer' })]);
  });

  it('turns a defect into an error whose text goes to the log', async () => {
    const logger = new RecordingLogger();
    const got = await eventsOf(() => {
      throw new TypeError('secret internals');
    }, logger);
    expect(got).toEqual([expect.objectContaining({ type: 'error', code: 'bad-answer', retryable: false })]);
    expect(JSON.stringify(got)).not.toContain('secret internals');
    expect(logger.lines.join()).toContain('secret internals');
  });

  it('is not repeated after a permanent failure', async () => {
    let attempts = 0;
    const got = await eventsOf(() => {
      attempts += 1;
      throw new ModelFailure('rejected', 'no');
    });
    expect(got).toEqual([{ type: 'error', code: 'rejected', message: 'no', retryable: false }]);
    expect(attempts).toBe(1);
  });

  it.each([
    ['beyond the end of its task', { deadline: Date.now() + 5_000 }, 1],
    ['longer than five minutes', { asked: 300_001 }, 1],
  ] as const)('does not wait %s', async (_, given, expected) => {
    const { asked = 10_000, ...within }: { asked?: number; deadline?: number } = given;
    let attempts = 0;
    const attempt = () => {
      attempts += 1;
      throw new ModelFailure('overloaded', 'busy', { retryable: true, retryAfterMs: asked });
    };
    const { signal } = new AbortController();
    const events: ModelEvent[] = [];
    for await (const event of streamCall({ ...within, attempt, maxRetries: 9, signal, logger: silentLogger }))
      events.push(event);
    expect(events).toEqual([expect.objectContaining({ code: 'overloaded', message: 'busy' })]);
    expect(attempts).toBe(expected);
  });
});
