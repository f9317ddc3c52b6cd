import {
  answerText,
  type AnswerBlock,
  type ModelAnswer,
  type ModelEvent,
  type ModelMessage,
  type ModelProvider,
  type ModelRequest,
} from '../../core/model.js';
import { textOf } from '../../core/message.js';
import { estimateTokens } from '../../core/text.js';
import { PROVIDER_ID } from './control.js';
import type { Decision } from './decision.js';

const WORDS_PER_PIECE = 4;
/** Splits text into words with the space after them, long ones into pieces, never inside a character. */
const WORDS = /\S{1,40}\s{0,40}|\s{1,40}/gu;

const CANCELED: ModelEvent = {
  type: 'error',
  code: 'canceled',
  message: 'The request was canceled.',
  retryable: false,
};
const UNREADABLE: ModelEvent = {
  type: 'error',
  code: 'bad-answer',
  message: 'The offline model could not read this request.',
  retryable: false,
};

/**
 * A model of fixed rules that needs no key, no network and no download. It works from the request alone: it holds
 * what the person wrote against the examples of the functions it is offered, and says so when nothing fits.
 * Deterministic; emits its text a few words at a time, without delay.
 */
export function createOfflineProvider(): ModelProvider {
  return { id: PROVIDER_ID, stream };
}

async function* stream(request: ModelRequest): AsyncGenerator<ModelEvent, void> {
  const answer = await tryToAnswer(request);
  for (const text of toPieces(answerText(answer?.content ?? []))) {
    if (request.signal.aborted) break;
    yield { type: 'text', text };
  }
  if (request.signal.aborted) yield CANCELED;
  else yield answer ? { type: 'end', answer } : UNREADABLE;
}

/** Undefined when the request breaks its contract: a provider never throws. The rules are loaded when first needed. */
async function tryToAnswer(request: ModelRequest): Promise<ModelAnswer | undefined> {
  try {
    const { decide } = await import('./decide.js');
    return toAnswer(decide(request), request);
  } catch {
    return undefined;
  }
}

function toAnswer(decision: Decision, request: ModelRequest): ModelAnswer {
  const { content, stopReason } = fitToLimit(decision, request.maxTokens);
  const output = content.reduce((sum, block) => sum + tokensOf(block), 0);
  return { content, stopReason, usage: { input: inputTokens(request), output, cached: 0 } };
}

/** Words are cut at the limit; calls are made whole or not at all. */
function fitToLimit(decision: Decision, maxTokens: number): Pick<ModelAnswer, 'content' | 'stopReason'> {
  if ('calls' in decision) {
    const needed = decision.calls.reduce((sum, call) => sum + tokensOf(call), 0);
    if (needed <= maxTokens) {
      const { draft, calls } = decision;
      const kept: readonly AnswerBlock[] = draft
        ? [{ type: 'opaque', provider: PROVIDER_ID, block: draft }]
        : [];
      return { content: [...kept, ...calls], stopReason: 'function-calls' };
    }
    const text = `That is too much for one answer: it would take about ${needed} tokens, and ${maxTokens} are allowed.`;
    return fitToLimit({ text }, maxTokens);
  }
  if (estimateTokens(decision.text) <= maxTokens) {
    return { content: [{ type: 'text', text: decision.text }], stopReason: 'end' };
  }
  return {
    content: [{ type: 'text', text: cutToTokens(decision.text, maxTokens) }],
    stopReason: 'max-tokens',
  };
}

/** The longest beginning of `text` within the limit, by whole characters. */
function cutToTokens(text: string, maxTokens: number): string {
  const bytesPerToken = Buffer.byteLength(text) / estimateTokens(text);
  const bytes = Buffer.from(text).subarray(0, Math.floor(maxTokens * bytesPerToken));
  return new TextDecoder().decode(bytes, { stream: true });
}

function toPieces(text: string): readonly string[] {
  const words = text.match(WORDS) ?? [];
  const pieces: string[] = [];
  for (let index = 0; index < words.length; index += WORDS_PER_PIECE) {
    pieces.push(words.slice(index, index + WORDS_PER_PIECE).join(''));
  }
  return pieces;
}

function tokensOf(block: AnswerBlock): number {
  if (block.type === 'text') return estimateTokens(block.text);
  if (block.type === 'opaque') return 0;
  return estimateTokens(block.name) + estimateTokens(JSON.stringify(block.arguments ?? {}));
}

function inputTokens({ system, messages, functions }: ModelRequest): number {
  const counts = [
    ...system.map(({ text }) => estimateTokens(text)),
    ...messages.map(messageTokens),
    ...functions.map((spec) => estimateTokens(JSON.stringify(spec))),
  ];
  return counts.reduce((sum, count) => sum + count, 0);
}

function messageTokens(message: ModelMessage): number {
  switch (message.role) {
    case 'user':
      return estimateTokens(textOf(message.parts));
    case 'assistant':
      return message.content.reduce((sum, block) => sum + tokensOf(block), 0);
    case 'results':
      return message.results.reduce((sum, { content }) => sum + estimateTokens(content), 0);
  }
}
