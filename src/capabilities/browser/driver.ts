import type { ChildProcess } from 'node:child_process';
import { LangoError } from '../../core/errors.js';
import type { Logger } from '../../core/logger.js';
import { abortable, Timer } from '../../core/time.js';
import type { ToolContext, ToolOutput } from '../../core/tool.js';
import { endedForMemory, fromPlainError, startProcess } from '../../parsing/separate-process.js';
import { toPlainError } from '../../parsing/separate-process.js';
import { browserEnded, RESTART_HINT } from './driver-messages.js';
import type { FromDriver, ServerCalls, Steps, ToDriver } from './driver-messages.js';
import { createProfile, type Chromium, type Profile } from './launch.js';
import type { BrowserLimits } from './settings.js';
import type { BrowsingProxy, ConnectionFailure } from '../../http/browsing-proxy.js';
import type { Parsers } from '../../parsing/parsers.js';

export interface BrowserOptions {
  readonly chromium: Chromium;
  /** Opens the proxy of one browser. It carries all traffic of the browser and checks every address. */
  readonly openProxy: (onFailure: (failure: ConnectionFailure) => void) => Promise<BrowsingProxy>;
  readonly limits: BrowserLimits;
  /** Converts pages to Markdown. */
  readonly parsers: Parsers;
  /** The URL of a search page with `{query}` in it. When absent, there is no search tool. */
  readonly searchUrl?: string;
  readonly logger: Logger;
}

/** Maximum time for the start of a browser. */
const OPEN_MS = 60_000;
/** A driver that has not closed its browser after this time is killed. */
const CLOSE_MS = 8_000;
const MAX_MEMORY_BYTES = 512 * 1024 * 1024;
const MAX_FAILURES = 12;

/** The step that the driver's process runs now, and the functions that it may call. `open` runs for no task and calls none. */
type CurrentStep = PromiseWithResolvers<ToolOutput> & { readonly handlers: ServerCalls | undefined };

interface DriverOptions extends BrowserOptions {
  /** The number of the browser among those that run. */
  readonly slot: number;
  /** The browser starts after it. */
  readonly after: Promise<void>;
  readonly onEnd: () => void;
}

/**
 * The browser of one conversation, driven in a separate process (`driver-entry.ts`), with which it ends. It starts at once,
 * and steps run one after the other. The browser ends for good when it cannot start, when a step is canceled, when the page
 * does not respond or takes too much memory, and when the browser crashes.
 */
export class Driver {
  readonly slot: number;
  readonly #options: DriverOptions;
  readonly #opening: Promise<unknown>;
  readonly #failures = new Map<string, ConnectionFailure>();
  #profile: Profile | undefined;
  #proxy: BrowsingProxy | undefined;
  #child: ChildProcess | undefined;
  #exit: Promise<unknown> = Promise.resolve();
  #currentStep: CurrentStep | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  #steps = 0;
  #usedAt = Date.now();
  #idle: Timer | undefined;
  #hasEnded = false;
  #ending: Promise<void> | undefined;

