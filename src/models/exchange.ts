import { countIn, objectsIn, textIn, type JsonObject } from '../core/json.js';
import type { AnswerBlock, ModelRequest } from '../core/model.js';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { toAnswer, type Ended } from './ends.js';
import { badAnswer, connectionFailure, ModelFailure, type Endpoint } from './failure.js';
import { causesOf } from '../core/errors.js';
import { mediaTypeOf } from '../core/http.js';
import { readEvents, type EventLimit, type ServerEvent } from '../core/server-events.js';
import { Deadline } from '../core/time.js';
import { keepableObject, withOwnIds } from './conversation.js';
import type { OutputEvent } from './retry.js';
import { withoutThoughts, type ThoughtSplitter } from './thoughts.js';
import type { VendorContext } from './vendor.js';

/** Assembles the events of a vendor's stream into an output. */
export interface OutputReader<Event = ServerEvent> {
  /** Takes the next event and returns the new text in it, empty when there is none. Throws `ModelFailure`. */
  accept(event: Event, endpoint: Endpoint): string;
  /** Whether the output has ended. A connection that fails after that is no error. */
  readonly isWhole: boolean;
  ended(): Ended;
}

/** A block that only its vendor reads. `streamText` names the model as its provider. */
export const opaque = (block: JsonObject): AnswerBlock => ({ type: 'opaque', provider: '', block });

/** One request and its streamed output. */
export interface Exchange<Event = ServerEvent>
  extends Pick<VendorContext<unknown>, 'origin' | 'endpoint' | 'silenceMs'>, Pick<ModelRequest, 'signal'> {
  readonly reader: OutputReader<Event>;
  /** Gets the text of the output. A part that continues another one has the same splitter. */
  readonly splitter: ThoughtSplitter;
  /** The most tokens of the output, as the request tells the server. */
  readonly maxTokens: number;
  /** Sends the request, and yields the events of its response until the signal of the watch aborts. */
  events(watch: SilenceWatch, exchange: Exchange<Event>): AsyncIterable<Event>;
  /** The meaning of an error that is no `ModelFailure`. Default: the connection failed. */
  readonly toFailure?: (error: unknown) => ModelFailure;
  /** The failure of a response in which `events` finds nothing, whatever error that leads to. */
  notStreamed?(): ModelFailure | undefined;
}

/** A streamed token takes about 200 bytes with its event. A server that sends far more ignores the limit of the output. */
const BYTES_PER_STREAMED_TOKEN = 1_024;
const MIN_OUTPUT_BYTES = 1_024 * 1_024;
const EVENTS_PER_TOKEN = 4;
const MIN_EVENTS = 10_000;

/** The most bytes of a response, by the limit of its output. */
export const mostBytes = (maxTokens: number): number =>
  Math.max(MIN_OUTPUT_BYTES, maxTokens * BYTES_PER_STREAMED_TOKEN);

/** The most that is read of a chunk in one turn of the event loop. */
const PIECE_BYTES = 4 * 1024;
const MAX_BLOCKS = 1_000;
/** More than any model writes in one output. */
const MAX_CHARACTERS = 1024 * 1024;

const EVENT_STREAM = 'text/event-stream';

/** The longest wait for the end of a response once its output is complete. Its connection can be reused only then. */
export const AFTER_WHOLE_MS = 1_000;

