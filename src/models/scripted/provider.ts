import { setImmediate as nextTurn } from 'node:timers/promises';
import type { JsonObject } from '../../core/json.js';
import { modelError } from '../../core/model.js';
import type { AnswerBlock, ModelEvent, ModelProvider, ModelRequest } from '../../core/model.js';
import { estimateTokens } from '../../core/text.js';

/** An output of a scripted model: a text, calls of tools with or without a text before them, or a failure. */
export type ScriptedAnswer =
  | string
  | {
      readonly text?: string;
      readonly calls: readonly { readonly name: string; readonly arguments: JsonObject }[];
    }
  | { readonly error: string };

/** The outputs in the order of the model's calls, or a function that makes one for each request. */
export type ModelScript = readonly ScriptedAnswer[] | ((request: ModelRequest) => ScriptedAnswer);

export interface ScriptedModel extends ModelProvider {
  /** The requests so far, the oldest first. */
  readonly requests: readonly ModelRequest[];
}

/** Texts come in chunks of four characters, as vendors send them. */
const CHUNKS = /.{1,4}/gsu;

/**
 * Makes a model for tests of agents. It needs no key and writes what the script says, in small chunks. A call after the last
 * output of a list fails with `bad-answer`. Agents that work at the same time need a function, or a model each.
 */
export function scriptedModel(script: ModelScript): ScriptedModel {
  const requests: ModelRequest[] = [];
  return {
    id: 'scripted',
    requests,
    async *stream(request) {
      requests.push(request);
      const number = requests.length;
      const output = typeof script === 'function' ? script(request) : script[number - 1];
      yield* play(output ?? { error: `The script has no output for call ${number} of the model.` }, request);
    },
  };
}

async function* play(output: ScriptedAnswer, request: ModelRequest): AsyncGenerator<ModelEvent, void> {
  if (typeof output === 'object' && 'error' in output) {
    yield modelError('bad-answer', output.error);
    return;
  }
  const { text = '', calls } = typeof output === 'string' ? { text: output, calls: [] } : output;
  for (const chunk of text.match(CHUNKS) ?? []) {
    // Each chunk has a turn of the event loop of its own, as over a connection.
    await nextTurn();
    if (request.signal.aborted) {
      yield modelError('canceled', 'The model call was canceled.');
      return;
    }
    yield { type: 'text', text: chunk };
  }
  const content: readonly AnswerBlock[] = [
    ...(text === '' ? [] : [{ type: 'text', text } as const]),
    ...calls.map((call, index) => ({ type: 'function-call', id: `call-${index + 1}`, ...call }) as const),
  ];
  const input = estimateTokens(JSON.stringify([request.system, request.messages]));
  const usage = { input, output: estimateTokens(JSON.stringify(content)), cached: 0 };
  yield { type: 'end', answer: { content, stopReason: calls.length > 0 ? 'function-calls' : 'end', usage } };
}
