import { LangoError, serverStopping } from '../../core/errors.js';
import type { ToolContext, ToolOutput } from '../../core/tool.js';
import { SLOTS, removeStaleProfiles } from './launch.js';
import { Driver, type BrowserOptions } from './driver.js';
import type { Steps } from './driver-messages.js';

type SessionScope = Pick<ToolContext, 'tenant' | 'owner' | 'contextId'>;

/** The open browsers: one for each conversation of an owner. */
export class Sessions {
  readonly #options: BrowserOptions;
  readonly #browsers = new Map<string, Driver>();
  #swept: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: BrowserOptions) {
    this.#options = options;
  }

  /** Runs a step in the browser of the conversation, or in a new one. Rejects with `too-many` when all browsers are busy. */
  async open<Name extends keyof Steps>(
    step: Name,
    input: Steps[Name],
    context: ToolContext,
  ): Promise<ToolOutput> {
    if (this.#isClosed) throw serverStopping();
    const key = keyOf(context);
    let known = this.#browsers.get(key);
    // After each wait another call may have started a browser, which parallel calls share.
    for (; known?.hasEnded; known = this.#browsers.get(key)) await known.end();
    if (known) return known.run(step, input, context);
    if (this.#isClosed) throw serverStopping();
    this.#closeOldestIfFull();
    const slot = this.#freeSlot();
    const after = (this.#swept ??= removeStaleProfiles(this.#options.chromium));
    const onEnd = (): void => {
      if (this.#browsers.get(key) === browser) this.#browsers.delete(key);
    };
    const browser = new Driver({ ...this.#options, slot, after, onEnd });
    this.#browsers.set(key, browser);
    return browser.run(step, input, context);
  }

  /** Runs a step in the browser of the conversation. Rejects with `not-found` when there is none. */
  async run<Name extends keyof Steps>(
    step: Name,
    input: Steps[Name],
    context: ToolContext,
  ): Promise<ToolOutput> {
    const browser = this.#browsers.get(keyOf(context));
    if (browser && !browser.hasEnded) return browser.run(step, input, context);
    const hint = 'Call browser_navigate first. A restart of the server and a long idle time close the page.';
    throw new LangoError('not-found', 'No page is open in this conversation.', { hint });
  }

  /** Closes the browser of the conversation. Resolves with whether one was open. */
  async close(scope: SessionScope): Promise<boolean> {
    const browser = this.#browsers.get(keyOf(scope));
    const wasOpen = browser !== undefined && !browser.hasEnded;
    await browser?.end();
    return wasOpen;
  }

  async closeAll(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(Array.from(this.#browsers.values(), (browser) => browser.end()));
  }

  /** At the limit, closes the browser that has been idle for longest. Throws `too-many` when all are busy. */
  #closeOldestIfFull(): void {
    const most = Math.min(this.#options.limits.contexts, SLOTS);
    if (this.#browsers.size < most) return;
    const idle = [...this.#browsers].filter(([, { idleSince }]) => idleSince !== undefined);
    const [oldest] = idle.sort(([, a], [, b]) => a.idleSince! - b.idleSince!);
    if (!oldest) {
      const hint = 'Try again later, or raise tools.browser.contexts.';
      throw new LangoError('too-many', `All ${most} browsers are busy.`, { hint, retryable: true });
    }
    const [key, browser] = oldest;
    this.#browsers.delete(key);
    void browser.end();
  }

  #freeSlot(): number {
    const taken = new Set(Array.from(this.#browsers.values(), ({ slot }) => slot));
    let slot = 0;
    while (taken.has(slot)) slot += 1;
    return slot;
  }
}

function keyOf({ tenant, owner, contextId }: SessionScope): string {
  return JSON.stringify([tenant, owner, contextId]);
}
