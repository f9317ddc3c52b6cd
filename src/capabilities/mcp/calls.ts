import { randomUUID } from 'node:crypto';
import { LangoError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import { LONGEST_TIMER_MS } from '../../core/time.js';
import type { ToolContext } from '../../core/tool.js';
import { outsideText, type Connection, type McpServerOptions } from './connection.js';
import { converse, repliesByRequest, withReplies } from './conversation.js';
import type { CallEnd, CallWork, State } from './conversation.js';
import { LiveCall, type CallStep, type Untimed } from './live-call.js';

const PROGRESS_PAUSE_MS = 1_000;
/** Calls that wait at the server while a person is asked: the most of one owner and of all, and the longest time. */
const MOST_KEPT_OF_OWNER = 8;
const MOST_KEPT = 64;
const LONGEST_LIVE_MS = 60 * 60 * 1_000;
const NO_SESSION = 404;

interface Reach {
  /** Rejects when the server cannot be reached. */
  ready(signal: AbortSignal): Promise<Connection>;
  /** Forgets the connection. */
  drop(): Promise<void>;
  /** Is called after a call without a response. */
  onSilent(connection: Connection): void;
}

export type CallContext = Pick<ToolContext, 'signal' | 'progress' | 'replied'> &
  Partial<Pick<ToolContext, 'tenant' | 'owner'>>;

type OneCall = Readonly<{ tool: string; input: JsonObject; context: CallContext }>;

interface Attempt {
  readonly connection: Connection;
  readonly signal: AbortSignal;
  /** Runs work, and starts the time of the call again after it. Default: no time is running. */
  readonly untimed?: Untimed;
}

/** A call that waits at the server, and the connection that it was made on. */
interface Kept {
  readonly live: LiveCall;
  readonly connection: Connection;
  readonly owner: string;
  readonly timer: NodeJS.Timeout;
}

/** The calls of the tools of one server, with the questions that the server asks during them. */
export class Calls {
  readonly #options: Pick<McpServerOptions, 'name' | 'effect' | 'timeoutMs'>;
  readonly reach: Reach;
  readonly #kept = new Map<string, Kept>();

  constructor(options: McpServerOptions, reach: Reach) {
    this.#options = options;
    this.reach = reach;
  }

  async call(tool: string, input: JsonObject, context: CallContext): Promise<CallEnd> {
    const about = { server: this.#options.name, tool };
    const replied = context.replied && withReplies(about, context.replied);
    if (replied && 'asks' in replied) return replied;
    const call = { tool, input, context };
    try {
      const state = replied?.state;
      const connection = await this.reach.ready(context.signal);
      if (connection.liveCalls || state?.live !== undefined)
        return await this.#callLive(connection, call, state);
      const next: CallWork['next'] = (inputResponses, requestState) =>
        this.#tried({ connection, signal: context.signal }, (on) =>
          on.call(tool, input, { ...this.#optionsOf(call), inputResponses, requestState }),
        );
      return await converse({ ...about, next }, state);
    } catch (error) {
      throw this.#explained(error, context.signal);
    }
  }

  close(): void {
    for (const id of this.#kept.keys()) this.#take(id)?.live.end(new Error('this node stops'));
  }

  /** Makes a call in which the server may ask. The call stays open in this process until a person has replied. */
  async #callLive(connection: Connection, call: OneCall, state: State | undefined): Promise<CallEnd> {
    const { tool, input, context } = call;
    const kept = state?.live === undefined ? undefined : this.#take(state.live);
    if (state?.live !== undefined && !kept && this.#options.effect !== 'pure')
      throw this.#lost('the process that waited for the reply has ended');
    const live =
      kept?.live ??
      new LiveCall(async (signal, onProgress, untimed) =>
        this.#tried({ connection, signal, untimed }, (on) =>
          on.call(tool, input, { signal, onProgress, timeoutMs: LONGEST_TIMER_MS }),
        ),
      );
    const on = kept?.connection ?? connection;
    const owner = JSON.stringify([context.tenant, context.owner]);
    const work: CallWork = {
      ...{ server: this.#options.name, tool, live: randomUUID() },
      // A call that is made again has the replies that were given before.
      known: kept || !state ? new Map() : repliesByRequest(state),
      mayAsk: () => this.#mayKeep(owner),
      next: (replies) => {
        const options = { ...this.#optionsOf(call), replies };
        return on.liveCalls ? on.liveCalls.next(live, options) : live.next(options);
      },
    };
    let isKept = false;
    try {
      const end = await converse(work, kept ? state : undefined);
      isKept = 'asks' in end;
      if (isKept) this.#keep(work.live!, { live, connection: on, owner });
      if ('asks' in end || !live.wasMistakable) return end;
      const text =
        'The server asked a question in this call. Lango replied with cancel, because another call was under way and nothing says which of the two asked. Call it again to be asked.';
      return { result: { ...end.result, content: [...end.result.content, { type: 'text', text }] } };
    } finally {
      if (!isKept) {
        live.end(new Error('nobody waits for it'));
        on.liveCalls?.delete(live);
      }
    }
  }

  #keep(id: string, kept: Omit<Kept, 'timer'>): void {
    const timer = setTimeout(() => this.#take(id)?.live.end(new Error('nobody replied')), LONGEST_LIVE_MS);
    this.#kept.set(id, { ...kept, timer: timer.unref() });
  }

  #take(id: string): Kept | undefined {
    const kept = this.#kept.get(id);
    clearTimeout(kept?.timer);
    this.#kept.delete(id);
    return kept;
  }

  #mayKeep(owner: string): boolean {
    const ofOwner = [...this.#kept.values()].filter((kept) => kept.owner === owner);
    return ofOwner.length < MOST_KEPT_OF_OWNER && this.#kept.size < MOST_KEPT;
  }

  /** Makes the call, and makes it again when the server has forgotten the session, so that nothing was done. */
  async #tried(
    { connection, signal, untimed = (work) => work() }: Attempt,
    make: (on: Connection) => Promise<CallStep>,
  ): Promise<CallStep> {
    try {
      return await make(connection);
    } catch (error) {
      if ((error as { readonly status?: unknown } | undefined)?.status === NO_SESSION) {
        await this.reach.drop();
        return make(await untimed(() => this.reach.ready(signal)));
      }
      if (!isErrorResponse(error)) this.reach.onSilent(connection);
      throw error;
    }
  }

  #optionsOf({ tool, context: { signal, progress } }: OneCall) {
    let shownAt = 0;
    const onProgress = (done: number, total: number | undefined): void => {
      if (Date.now() - shownAt < PROGRESS_PAUSE_MS) return;
      shownAt = Date.now();
      progress?.(`${tool}: ${done}${total === undefined ? '' : ` of ${total}`}`);
    };
    return { signal, onProgress, timeoutMs: this.#options.timeoutMs };
  }

  /** The error of a call, as a sentence for the model. */
  #explained(error: unknown, signal: AbortSignal): Error {
    if (signal.aborted) return signal.reason as Error;
    if (error instanceof LangoError) return error;
    if (isErrorResponse(error))
      return new LangoError('tool', `The MCP server ${this.#options.name} refused: ${outsideText(error)}`);
    return this.#lost(outsideText(error), error);
  }

  #lost(why: string, cause?: unknown): LangoError {
    const text = `The MCP server ${this.#options.name} gave no response (${why}). Whether it did the work is not known.`;
    return new LangoError('outcome-unknown', text, { cause });
  }
}

/** Whether the server itself responded with this error. */
const isErrorResponse = (error: unknown): boolean => error instanceof Error && error.name === 'ProtocolError';
