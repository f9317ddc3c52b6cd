import type { Logger } from '../../core/logger.js';
import type { Parsers } from '../../parsing/parsers.js';
import type { Chromium } from './chromium.js';

export interface BrowserOptions {
  readonly chromium: Chromium;
  /** Opens the proxy of one browser. It carries all traffic of the browser and checks every address. */
  readonly openProxy: OpenBrowserProxy;
  readonly limits: BrowserLimits;
  /** Converts pages to Markdown. */
  readonly parsers: Parsers;
  /** The URL of a search page with `{query}` in it. When absent, there is no search tool. */
  readonly searchUrl?: string;
  readonly logger: Logger;
}

export interface BrowserLimits {
  /** Maximum time from a navigation to the loaded page. */
  readonly navigationSeconds: number;
  /** A browser that is idle for this time is closed. */
  readonly idleSeconds: number;
  /** Maximum number of browsers at once, one for each conversation that uses one. */
  readonly contexts: number;
  /** Maximum bytes that a page may load from the network. */
  readonly pageBytes: number;
  /** Maximum characters of page text in one result. */
  readonly textCharacters: number;
  /** Maximum elements or links in one result. */
  readonly elements: number;
  /** Maximum size of a screenshot file. The journal stores it with the task. */
  readonly screenshotBytes: number;
  /** Maximum height of a full-page screenshot, in pixels. */
  readonly screenshotHeight: number;
}

type OpenBrowserProxy = (onFailure: (failure: ProxyFailure) => void) => Promise<BrowserProxy>;

/** An HTTP proxy on 127.0.0.1 that belongs to one browser. */
export interface BrowserProxy {
  readonly port: number;
  /** The credentials without which the proxy refuses requests. It answers requests for `url` itself. */
  readonly login: { readonly username: string; readonly password: string; readonly url: string };
  /** Resets the byte count of the current page. */
  renew(): void;
  close(): Promise<void>;
}

export interface ProxyFailure {
  /** `name:port`, as requested by the browser. */
  readonly host: string;
  readonly why: 'private' | 'weight' | 'unreachable';
}
