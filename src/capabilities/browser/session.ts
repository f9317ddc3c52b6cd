import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { isLangoError, LangoError } from '../../core/errors.js';
import { abortable, Deadline, Timer } from '../../core/time.js';
import { browserEnded, RESTART_HINT, type DriverLaunch, type ServerCalls } from './driver-messages.js';
import { launchChromium } from './launch.js';
import type { BrowserLimits } from './settings.js';
import type { BrowsingProxy } from '../../http/browsing-proxy.js';
import { PageNotes } from './page-notes.js';
import type { PageFunctions } from './page-functions.js';

/** Time limit for one step inside a page. A page that does not respond in this time is closed. */
const STEP_MS = 10_000;
const SCRIPT_MS = 5_000;
const CLOSE_MS = 5_000;
const VIEWPORT = { width: 1280, height: 800 };
const POPUPS_AT_ONCE = 5;
const POPUP_MS = 2_000;
/** The addresses that the main frame may show. The last is Chromium's own error page. */
const ADDRESSES = /^(https?:|about:blank|blob:https?:|chrome-error:)/;

/** The page script, which is built from page/. Read at its first use. */
let script: Promise<string> | undefined;

interface SessionParts {
  readonly limits: BrowserLimits;
  readonly server: ServerCalls;
  readonly browser: Browser;
  /** Process id of the browser's main process. All others end with it. */
  readonly pid: number;
  readonly page: Page;
  readonly cdp: CDPSession;
}

/**
 * One browser with one page, for one conversation, in the driver's process. The session ends for good when the page does
 * not respond, and when the browser crashes, because the state of the page is unknown then.
 */
export class Session {
  readonly notes = new PageNotes();
  readonly page: Page;
  readonly limits: BrowserLimits;
  readonly server: ServerCalls;
  readonly #parts: SessionParts;
  readonly #onEnd: () => void;
  #ending: Promise<void> | undefined;
  #worldId: number | undefined;
  #documentNumber = 0;

  private constructor(parts: SessionParts, onEnd: () => void) {
    this.#parts = parts;
    this.#onEnd = onEnd;
    this.page = parts.page;
    this.limits = parts.limits;
    this.server = parts.server;
    parts.browser.once('disconnected', () => void this.end());
    parts.page.once('crash', () => void this.end());
    parts.page.once('close', () => void this.end());
    this.#watch();
  }

  /** Starts a browser. Rejects with `unavailable` and leaves no process behind. `onEnd` is called when the end begins. */
  static async open(launch: DriverLaunch, server: ServerCalls, onEnd: () => void): Promise<Session> {
    const { chromium, profile, proxy, limits } = launch;
    const browser = await launchChromium(chromium, profile, proxy.port);
    try {
      const pid = await pidOf(browser);
      const context = await browser.newContext({
        viewport: VIEWPORT,
        acceptDownloads: false,
        serviceWorkers: 'block',
        ignoreHTTPSErrors: false,
      });
      const page = await context.newPage();
      await context.grantPermissions([]);
      const cdp = await context.newCDPSession(page);
      await logIn(page, cdp, proxy.login);
      return new Session({ limits, server, browser, pid, page, cdp }, onEnd);
    } catch (error) {
      await browser.close().catch(() => undefined);
      throw isLangoError(error) ? error : browserEnded(error);
    }
  }

  get hasEnded(): boolean {
    return this.#ending !== undefined;
  }

  /** Runs one step. Rejects with `unavailable` if the browser ends meanwhile, but with `timeout` of a silent page. */
  async use<Result>(work: (session: Session) => Promise<Result>): Promise<Result> {
    if (this.hasEnded) throw browserEnded();
    try {
      return await work(this);
    } catch (error) {
      if (this.hasEnded && !isLangoError(error, 'timeout')) throw browserEnded(error);
      throw error;
    }
  }

  /** Adds a note for each connection that the proxy refused since the last call. */
  async readFailures(): Promise<void> {
    for (const failure of await this.server.takeFailures()) this.notes.recordFailure(failure);
  }

  /** Waits for the page. After `ms`, rejects with `timeout` and ends the session. */
  async withTimeout<Result>(promise: Promise<Result>, ms = STEP_MS): Promise<Result> {
    using deadline = new Deadline().expect(ms, () => {
      const text = `The page did not respond within ${ms / 1_000} s and was closed.`;
      return new LangoError('timeout', text, { hint: RESTART_HINT });
    });
    try {
      return await abortable(promise, deadline.signal);
    } finally {
      if (deadline.hasPassed) void this.end();
    }
  }

  /** Calls a function of the page script. */
  call<Name extends keyof PageFunctions>(
    name: Name,
    ...given: Parameters<PageFunctions[Name]>
  ): Promise<ReturnType<PageFunctions[Name]>> {
    return this.callAfter('', name, ...given);
  }

