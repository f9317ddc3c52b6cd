import { setImmediate as nextTurn } from 'node:timers/promises';
import { isLangoError, LangoError } from '../core/errors.js';
import { attemptsOf } from '../core/model.js';
import type {
  FunctionResult,
  ModelErrorCode,
  ModelEvent,
  ModelMessage,
  ModelProvider,
  ModelRequest,
  RefusalReason,
  Usage,
} from '../core/model.js';
import type { Run, RunEnd } from '../core/run.js';
import type { Origin } from '../core/origin.js';
import type { EventBody } from '../core/task.js';
import { againAt } from '../core/retry.js';
import { scrubEvent } from '../scrub/data.js';
import type { AskedRequests } from './asked-request.js';
import type { Request } from './bill.js';
import type { Budget } from './budget.js';
import type { ContextWindow } from './context-window.js';

/** The artifact that holds an agent's answer. Each turn with text starts it again. */
const ANSWER_ARTIFACT_ID = 'answer';

export type TurnEnd = Extract<EventBody, { type: 'turn-end' }>;

export interface TurnOptions {
  readonly run: Run;
  readonly step: string;
  readonly model: ModelProvider;
  readonly budget: Budget;
  readonly conversation: ContextWindow;
  readonly requests: AskedRequests;
  /** The number of messages of the task that were read. */
  readonly readCount: number;
  /** The request without the conversation. */
  readonly request: Omit<Request, 'messages'>;
  /** Whether the request holds text from outside; the output is marked the same. */
  readonly fromOutside: boolean;
  /** Whether the vendor's error message is shown to the user when the model fails. */
  readonly showsReasons: boolean;
}

/** Returns the recorded output of this turn, or asks the model and streams its text into the journal. */
export async function takeTurn(options: TurnOptions): Promise<TurnEnd | RunEnd> {
  const { run, step, model, budget, fromOutside, readCount } = options;
  const recorded = run.recorded(step);
  if (recorded?.result?.type === 'turn-end') {
    await budget.settle(step, recorded.result.usage);
    return recorded.result;
  }
  const given = await askUntilItFits(options);
  if ('state' in given) return given;
  run.signal.throwIfAborted();
  const { content, stopReason, refusal } = given.answer;
  if (refusal) run.logger.warn('the model vendor refused a request', { model: model.id, reason: refusal });
  // Scrubbed here, so that this run and a resumed run perform the same calls.
  const whole: TurnEnd = {
    type: 'turn-end',
    step,
    content,
    stopReason,
    usage: given.usage,
    ...(fromOutside && { fromOutside }),
    ...(refusal && { refusal }),
    ...(readCount > 1 && { readCount }),
    asked: options.requests.describe(given.request, given.answer.by ?? model.id),
  };
  const turnEnd = scrubEvent(whole, run.scrubber);
  run.emit(turnEnd);
  return turnEnd;
}

/** The mark after a text that was cut because the model failed. */
const INCOMPLETE = '[The answer is incomplete: the model failed before its end.]';
const TIME_IS_OVER = '[The answer is incomplete: the time of the task is over.]';

function markHalf(run: Run, { text }: Said, mark: string): void {
  if (text.trim() !== '') sayAnswer(run, { text: `${text}\n\n${mark}`, replace: true });
}

/** Takes the place of a text that was shown and turned out to be a thought. */
const NO_ANSWER_YET = '[There is no answer yet.]';

/** The most lengths of one request that are tried, each much shorter than the one before. */
const MAX_LENGTHS = 4;

/** Asks the model. When the vendor finds the request too long, clears the conversation and asks again. */
async function askUntilItFits(options: TurnOptions) {
  const { run, step, budget, conversation, model } = options;
  for (let tries = 1; ; tries += 1) {
    const fitted = conversation.fit(options.request);
    const messages = withNewestImages(conversation.messages, model.readsImages);
    const request = await budget.admit(step, { ...fitted, messages });
    if ('state' in request) return request;
    if (tries === 1 && !run.recorded(step)) run.emit({ type: 'turn-start', step });
    let last: LastEvent | undefined;
    let usage: Usage;
    const said: Said = { text: '' };
    try {
      last = await askModel(options, request, said);
    } finally {
      if (last?.type !== 'end' && isLangoError(run.signal.reason, 'timeout'))
        markHalf(run, said, TIME_IS_OVER);
      usage = await budget.bill(step, last ? attemptsOf(last) : []);
    }
    if (last.type === 'end') return { request, answer: last.answer, usage };
    // No entry holds the usage of a call without an output.
    run.charge(usage);
    run.signal.throwIfAborted();
    const mayShorten = last.about === 'length' && tries < MAX_LENGTHS;
    if (mayShorten && conversation.shorten(request, last.windowTokens)) continue;
    markHalf(run, said, INCOMPLETE);
    return failure(last, options);
  }
}

type LastEvent = Exclude<ModelEvent, { type: 'text' }>;

/** The text that the person has seen of this turn so far. */
interface Said {
  text: string;
}

/** A model of the program may never wait. Other work then runs after so many pieces. */
const PIECES_AT_ONCE = 1_000;