/** Yields text as it arrives and returns the complete output; ends the request in any case. Throws `ModelFailure`. */
export async function* streamText<Event>(exchange: Exchange<Event>): AsyncGenerator<OutputEvent, Ended> {
  const { reader, splitter, endpoint } = exchange;
  const { toFailure = (error: unknown) => connectionFailure(error, endpoint) } = exchange;
  using watch = new SilenceWatch(exchange.signal, exchange.silenceMs);
  try {
    let left = Math.max(MIN_EVENTS, exchange.maxTokens * EVENTS_PER_TOKEN);
    const texts = new CharacterJoiner();
    for await (const event of exchange.events(watch, exchange)) {
      if (--left < 0) throw tooMuch(exchange);
      const text = texts.join(acceptEvent(exchange, event), reader.isWhole);
      if (text) yield* toEvents(splitter.take(text));
      if (reader.isWhole) watch.shorten(AFTER_WHOLE_MS);
    }
    if (!reader.isWhole) throw connectionFailure(undefined, endpoint);
  } catch (error) {
    if (!reader.isWhole) {
      const known =
        exchange.notStreamed?.() ?? causesOf(error).find((cause) => cause instanceof ModelFailure);
      const failure = watch.hasPassed ? silenceFailure(exchange) : (known ?? toFailure(error));
      failure.usage = reader.ended().usage;
      throw failure;
    }
  }
  yield* toEvents(splitter.end());
  const { content, ...ended } = reader.ended();
  const own = content.map((block) =>
    block.type === 'opaque' ? { ...block, provider: exchange.origin } : block,
  );
  return { ...ended, content: withOwnIds(own) };
}

/** The last event of an output. The thoughts in its text are kept as a block of `provider`. Default: of nobody. */
export function endEvent(
  ended: Ended,
  { splitter, ...limits }: Pick<Exchange, 'splitter' | 'endpoint' | 'maxTokens'>,
  provider?: string,
): OutputEvent {
  const content = withoutThoughts(ended.content, splitter.thoughts, provider);
  return { type: 'end', answer: toAnswer({ ...ended, content }, limits) };
}

/** Joins the halves of a character: a server may end one event after the first half and begin the next one with the other. */
class CharacterJoiner {
  #half = '';

  /** Returns the text so far, without a half at its end unless it `isLast`. */
  join(text: string, isLast: boolean): string {
    if (text === '' && !isLast) return '';
    const all = this.#half + text;
    this.#half = !isLast && /[\uD800-\uDBFF]$/.test(all) ? all.slice(-1) : '';
    return all.slice(0, all.length - this.#half.length).toWellFormed();
  }
}

/** The event of a text, none for an empty one. */
function* toEvents({ text, restarts }: ReturnType<ThoughtSplitter['take']>) {
  if (text || restarts) yield { type: 'text', text, ...(restarts && { restarts }) } as const;
}

/**
 * The events of the response, of status 2xx, that `send` resolves with. A JSON body is one event: some servers do not stream
 * although they are asked to.
 */
export function eventsOf(send: (signal: AbortSignal) => Promise<Response>): Exchange['events'] {
  return async function* (watch, exchange) {
    const response = await send(watch.signal);
    const mediaType = mediaTypeOf(response) || EVENT_STREAM;
    if (mediaType === EVENT_STREAM && response.body)
      yield* readEvents(chunksOf(response.body, watch, exchange), EVENT_LIMIT);
    if (mediaType === 'application/json') yield { name: '', data: await bodyOf(response, watch, exchange) };
    if (mediaType !== EVENT_STREAM && !exchange.reader.isWhole) throw noStream(mediaType, exchange.endpoint);
  };
}

export const noStream = (mediaType: string, { place }: Endpoint): ModelFailure =>
  badAnswer(`${place} responds with ${mediaType}, not with an event stream. Check model.baseUrl.`);

/** Parsing a longer event would block the event loop, and no task can store an output of this size. */
export const EVENT_LIMIT: EventLimit = {
  characters: 1024 * 1024,
  exceeded: () =>
    badAnswer(`The model server sent an event of more than ${EVENT_LIMIT.characters} characters.`),
};

async function bodyOf({ body }: Response, watch: SilenceWatch, exchange: Exchange): Promise<string> {
  const whole = await text(chunksOf(body ?? [], watch, exchange));
  if (whole.length > EVENT_LIMIT.characters) throw EVENT_LIMIT.exceeded();
  return whole;
}

async function* chunksOf(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  watch: SilenceWatch,
  exchange: Exchange,
): AsyncGenerator<Uint8Array, void> {
  let left = mostBytes(exchange.maxTokens);
  for await (const chunk of body) {
    watch.rest();
    left -= chunk.byteLength;
    if (left < 0) throw tooMuch(exchange);
    yield* piecesOf(chunk);
    watch.wait();
  }
}

/** A large chunk holds thousands of events, of each of many outputs at once: other work runs between its pieces. */
export async function* piecesOf(chunk: Uint8Array): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < chunk.byteLength; at += PIECE_BYTES) {
    if (at > 0) await nextTurn();
    yield chunk.subarray(at, at + PIECE_BYTES);
  }
  // The next chunk may be waiting already.
  if (chunk.byteLength >= PIECE_BYTES) await nextTurn();
}