  /** Calls a function of the page script after a script that it needs. */
  async callAfter<Name extends keyof PageFunctions>(
    before: string,
    name: Name,
    ...given: Parameters<PageFunctions[Name]>
  ): Promise<ReturnType<PageFunctions[Name]>> {
    const { contextId } = await this.withTimeout(this.#isolatedWorld());
    const values = given.map((value) => JSON.stringify(value));
    const expression = `${before}\n(lango.${name}(${values.join(', ')}))`;
    return (await this.withTimeout(this.#evaluateIn(expression, contextId))) as ReturnType<
      PageFunctions[Name]
    >;
  }

  /** The number of the document that is shown now. Every new document gets a new number. */
  async documentNumber(): Promise<number> {
    return (await this.withTimeout(this.#isolatedWorld())).number;
  }

  async #isolatedWorld(): Promise<{ readonly contextId: number; readonly number: number }> {
    if (this.#worldId !== undefined) {
      const isThere = await this.#evaluateIn('typeof lango === "object"', this.#worldId).catch(() => false);
      if (isThere === true) return { contextId: this.#worldId, number: this.#documentNumber };
    }
    const { cdp } = this.#parts;
    const { frameTree } = await cdp.send('Page.getFrameTree');
    const { executionContextId } = await cdp.send('Page.createIsolatedWorld', {
      frameId: frameTree.frame.id,
      worldName: 'lango',
    });
    script ??= readFile(createRequire(import.meta.url).resolve('#built/browser-page.js'), 'utf8');
    await this.#evaluateIn(`${await script}\ntrue`, executionContextId);
    this.#worldId = executionContextId;
    this.#documentNumber += 1;
    return { contextId: executionContextId, number: this.#documentNumber };
  }

  async #evaluateIn(expression: string, contextId: number): Promise<unknown> {
    const { result, exceptionDetails } = await this.#parts.cdp.send('Runtime.evaluate', {
      expression,
      contextId,
      returnByValue: true,
      awaitPromise: true,
      timeout: SCRIPT_MS,
    });
    if (!exceptionDetails) return result.value as unknown;
    const text = exceptionDetails.exception?.description ?? exceptionDetails.text;
    throw new LangoError('tool', 'The page could not be read.', { cause: new Error(text.slice(0, 500)) });
  }

  async stopLoading(): Promise<void> {
    await this.withTimeout(this.#parts.cdp.send('Page.stopLoading')).catch(() => undefined);
  }

  /** Ends the browser. Never rejects. */
  end(): Promise<void> {
    return (this.#ending ??= this.#close());
  }

  async #close(): Promise<void> {
    this.#onEnd();
    const { browser, pid } = this.#parts;
    using _late = new Timer(CLOSE_MS, () => kill(pid));
    await browser.close().catch(() => undefined);
  }

  #watch(): void {
    const { page, notes } = this;
    let popups = 0;
    page.on('dialog', (dialog) => {
      notes.add(`the page opened a dialog (${dialog.type()}), which was dismissed: "${dialog.message()}"`);
      const isLeaving = dialog.type() === 'beforeunload';
      (isLeaving ? dialog.accept() : dialog.dismiss()).catch(() => undefined);
    });
    page.on('download', (download) => {
      notes.add(`the page tried to download ${download.url()}, which was refused`);
      download.cancel().catch(() => undefined);
    });
    page.on('framenavigated', (frame) => {
      if (frame !== page.mainFrame() || ADDRESSES.test(frame.url())) return;
      notes.add(`the page went to ${frame.url()}, which is not a web address; the page was closed`);
      page.goto('about:blank').catch(() => undefined);
    });
    page.context().on('page', (popup) => {
      popups += 1;
      const closing = popups > POPUPS_AT_ONCE ? Promise.resolve() : waitForAddress(popup);
      void closing
        .then(() => notes.add(`the page opened a window, which was closed: ${popup.url()}`))
        .then(() => popup.close())
        .catch(() => undefined)
        .finally(() => (popups -= 1));
    });
  }
}

async function waitForAddress(popup: Page): Promise<void> {
  if (ADDRESSES.test(popup.url()) && popup.url() !== 'about:blank') return;
  await popup.waitForURL(/^https?:/, { timeout: POPUP_MS, waitUntil: 'commit' }).catch(() => undefined);
}

/**
 * Logs in to the proxy. The browser then sends the password on all later connections of this context. A page cannot obtain
 * it, because the session responds only to challenges of the proxy, and only during this call.
 */
async function logIn(
  page: Page,
  cdp: CDPSession,
  { url, ...account }: BrowsingProxy['login'],
): Promise<void> {
  cdp.on('Fetch.requestPaused', ({ requestId }) => {
    void cdp.send('Fetch.continueRequest', { requestId }).catch(() => undefined);
  });
  cdp.on('Fetch.authRequired', ({ requestId, authChallenge: { source } }) => {
    const refusal = { response: 'CancelAuth' as const };
    const login = { response: 'ProvideCredentials' as const, ...account };
    const authChallengeResponse = source === 'Proxy' ? login : refusal;
    void cdp.send('Fetch.continueWithAuth', { requestId, authChallengeResponse }).catch(() => undefined);
  });
  await cdp.send('Fetch.enable', { handleAuthRequests: true });
  await page.evaluate(`window.fetch(${JSON.stringify(url)}).then(() => true)`);
  await cdp.send('Fetch.disable');
}

/** Returns the id of the browser's main process. */
async function pidOf(browser: Browser): Promise<number> {
  const cdp = await browser.newBrowserCDPSession();
  const { processInfo } = await cdp.send('SystemInfo.getProcessInfo');
  await cdp.detach();
  const main = processInfo.find(({ type }) => type === 'browser');
  if (!main) throw new Error('the browser does not name its main process');
  return main.id;
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has already ended.
  }
}