/** Streams the text of the model into the journal, and returns its last event. */
async function askModel({ run, model }: TurnOptions, request: Request, said: Said): Promise<LastEvent> {
  const onRetry: ModelRequest['onRetry'] = (code, delayMs) => showRetry(run, code, delayMs);
  const { deadline } = run.grant;
  const within = { signal: run.signal, onRetry, ...(deadline !== undefined && { deadline }) };
  let pieces = 0;
  for await (const event of model.stream({ ...request, ...within })) {
    if (event.type !== 'text') return event;
    run.signal.throwIfAborted();
    if (event.text === '' && (said.text === '' || !event.restarts)) continue;
    const replace = said.text === '' || event.restarts === true;
    said.text = replace ? event.text : said.text + event.text;
    sayAnswer(run, { text: event.text || NO_ANSWER_YET, replace });
    pieces += 1;
    if (pieces % PIECES_AT_ONCE === 0) await nextTurn();
  }
  run.signal.throwIfAborted();
  throw new LangoError('model', 'The model provider ended its stream without an end or error event.');
}

/** Shorter waits are not shown: they are over before a person has read the line. */
const MIN_SHOWN_WAIT_MS = 1_000;

/** The status text that people read while a model is asked once more. */
const RETRIES: Readonly<Partial<Record<ModelErrorCode, string>>> = {
  overloaded: 'The model is overloaded',
  'rate-limited': 'The model takes no more requests for now',
  unreachable: 'The model cannot be reached',
};

function showRetry(run: Run, code: ModelErrorCode, delayMs: number): void {
  const wait = `${RETRIES[code]}; trying again in ${Math.ceil(delayMs / 1_000)} s.`;
  const text = code === 'empty' ? 'The model gave an empty answer; asking it again.' : wait;
  if (code !== 'empty' && delayMs < MIN_SHOWN_WAIT_MS) return;
  const waitMs = Math.round(delayMs);
  run.emit({
    type: 'activity',
    activity: { type: 'text', text: `${text}\n`, ...(code !== 'empty' && { waitMs }) },
  });
}

interface Speech {
  readonly text: string;
  /** Whether the text starts the answer again. */
  readonly replace: boolean;
  /** Default: the agent of the run. */
  readonly author?: string;
  readonly from?: Origin | undefined;
  /** Whether the text is only shown, and said later. */
  readonly isLive?: boolean;
}

export function sayAnswer(run: Run, { text, replace, author, from, isLive }: Speech): void {
  const body = {
    type: 'text-delta',
    artifactId: ANSWER_ARTIFACT_ID,
    text,
    replace,
    lastChunk: false,
  } as const;
  if (isLive) run.preview(body, author);
  else run.emit(from ? { ...body, from } : body, author);
}

/** The texts for callers who may not read the vendor's error message, which can name accounts, limits and addresses. */
const FAILURES: Readonly<Record<ModelErrorCode | RefusalReason, string>> = {
  canceled: 'The model call was canceled.',
  overloaded: 'The model is overloaded. Try again later.',
  'rate-limited': 'The model provider takes no more requests for now. Try again later.',
  unreachable: 'The model could not be reached. `lango doctor --model` says why.',
  rejected: 'The model provider refused the request. The server log says why.',
  'bad-answer': 'The model gave an answer that could not be read. Try again; the server log says more.',
  empty: 'The model gave no answer.',
  key: 'The model vendor refused the API key of this server. Its operator can see why: `lango doctor --model`.',
  'model-name':
    'The model vendor does not know the model of this server. Its operator can see why: `lango doctor --model`.',
  credit: 'The account of this server at the model vendor has no credit left. Its operator can add some.',
  content: 'The content filter of the model vendor refused this request. Say it in other words.',
  length: 'The conversation is too long for the model. Begin a new one, or send less.',
};

function failure(
  { code, message, about, retryAfterMs }: Extract<ModelEvent, { type: 'error' }>,
  { run, model, showsReasons }: TurnOptions,
): RunEnd {
  run.logger.warn('the model gave no answer', { model: model.id, code, error: message });
  const text = showsReasons ? message : FAILURES[about ?? code] + againAt(retryAfterMs);
  if (about === 'content') return { state: 'rejected', reason: REFUSAL, text };
  // Without another reason, the content is one that this vendor never accepts.
  const refused = code === 'rejected' && about === undefined;
  return { state: 'failed', reason: `model-${code}`, text, ...(refused && { refused }) };
}

/** The end of a run whose content the model, or a filter of its vendor, refused. */
export function refusedEnd({ refusal }: TurnEnd, said: string, showsReasons: boolean): RunEnd {
  const text = said.trim() === '' ? 'The model declined to answer this.' : said;
  const why = refusal && showsReasons ? `\n\n[Refused by the model's vendor: ${refusal}]` : '';
  return { state: 'rejected', reason: REFUSAL, text: `${text}${why}` };
}

const REFUSAL = 'model-refusal';

/** The most images of results in a request: at every turn an image costs about as much as a page of text. */
const MAX_IMAGES = 2;

const NO_LONGER_SHOWN =
  '[The image that came with this is not shown any more. Call the function again to see how it is now.]';

/** Leaves the images of the newest results; a sentence replaces each older one. A model that reads none gets none. */
function withNewestImages(messages: readonly ModelMessage[], readsImages = true): readonly ModelMessage[] {
  let left = readsImages ? MAX_IMAGES : 0;
  const fit = (result: FunctionResult): FunctionResult => {
    const { images = [], ...others } = result;
    const isShown = images.length <= left;
    left = Math.max(0, left - images.length);
    if (isShown) return result;
    return readsImages ? { ...others, content: `${result.content}\n${NO_LONGER_SHOWN}` } : others;
  };
  const newestFirst = messages.toReversed().map((message) => {
    if (message.role !== 'results') return message;
    return { ...message, results: message.results.toReversed().map(fit).reverse() };
  });
  return newestFirst.reverse();
}