export const tooMuch = ({ endpoint, maxTokens }: Pick<Exchange, 'endpoint' | 'maxTokens'>): ModelFailure =>
  badAnswer(
    `${endpoint.place} sent far more than the ${maxTokens} tokens that the request allows (agent.limits.answerTokens).`,
  );

/** The bounds on what a reader keeps of one output. Its methods throw `bad-answer` beyond them. */
export class OutputBounds {
  #characters = 0;

  /** Counts a chunk of a text or of arguments, and returns it. */
  chunk(text: string): string {
    this.#characters += text.length;
    if (this.#characters > MAX_CHARACTERS)
      throw badAnswer(`The model server sent more than ${MAX_CHARACTERS} characters.`);
    return text;
  }

  blocks(count: number): void {
    if (count > MAX_BLOCKS) throw badAnswer(`The model server sent more than ${MAX_BLOCKS} blocks.`);
  }
}

/** Passes an event to the reader. An event that the reader cannot process is an error of the server. */
function acceptEvent<Event>({ reader, endpoint }: Exchange<Event>, event: Event): string {
  try {
    return reader.accept(event, endpoint);
  } catch (error) {
    if (error instanceof ModelFailure) throw error;
    throw badAnswer(
      'The model server sent an event that is not in the form of its API. Check model.provider and model.baseUrl.',
    );
  }
}

/** Reads a vendor's counts of tokens. What is no count is 0, and `written` absent. */
export function usageOf(
  given: Readonly<Partial<Record<'input' | 'output' | 'cached' | 'written', unknown>>>,
) {
  const written = countIn(given.written);
  const [input, output, cached] = [countIn(given.input), countIn(given.output), countIn(given.cached)];
  return { input, output, cached, ...(written > 0 && { written }) };
}

/** The texts of a list of parts, of which some have them. */
export const textsOf = (parts: unknown, member: 'text' | 'refusal' = 'text'): string =>
  objectsIn(parts)
    .map((part) => textIn(part[member]))
    .join('');

/** Throws `ModelFailure` when `text` is not a JSON object. */
export function parseEvent(text: string): JsonObject {
  const event = keepableObject(text);
  if (event) return event;
  throw badAnswer('The model server sent an event that is not a JSON object.');
}

function silenceFailure({ endpoint, silenceMs }: Pick<Exchange, 'endpoint' | 'silenceMs'>): ModelFailure {
  const message = `${endpoint.place} sent nothing for ${silenceMs / 1000} s. Raise model.timeoutSeconds if it needs longer.`;
  return new ModelFailure('unreachable', message, { retryable: true });
}

/** A read deadline for a server's stream. It aborts also with `outer` and on disposal, so that no request outlives it. */
export class SilenceWatch extends Deadline {
  #limitMs: number;

  /** Starts the deadline at once. */
  constructor(outer: AbortSignal, limitMs: number) {
    super(outer);
    this.#limitMs = limitMs;
    this.wait();
  }

  /** Lowers the limit to `limitMs` for the next waits. Never raises it. */
  shorten(limitMs: number): void {
    this.#limitMs = Math.min(this.#limitMs, limitMs);
  }

  /** Starts the deadline again: the server has to send something before it passes. */
  wait(): void {
    this.expect(this.#limitMs);
  }

  override [Symbol.dispose](): void {
    this.abort();
  }
}
