import type { CallToolResult } from '@modelcontextprotocol/client';
import type { ElicitResult, Replies } from './elicitation.js';

/** The start of the names of questions before a call: the call is made again after the replies. */
export const PAGE = 'page-first ';

type OnProgress = (done: number, total: number | undefined) => void;

/** The next step of a server's work on a call: the server has a result, or it asks for input. */
export type CallStep =
  | { readonly type: 'result'; readonly result: CallToolResult }
  | {
      readonly type: 'asks';
      /** The requests of the server, unchecked, by names that the replies have too. */
      readonly requests: Readonly<Record<string, unknown>>;
      /** The server's own note, which goes back with the replies. */
      readonly requestState?: string | undefined;
    };

export interface StepOptions {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** The replies to what was asked last, by its names. */
  readonly replies: Replies;
  readonly onProgress: OnProgress;
}

/** Runs work whose duration does not count against the time limit of the call. */
export type Untimed = <T>(work: () => Promise<T>) => Promise<T>;

type Start = (signal: AbortSignal, onProgress: OnProgress, untimed: Untimed) => Promise<CallStep>;
type Ask = (params: unknown) => Promise<ElicitResult>;

/** A call that stays open while its server asks a person, as in the versions of MCP before 2026-07-28. */
export class LiveCall {
  readonly #start: Start;
  readonly #stop = new AbortController();
  #result: Promise<CallStep> | undefined;
  #onProgress: OnProgress = () => undefined;
  #asked: { readonly params: unknown; readonly reply: (result: ElicitResult) => void }[] = [];
  #onAsked: (() => void) | undefined;
  #timeoutMs = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Whether the server works on the call. Otherwise it waits for a reply. */
  isActive = false;
  /** Whether a question was refused because it might have been that of another call. */
  wasMistakable = false;

  constructor(start: Start) {
    this.#start = start;
  }

  /** Takes a question of the server, and resolves with the person's reply. */
  readonly ask: Ask = (params) =>
    new Promise((reply) => {
      this.#asked.push({ params, reply });
      this.#onAsked?.();
    });

  /** Begins the call or goes on with it. Resolves with the next step; ends the call when `signal` aborts or the time is over. */
  async next({ signal, timeoutMs, replies, onProgress }: StepOptions): Promise<CallStep> {
    signal.throwIfAborted();
    const end = () => this.end(signal.reason as Error);
    this.#timeoutMs = timeoutMs;
    this.#beginTime();
    signal.addEventListener('abort', end, { once: true });
    this.isActive = true;
    try {
      this.#onProgress = onProgress;
      this.#result ??= this.#start(
        this.#stop.signal,
        (done, total) => this.#onProgress(done, total),
        this.#untimed,
      );
      this.#reply(replies);
      const settled = this.#result.then((step) => {
        // After pages that a person must open first, the call is made again.
        if (step.type === 'asks') this.#result = undefined;
        return step;
      });
      return await Promise.race([settled, this.#nextQuestions()]);
    } finally {
      this.isActive = false;
      this.#onProgress = () => undefined;
      // The call may fail while nobody waits for it.
      this.#result?.catch(() => undefined);
      clearTimeout(this.#timer);
      signal.removeEventListener('abort', end);
    }
  }

  /** Ends the call at the server and cancels its questions. */
  end(reason: Error): void {
    this.#stop.abort(reason);
    this.#reply(Object.fromEntries(this.#asked.map((_, index) => [index, { action: 'cancel' }])));
  }

  #beginTime(): void {
    const late = new Error(`nothing for ${this.#timeoutMs / 1_000} s`);
    this.#timer = setTimeout(() => this.end(late), this.#timeoutMs);
  }

  readonly #untimed: Untimed = async (work) => {
    clearTimeout(this.#timer);
    try {
      return await work();
    } finally {
      if (this.isActive) this.#beginTime();
    }
  };

  #reply(replies: Replies): void {
    const asked = this.#asked;
    // A question that came after the others has no reply yet.
    this.#asked = asked.filter((_, index) => !replies[index]);
    for (const [index, { reply }] of asked.entries()) if (replies[index]) reply(replies[index]);
  }

  async #nextQuestions(): Promise<CallStep> {
    if (this.#asked.length === 0) await new Promise<void>((resolve) => (this.#onAsked = resolve));
    return { type: 'asks', requests: Object.fromEntries(this.#asked.map(({ params }, at) => [at, params])) };
  }
}

/** The live calls of one connection. Finds the call that a question belongs to. */
export class LiveCalls {
  readonly #calls = new Set<LiveCall>();
  #turn: Promise<unknown> = Promise.resolve();
  #asks = false;

  delete(call: LiveCall): void {
    this.#calls.delete(call);
  }

  /**
   * Passes a question on to the call that it belongs to. These versions do not say which: with several calls under way the
   * question is refused, because its reply could go to another owner's call. From then on one call at a time is made.
   */
  readonly ask: Ask = async (params) => {
    this.#asks = true;
    const calls = [...this.#calls];
    const active = calls.filter(({ isActive }) => isActive);
    const meant = active.length > 0 ? active : calls;
    if (meant.length === 1) return meant[0]!.ask(params);
    for (const call of meant) call.wasMistakable = true;
    return { action: 'cancel' };
  };

  /** Makes the next step of the call, once the server has asked for something: after the steps of other calls. */
  next(call: LiveCall, options: StepOptions): Promise<CallStep> {
    this.#calls.add(call);
    if (!this.#asks) return call.next(options);
    const step = this.#turn.then(() => call.next(options));
    this.#turn = step.catch(() => undefined);
    return step;
  }
}
