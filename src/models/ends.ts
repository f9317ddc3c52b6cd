import { meaningsOf } from './reason.js';
import { answerText, functionCalls, type AnswerBlock, type ModelAnswer, type Usage } from '../core/model.js';
import { ModelFailure, type Endpoint } from './failure.js';

/** The meaning of the reason that a vendor gives for the end of an output. */
type End =
  | 'whole'
  /** The limit of the output. */
  | 'limit'
  /** The window of the model is full. */
  | 'window'
  | 'refusal'
  /** The vendor could not read the call that the model wrote. */
  | 'malformed'
  /** The vendor sends the word while it is not known yet. */
  | 'none';

/**
 * The reasons that vendors and servers are known to give, in lower case and without other characters than letters and
 * digits. Every reason that is not listed means that the output failed: "error", "abort", "network_error",
 * "insufficient_system_resource", and the words of tomorrow.
 */
const ENDS = meaningsOf<End>({
  // OpenAI, Anthropic, and most servers; then Together, TGI and watsonx, LM Studio, Ollama, Cohere, Baidu, llama.cpp, gateways
  whole: `stop toolcalls functioncall endturn tooluse stopsequence completed
    eos eostoken eosfound stopstringfound stoptoken stoptokens stopped end complete
    toolcall functioncalls done finished finish normal success endofturn`,
  // The Responses API, Anthropic, Gemini, LM Studio
  limit: 'length maxtokens maxoutputtokens maxcompletiontokens maxlength maxpredictedtokensreached',
  // Anthropic and GLM, Mistral, LM Studio, Cohere
  window: 'modelcontextwindowexceeded modellength contextlengthreached contextlengthexceeded errorlimit',
  // The second line: Gemini
  refusal: `refusal contentfilter contentfiltered sensitive guardrailintervened errortoxic
    safety recitation blocklist prohibitedcontent spii language imagesafety modelarmor`,
  // Gemini
  malformed: 'malformedfunctioncall functioncallfiltermalformedfunctioncall unexpectedtoolcall',
  // DashScope and servers in Python write the word for a missing value
  none: 'null none finishreasonunspecified',
});

/** Whether a vendor's word says that the output has ended, for whatever reason. */
export function isEnd(reason: string): boolean {
  return endOf(reason) !== 'none';
}

/** The words for a failure that a gateway may pass on beside a reason of its own, which says that all is well. */
const FAILED =
  /^(error|.*_error|abort(ed)?|failed|cancel(l?ed)?|insufficient_system_resource|malformed_function_call)$/i;

/** The reason of a gateway, unless the vendor behind it gives one that means a failure. */
export function reasonOf(reason: string, vendorReason: string): string {
  return FAILED.test(vendorReason) ? vendorReason : reason;
}

function endOf(reason: string): End | undefined {
  const word = reason.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  return word === '' ? 'none' : ENDS.get(word);
}

/** An output whose stream has ended. */
export interface Ended {
  /** The vendor's word; empty when the stream ended by its end mark alone. */
  readonly reason: string;
  /** Whether the vendor accounts for an output without a reason: it reports the tokens, or leaves all reasons empty. */
  readonly isAccountedFor: boolean;
  /** Calls that were still open at the end have `isCut`. */
  readonly content: readonly AnswerBlock[];
  readonly usage: Usage;
  /** The categories of the vendor's filter that a refusal names. */
  readonly refusal?: string;
  /** Whether the model itself refused, and no filter of its vendor. */
  readonly isOwnRefusal?: boolean;
}

/** Returns the answer of an output. Throws `ModelFailure` when the output is not known to be whole, or cut at a limit. */
export function toAnswer(
  { reason, isAccountedFor, content, usage, refusal = reason, isOwnRefusal = false }: Ended,
  { maxTokens, endpoint }: { readonly maxTokens: number; readonly endpoint: Endpoint },
): ModelAnswer {
  const known = endOf(reason);
  const given = known === 'none' && isAccountedFor ? 'whole' : known;
  // Some servers call an output whole that ends exactly at its limit.
  const end = given === 'whole' && usage.output === maxTokens ? 'limit' : given;
  const quoted = `"${reason.slice(0, MAX_REASON)}"`;
  const empty = (why: string, again: typeof EMPTY): ModelFailure =>
    new ModelFailure('empty', `${endpoint.place} gave an empty answer${why}.`, { again, usage });
  switch (end) {
    case 'whole': {
      const stopReason = functionCalls(content).length > 0 ? 'function-calls' : 'end';
      // A person or a function would get nothing: thoughts are no answer.
      if (stopReason === 'end' && answerText(content).trim() === '') throw empty('', EMPTY);
      return { content: content.map(asWhole), stopReason, usage };
    }
    case 'limit':
      return { content, stopReason: 'max-tokens', usage };
    case 'window':
      // An output that did not even begin shows that the conversation has to be shorter.
      if (content.some(({ type }) => type !== 'opaque'))
        return { content, stopReason: 'context-window', usage };
      throw new ModelFailure('rejected', WINDOW_IS_FULL, { about: 'length', usage });
    case 'refusal':
      return { content, stopReason: 'refusal', usage, ...(!isOwnRefusal && { refusal }) };
    case 'malformed':
      throw empty(`: the model wrote a call that its vendor could not read (${quoted})`, MALFORMED);
    default: {
      const why = end === 'none' ? 'it gives no reason' : `it gives the reason ${quoted}`;
      const text = `${endpoint.place} ended its answer before it was whole: ${why}. Try again later.`;
      throw new ModelFailure('overloaded', text, { retryable: true, triesFew: true, usage });
    }
  }
}

/** The longest reason of a vendor that is quoted, in characters. */
const MAX_REASON = 100;

const WINDOW_IS_FULL =
  "The conversation does not fit into the model's context window. Shorten it or use a model with a larger one.";

/** The note in the request when a model is asked again, and the number of attempts. */
const EMPTY = { note: '[Your last answer was empty. Answer now, or call a function.]', times: 1 };
const MALFORMED = {
  note: '[Your last call could not be read. Call the function again, with one JSON object as its arguments, or answer.]',
  times: 2,
};

/** Removes the mark of an open call: the vendor says that the output is whole. */
function asWhole(block: AnswerBlock): AnswerBlock {
  if (block.type !== 'function-call') return block;
  const { isCut: _, ...call } = block;
  return call;
}
