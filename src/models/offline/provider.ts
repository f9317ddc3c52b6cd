import type { SentenceRow } from '../../core/capability.js';
import { answerText, modelError } from '../../core/model.js';
import type { ModelAnswer, ModelEvent, ModelProvider, ModelRequest } from '../../core/model.js';
import { BYTES_PER_TOKEN, estimateTokens } from '../../core/text.js';
import { outputTokens, requestTokens } from '../conversation.js';
import type { AgentOf, Decision, OfflineRules } from './decide.js';

const ID = 'offline';
const UNREADABLE =
  'The offline model cannot read this request. Set ANTHROPIC_API_KEY or OPENAI_API_KEY to use a real model.';
/** At most 32 characters, never half of a surrogate pair. */
const CHUNK = /[^]{1,32}/gu;

interface OfflineOptions {
  readonly sentences: readonly SentenceRow[]; // The sentences of capabilities.
  readonly agentOf?: AgentOf; // An orchestrator delegates a sentence to this agent. Default: to none.
}

/** A deterministic model of fixed rules, without key or network. It refuses what is not in its table of sentences. */
export function createOfflineProvider(options: OfflineOptions): ModelProvider {
  const { sentences, agentOf = () => undefined } = options;
  let rules: OfflineRules | undefined;
  const load = async () => {
    const { createTable } = await import('./request.js');
    return (rules ??= { agentOf, table: createTable(sentences) });
  };
  return { id: ID, readsImages: false, stream: (request) => stream(request, load) };
}

type LoadRules = () => Promise<OfflineRules>;

async function* stream(request: ModelRequest, load: LoadRules): AsyncGenerator<ModelEvent, void> {
  const output = await tryToWrite(request, load);
  // The text of a refusal is the reason of the task's end, so it is not streamed as an output.
  const text = output && output.stopReason !== 'refusal' ? answerText(output.content) : '';
  for (const [chunk] of text.matchAll(CHUNK)) {
    if (request.signal.aborted) break;
    yield { type: 'text', text: chunk };
  }
  if (request.signal.aborted) yield modelError('canceled', 'The request was canceled.');
  else if (output) yield { type: 'end', answer: output };
  else yield modelError('bad-answer', UNREADABLE);
}

/** Returns undefined for a request that breaks its contract, since a provider never throws. Loads the rules on first use. */
async function tryToWrite(request: ModelRequest, load: LoadRules): Promise<ModelAnswer | undefined> {
  try {
    const { decide } = await import('./decide.js');
    const output = withinLimit(decide(request, await load()), request.maxTokens);
    const usage = { input: requestTokens(request, ID), output: outputTokens(output.content), cached: 0 };
    return { ...output, usage };
  } catch {
    return undefined;
  }
}

/** Cuts text at the limit. Replaces calls that exceed the limit by a refusal. */
function withinLimit(decision: Decision, maxTokens: number): Pick<ModelAnswer, 'content' | 'stopReason'> {
  if (decision.type === 'calls') {
    const needed = outputTokens(decision.calls);
    if (needed <= maxTokens) return { content: decision.calls, stopReason: 'function-calls' };
    const text = `This needs an output of ${needed} tokens; agent.limits.answerTokens allows ${maxTokens}.`;
    return withinLimit({ type: 'refusal', text }, maxTokens);
  }
  const stopReason = decision.type === 'refusal' ? 'refusal' : 'end';
  if (estimateTokens(decision.text) <= maxTokens) {
    return { content: [{ type: 'text', text: decision.text }], stopReason };
  }
  const bytes = Buffer.from(decision.text).subarray(0, maxTokens * BYTES_PER_TOKEN);
  const text = new TextDecoder().decode(bytes, { stream: true });
  return { content: [{ type: 'text', text }], stopReason: stopReason === 'end' ? 'max-tokens' : stopReason };
}
