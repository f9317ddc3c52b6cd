import type { Logger } from '../../core/logger.js';
import type { Chromium } from './chromium.js';

export interface BrowserOptions {
  readonly chromium: Chromium;
  /** Makes the way out of one browser: all its traffic goes through it, and it checks every address. */
  readonly openProxy: OpenBrowserProxy;
  readonly limits: BrowserLimits;
  /** The address of a search page with `{query}` in it. Absent: there is no search tool. */
  readonly searchUrl?: string;
  readonly logger: Logger;
}

export interface BrowserLimits {
  /** How long an address may take until its page is there. */
  readonly navigationSeconds: number;
  /** A browser that is not used for so long is closed. */
  readonly idleSeconds: number;
  /** Browsers at once, one for each conversation that uses one. */
  readonly contexts: number;
  /** What a page may load from the network. */
  readonly pageBytes: number;
  /** One page of text that a tool gives back, in characters. */
  readonly textCharacters: number;
  /** Elements or links told at once. */
  readonly elements: number;
  /** Size of a screenshot's file; it is stored in the journal with the task. */
  readonly screenshotBytes: number;
  /** Height of a screenshot of the full page, in pixels. */
  readonly screenshotHeight: number;
}

type OpenBrowserProxy = (onFailure: (failure: ProxyFailure) => void) => Promise<BrowserProxy>;

/** An HTTP proxy on 127.0.0.1 that belongs to one browser. */
export interface BrowserProxy {
  readonly port: number;
  /** Begins a new count of bytes. */
  renew(): void;
  close(): Promise<void>;
}

export interface ProxyFailure {
  /** `name:port`, as the browser asked for it. */
  readonly host: string;
  readonly why: 'private' | 'weight' | 'unreachable';
}
