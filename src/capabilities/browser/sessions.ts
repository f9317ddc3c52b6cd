import { LangoError, serverStopping } from '../../core/errors.js';
import type { ToolContext, ToolOutput } from '../../core/tool.js';
import { SLOTS, removeStaleProfiles } from './launch.js';
import { Driver, type BrowserOptions } from './driver.js';
import type { Steps } from './driver-messages.js';

type SessionScope = Pick<ToolContext, 'tenant' | 'owner' | 'contextId'>;

interface OpenBrowser {
  readonly slot: number;
  readonly driver: Promise<Driver>;
  /** Set once the browser is open. */
  opened?: Driver;
}

/** The open browsers: one for each conversation of an owner. */
export class Sessions {
  readonly #options: BrowserOptions;
  readonly #browsers = new Map<string, OpenBrowser>();
  #swept: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: BrowserOptions) {
    this.#options = options;
  }

  /** Returns the browser of the conversation, or starts one. Rejects with `too-many` when all browsers are busy. */
  async open(scope: SessionScope): Promise<Driver> {
    if (this.#isClosed) throw serverStopping();
    const key = keyOf(scope);
    const known = this.#browsers.get(key);
    if (known && !known.opened?.hasEnded) return known.driver;
    if (known) await this.#close(key, known);
    this.#closeOldestIfFull();
    const slot = this.#freeSlot();
    this.#swept ??= removeStaleProfiles(this.#options.chromium);
    const launch = () => Driver.open(this.#options, slot, () => this.#forget(key, browser));
    const browser: OpenBrowser = { slot, driver: this.#swept.then(launch) };
    this.#browsers.set(key, browser);
    try {
      browser.opened = await browser.driver;
      return browser.opened;
    } catch (error) {
      this.#forget(key, browser);
      throw error;
    }
  }

  /** Runs a step in the browser of the conversation. Rejects with `not-found` when there is none. */
  async run<Name extends keyof Steps>(
    step: Name,
    input: Steps[Name],
    context: ToolContext,
  ): Promise<ToolOutput> {
    const browser = this.#browsers.get(keyOf(context));
    if (browser && !browser.opened?.hasEnded) return (await browser.driver).run(step, input, context);
    const hint = 'Call browser_navigate first. A restart of the server and a long idle time close the page.';
    throw new LangoError('not-found', 'No page is open in this conversation.', { hint });
  }

  /** Closes the browser of the conversation. Resolves with whether one was open. */
  async close(scope: SessionScope): Promise<boolean> {
    const key = keyOf(scope);
    const browser = this.#browsers.get(key);
    if (!browser) return false;
    const wasOpen = !browser.opened?.hasEnded;
    await this.#close(key, browser);
    return wasOpen;
  }

  async closeAll(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#browsers].map(([key, browser]) => this.#close(key, browser)));
  }

  async #close(key: string, browser: OpenBrowser): Promise<void> {
    const driver = await browser.driver.catch(() => undefined);
    await driver?.end();
    this.#forget(key, browser);
  }

  #forget(key: string, browser: OpenBrowser): void {
    if (this.#browsers.get(key) === browser) this.#browsers.delete(key);
  }

  /** At the limit, closes the browser that has been idle for longest. Throws `too-many` when all are busy. */
  #closeOldestIfFull(): void {
    const most = Math.min(this.#options.limits.contexts, SLOTS);
    if (this.#browsers.size < most) return;
    const idle = [...this.#browsers].filter(([, { opened }]) => opened && !opened.isBusy);
    const [oldest] = idle.sort(([, a], [, b]) => a.opened!.usedAt - b.opened!.usedAt);
    if (!oldest) {
      const hint = 'Try again later, or raise tools.browser.contexts.';
      throw new LangoError('too-many', `All ${most} browsers are busy.`, { hint, retryable: true });
    }
    const [key, browser] = oldest;
    this.#browsers.delete(key);
    void browser.opened?.end();
  }

  #freeSlot(): number {
    const taken = new Set([...this.#browsers.values()].map(({ slot }) => slot));
    let slot = 0;
    while (taken.has(slot)) slot += 1;
    return slot;
  }
}

function keyOf({ tenant, owner, contextId }: SessionScope): string {
  return JSON.stringify([tenant, owner, contextId]);
}
