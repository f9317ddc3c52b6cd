import type { JsonObject } from '../../src/core/json.js';
import type {
  AnswerBlock,
  ModelAnswer,
  ModelEvent,
  ModelProvider,
  ModelRequest,
  Usage,
} from '../../src/core/model.js';
import { answerText } from '../../src/core/model.js';

/** The model's part in one turn: a response, raw events, or a function of the request. */
export type Play = Played | ((request: ModelRequest) => Played);
export type Played = ModelAnswer | readonly ModelEvent[] | AsyncIterable<ModelEvent>;

/**
 * A model that plays the script of the calling agent ("You are the NAME."). It counts the turn from the request's own
 * conversation, so that a repeated request gets the same response.
 */
export class ScriptedModel implements ModelProvider {
  readonly id = 'scripted';
  readonly requests: ModelRequest[] = [];
  readonly #scripts: Readonly<Record<string, readonly Play[]>>;

  constructor(scripts: Readonly<Record<string, readonly Play[]>>) {
    this.#scripts = scripts;
  }

  async *stream(request: ModelRequest): AsyncIterable<ModelEvent> {
    this.requests.push(request);
    const agent = speaker(request);
    const turn = request.messages.filter(({ role }) => role === 'assistant').length;
    const play = this.#scripts[agent]?.[turn];
    if (!play) throw new Error(`the script has no turn ${turn} for ${agent}`);
    const played = typeof play === 'function' ? play(request) : play;
    await Promise.resolve();
    if (request.signal.aborted) {
      yield { type: 'error', code: 'canceled', message: 'canceled', retryable: false };
      return;
    }
    yield* 'content' in played ? eventsOf(played) : played;
  }

  /** The requests of one agent. */
  asked(agent: string): readonly ModelRequest[] {
    return this.requests.filter((request) => speaker(request) === agent);
  }
}

function* eventsOf(answer: ModelAnswer): Iterable<ModelEvent> {
  const text = answerText(answer.content);
  const middle = Math.ceil(text.length / 2);
  for (const piece of [text.slice(0, middle), text.slice(middle)]) yield { type: 'text', text: piece };
  yield { type: 'end', answer };
}

/** An answer whose text comes in two halves. The second is said after `between`. */
export async function* inHalves(
  answer: ModelAnswer,
  between: () => Promise<void>,
): AsyncGenerator<ModelEvent, void, undefined> {
  const [first, ...rest] = eventsOf(answer);
  yield first!;
  await between();
  yield* rest;
}

function speaker(request: ModelRequest): string {
  const name = /^You are the ([a-z-]+)\./.exec(request.system[0]?.text ?? '')?.[1];
  return name ?? 'flat';
}

export const USAGE: Usage = { input: 10, output: 5, cached: 0 };

export function say(text: string): ModelAnswer {
  return { content: text === '' ? [] : [{ type: 'text', text }], stopReason: 'end', usage: USAGE };
}

/** A response with calls, each as [name, arguments]; ids are made from their position. */
export function call(...calls: readonly (readonly [string, JsonObject | undefined])[]): ModelAnswer {
  const content: AnswerBlock[] = calls.map(([name, given], index) => ({
    type: 'function-call',
    id: `call-${index}`,
    name,
    arguments: given,
    ...(given ? {} : { invalid: '{"broken' }),
  }));
  return { content, stopReason: 'function-calls', usage: USAGE };
}

export function withPreamble(text: string, answer: ModelAnswer): ModelAnswer {
  return { ...answer, content: [{ type: 'text', text }, ...answer.content] };
}

/** The results in the newest turn of a request, as texts. */
export function resultsIn(request: ModelRequest | undefined): readonly string[] {
  const last = request?.messages.findLast(({ role }) => role === 'results');
  return last?.role === 'results' ? last.results.map(({ content }) => content) : [];
}

/** A call of the delegation function. */
export function ask(
  agent: string,
  request = 'read a',
  final?: boolean,
): readonly [string, Record<string, string | boolean>] {
  return ['transfer_to_agent', { agent_name: agent, request, ...(final === undefined ? {} : { final }) }];
}