  constructor(options: DriverOptions) {
    this.#options = options;
    this.slot = options.slot;
    this.#opening = options.after.then(() => this.#open());
    this.#opening.catch(() => this.end());
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Time of the last use, in milliseconds since the epoch. Undefined while the browser is in use. */
  get idleSince(): number | undefined {
    return this.#steps > 0 ? undefined : this.#usedAt;
  }

  /**
   * Runs a step after the earlier ones. Rejects with `unavailable` when the browser cannot start. Aborting the signal ends
   * the browser. The browser also ends when it is idle.
   */
  async run<Name extends keyof Steps>(
    step: Name,
    input: Steps[Name],
    context: ToolContext,
  ): Promise<ToolOutput> {
    this.#steps += 1;
    this.#idle?.cancel();
    const running = Promise.all([this.#opening, this.#queue]).then(() => this.#step(step, input, context));
    this.#queue = running.catch(() => undefined);
    return running.finally(() => {
      this.#steps -= 1;
      this.#usedAt = Date.now();
      if (this.#steps > 0 || this.#hasEnded) return;
      const idleMs = 1_000 * this.#options.limits.idleSeconds;
      this.#idle = new Timer(idleMs, () => void this.end(), { ref: false });
    });
  }

  /** Ends the browser and removes its profile. Never rejects. */
  end(): Promise<void> {
    this.#idle?.cancel();
    this.#hasEnded = true;
    return (this.#ending ??= this.#close());
  }

  async #open(): Promise<void> {
    const { chromium, limits, openProxy } = this.#options;
    const { folder, artifacts, prefix } = (this.#profile = await createProfile(chromium, this.slot));
    const { port, login } = (this.#proxy = await openProxy((failure) => this.#recordFailure(failure)));
    const child = startProcess({
      module: 'driver-entry',
      beside: import.meta.url,
      maxMemoryBytes: MAX_MEMORY_BYTES,
      env: { HOME: artifacts, TMPDIR: artifacts },
    });
    this.#child = child;
    this.#exit = new Promise((resolve) => child.once('exit', resolve).once('error', resolve));
    child.once('error', () => this.#onExit(null)); // The process could not be started.
    child.once('exit', (_, signal) => this.#onExit(signal));
    child.on('message', (message: FromDriver) => this.#read(message));
    const launch = { chromium, profile: { folder, artifacts, prefix }, proxy: { port, login }, limits };
    await this.#step('open', launch, { signal: AbortSignal.timeout(OPEN_MS) });
  }

  async #step<Name extends keyof Steps>(
    step: Name,
    input: Steps[Name],
    context: ToolContext | { readonly signal: AbortSignal },
  ): Promise<ToolOutput> {
    const { signal } = context;
    signal.throwIfAborted();
    if (this.#hasEnded) throw browserEnded();
    const settled = Promise.withResolvers<ToolOutput>();
    const handlers = 'key' in context ? this.#handlers(context) : undefined;
    this.#currentStep = { ...settled, handlers };
    this.#send({ type: 'step', step, input });
    try {
      return await abortable(settled.promise, signal);
    } finally {
      this.#currentStep = undefined;
      if (this.#hasEnded || signal.aborted) void this.end();
    }
  }

  /** Returns the functions that a step may call, bound to the task that it runs for. */
  #handlers(context: ToolContext): ServerCalls {
    const { parsers } = this.#options;
    const { tenant, owner, signal } = context;
    return {
      takeFailures: async () => {
        const failures = [...this.#failures.values()];
        this.#failures.clear();
        return failures;
      },
      renewProxy: async () => {
        this.#failures.clear();
        this.#proxy?.renew();
      },
      toMarkdown: (html) => parsers.parse('html', html, { scope: { tenant, owner }, signal }),
      resolveSecrets: ({ text, host }) => context.resolveSecrets(text, host),
    };
  }

  #read(message: FromDriver): void {
    const waiting = this.#currentStep;
    if (message.type === 'ended') {
      // The result of the current step arrives later.
      this.#hasEnded = true;
      if (!waiting) void this.end();
    } else if (message.type === 'call') {
      if (waiting?.handlers) void this.#respond(waiting.handlers[message.name](message.input as never));
    } else if (message.error) {
      waiting?.reject(fromPlainError(message.error));
    } else {
      waiting?.resolve(message.output!);
    }
  }

  async #respond(call: Promise<unknown>): Promise<void> {
    const response = await call.then(
      (value) => ({ value }),
      (error: unknown) => ({ error: toPlainError(error, 'tool') }),
    );
    this.#send({ type: 'response', ...response });
  }

  /** Sends a message. A message that cannot be sent is dropped: the process ends, and the step rejects. */
  #send(message: ToDriver): void {
    if (this.#child?.connected) this.#child.send(message, () => undefined);
  }

  #onExit(signal: NodeJS.Signals | null): void {
    this.#currentStep?.reject(endedForMemory(signal) ? tooLarge() : browserEnded());
    void this.end();
  }

  #recordFailure(failure: ConnectionFailure): void {
    const isKept = this.#failures.size < MAX_FAILURES || failure.why === 'weight';
    if (isKept) this.#failures.set(failure.host, failure);
  }

  async #close(): Promise<void> {
    await this.#opening.catch(() => undefined);
    const child = this.#child;
    using late = new Timer(CLOSE_MS, () => child?.kill('SIGKILL'));
    if (child?.connected) child.disconnect();
    await this.#exit;
    late.cancel();
    await this.#proxy?.close();
    await this.#profile?.remove();
    this.#options.logger.debug('a browser was closed');
    this.#options.onEnd();
  }
}

function tooLarge(): LangoError {
  const mib = MAX_MEMORY_BYTES / (1024 * 1024);
  const problem = `The page sent the browser's driver more than fits into ${mib} MiB of memory, and was closed.`;
  return new LangoError('too-large', problem, { hint: RESTART_HINT });
}
