import { LangoError, serverStopping } from '../../core/errors.js';
import type { ToolContext } from '../../core/tool.js';
import type { BrowserOptions } from './options.js';
import { SLOTS, removeStaleProfiles } from './launch.js';
import { Driver } from './driver.js';

type SessionScope = Pick<ToolContext, 'tenant' | 'owner' | 'contextId'>;

interface Entry {
  readonly slot: number;
  readonly driver: Promise<Driver>;
  /** Set once the browser is open. */
  opened?: Driver;
}

/** The open browsers: one for each conversation of an owner. */
export class Sessions {
  readonly #options: BrowserOptions;
  readonly #entries = new Map<string, Entry>();
  #swept: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: BrowserOptions) {
    this.#options = options;
  }

  /** Returns the browser of the conversation, or starts one. Rejects with `too-many` when all browsers are busy. */
  async open(scope: SessionScope): Promise<Driver> {
    if (this.#isClosed) throw serverStopping();
    const key = keyOf(scope);
    const known = this.#entries.get(key);
    if (known && !known.opened?.hasEnded) return known.driver;
    if (known) await this.#close(key, known);
    this.#closeOldestIfFull();
    const slot = this.#freeSlot();
    const entry: Entry = { slot, driver: this.#launch(slot, () => this.#forget(key, entry)) };
    this.#entries.set(key, entry);
    try {
      entry.opened = await entry.driver;
      return entry.opened;
    } catch (error) {
      this.#forget(key, entry);
      throw error;
    }
  }

  /** Returns the browser of the conversation. Rejects with `not-found` when there is none. */
  async require(scope: SessionScope): Promise<Driver> {
    const entry = this.#entries.get(keyOf(scope));
    if (entry && !entry.opened?.hasEnded) return entry.driver;
    throw new LangoError('not-found', 'No page is open in this conversation.', {
      hint: 'Call browser_navigate first. A restart of the server and a long idle time close the page.',
    });
  }

  /** Closes the browser of the conversation. Resolves with whether one was open. */
  async close(scope: SessionScope): Promise<boolean> {
    const key = keyOf(scope);
    const entry = this.#entries.get(key);
    if (!entry) return false;
    const wasOpen = !entry.opened?.hasEnded;
    await this.#close(key, entry);
    return wasOpen;
  }

  async closeAll(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#entries].map(([key, entry]) => this.#close(key, entry)));
  }

  async #launch(slot: number, onEnd: () => void): Promise<Driver> {
    await (this.#swept ??= removeStaleProfiles(this.#options.chromium));
    return Driver.open(this.#options, slot, onEnd);
  }

  async #close(key: string, entry: Entry): Promise<void> {
    const driver = await entry.driver.catch(() => undefined);
    await driver?.end();
    this.#forget(key, entry);
  }

  #forget(key: string, entry: Entry): void {
    if (this.#entries.get(key) === entry) this.#entries.delete(key);
  }

  /** At the limit, closes the browser that has been idle for longest. Throws `too-many` when all are busy. */
  #closeOldestIfFull(): void {
    if (this.#entries.size < this.#maxSessions()) return;
    const idle = [...this.#entries].filter(([, { opened }]) => opened && !opened.isBusy);
    const [oldest] = idle.sort(([, a], [, b]) => a.opened!.usedAt - b.opened!.usedAt);
    if (!oldest) {
      throw new LangoError('too-many', `All ${this.#maxSessions()} browsers are busy.`, {
        hint: 'Try again later, or raise tools.browser.contexts.',
        retryable: true,
      });
    }
    const [key, entry] = oldest;
    this.#entries.delete(key);
    void entry.opened?.end();
  }

  #freeSlot(): number {
    const taken = new Set([...this.#entries.values()].map(({ slot }) => slot));
    let slot = 0;
    while (taken.has(slot)) slot += 1;
    return slot;
  }

  #maxSessions(): number {
    return Math.min(this.#options.limits.contexts, SLOTS);
  }
}

function keyOf({ tenant, owner, contextId }: SessionScope): string {
  return JSON.stringify([tenant, owner, contextId]);
}
