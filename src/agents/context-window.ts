import type { ModelAnswer, ModelMessage, ModelProvider } from '../core/model.js';
import type { Run } from '../core/run.js';
import { tokensIn } from '../core/text.js';
import type { Request } from './bill.js';
import { smallestClearing, withoutOld, type TurnMessage } from './clearing.js';

/**
 * The windows that vendors named, or refused requests beyond, by the model that was asked. Of a model with fallbacks, which
 * may have smaller windows, each run learns its own.
 */
const LEARNED = new WeakMap<ModelProvider | ContextWindow, number>();

/** The share of the window that an output may take. */
const OUTPUT_SHARE = 1 / 4;
/** A conversation is cleared when it takes this share of its room, in one large step: each step costs the vendor's cache. */
const FULL_SHARE = 0.85;
const CLEARED_SHARE = 0.4;
/** A smaller step is not worth the cache, unless the conversation would not fit. */
const MIN_FREED_SHARE = 0.2;
/** The most and the fewest tokens that a vendor counts where this server estimates one. */
const MAX_RATIO = 4;
const MIN_RATIO = 0.5;

type Parts = Pick<Request, 'system' | 'functions' | 'maxTokens'>;

/**
 * The conversation of one run, which is cleared of old results before it fills the context window of the model. Each
 * clearing is recorded, so that a resumed run sends the same.
 */
export class ContextWindow {
  readonly #run: Run;
  readonly #model: ModelProvider;
  #entries: TurnMessage[];
  #turn = 1;
  /** The tokens that the vendor counts for one that is estimated here. */
  #ratio = 1;

  /** `history`: the conversation of earlier tasks. */
  constructor(run: Run, model: ModelProvider, history: readonly ModelMessage[]) {
    this.#run = run;
    this.#model = model;
    this.#entries = history.map((message) => ({ turn: 0, message }));
  }

  get messages(): readonly ModelMessage[] {
    return this.#entries.map(({ message }) => message);
  }

  add(...messages: readonly ModelMessage[]): void {
    this.#entries.push(...messages.map((message) => ({ turn: this.#turn, message })));
  }

  /** Begins a turn: clears again what an earlier attempt cleared for it. */
  begin(turn: number): void {
    this.#turn = turn;
    for (const { window, ...clearing } of this.#run.clearings(this.#step)) {
      if (window !== undefined) LEARNED.set(this.#asked, window);
      this.#entries = withoutOld(this.#entries, clearing);
    }
  }

  /** Clears old results when the request would nearly fill the window, and limits its output to a part of the window. */
  fit<Given extends Parts>(request: Given): Given {
    const window = this.#window;
    if (window === undefined) return request;
    const maxTokens = Math.min(request.maxTokens, Math.floor(window * OUTPUT_SHARE));
    const room = this.#roomFor({ ...request, maxTokens }, window);
    const tokens = tokensIn(this.#entries);
    if (room > 0 && tokens > room * FULL_SHARE) {
      const isFull = tokens > room;
      this.#clear(room * CLEARED_SHARE, isFull ? 1 : room * MIN_FREED_SHARE);
    }
    return { ...request, maxTokens };
  }

  /** Clears more after the vendor found the request too long. Returns false when there is nothing to clear. */
  shorten(request: Parts, named: number | undefined): boolean {
    const tokens = tokensIn(this.#entries);
    const sent = (tokens + fixedTokens(request)) * this.#ratio + request.maxTokens;
    const window = named ?? Math.floor(Math.min(sent, this.#window ?? sent) * 0.9);
    // The vendor counts more than is estimated here when the request seems to fit.
    if (sent < window) this.#ratio = Math.min(MAX_RATIO, (this.#ratio * window) / sent);
    LEARNED.set(this.#asked, window);
    const room = this.#roomFor(request, window);
    const most = room > 0 ? Math.min(tokens, room) : tokens / 2;
    return this.#clear(most * CLEARED_SHARE, 1);
  }

  /** Compares the estimate of a request with what its vendor counted. Learns the window from an output that filled it. */
  measure(request: Parts, { usage, stopReason }: Pick<ModelAnswer, 'usage' | 'stopReason'>): void {
    const ratio = usage.input / (tokensIn(this.#entries) + fixedTokens(request));
    this.#ratio = Math.min(MAX_RATIO, Math.max(1, ratio));
    // Some servers report no usage, or that of something else.
    if (stopReason === 'context-window' && ratio > MIN_RATIO)
      LEARNED.set(this.#asked, usage.input + usage.output);
  }

  get #asked(): ModelProvider | ContextWindow {
    return this.#model.fallbacks ? this : this.#model;
  }

  get #step(): string {
    return `t${this.#turn}`;
  }

  get #window(): number | undefined {
    return LEARNED.get(this.#asked) ?? this.#model.windowTokens;
  }

  /** The tokens that the conversation may take, in the measure of `tokensIn`. */
  #roomFor(request: Parts, window: number): number {
    return (window - request.maxTokens) / this.#ratio - fixedTokens(request);
  }

  #clear(target: number, leastFreed: number): boolean {
    const clearing = smallestClearing(this.#entries, Math.max(1, this.#turn - 1), target);
    const entries = withoutOld(this.#entries, clearing);
    if (tokensIn(this.#entries) - tokensIn(entries) < leastFreed) return false;
    const window = LEARNED.get(this.#asked);
    this.#run.emit({ type: 'results-cleared', step: this.#step, ...clearing, ...(window && { window }) });
    this.#entries = entries;
    return true;
  }
}

const fixedTokens = ({ system, functions }: Parts): number => tokensIn([...system, ...functions]);
