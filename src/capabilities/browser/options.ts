import type { SettingsContext } from '../../core/capability.js';
import type { Logger } from '../../core/logger.js';
import type { Parsers } from '../../parsing/parsers.js';
import type { Chromium } from './chromium.js';
import type { BROWSER_SETTINGS } from './settings.js';

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

type Settings = SettingsContext<typeof BROWSER_SETTINGS>['settings']['tools.browser'];

/** The limits of the settings, which say what each of them means. */
export type BrowserLimits = Omit<Settings, 'enabled' | 'executable' | 'sandbox' | 'allowHosts' | 'searchUrl'>;

type OpenBrowserProxy = (onFailure: (failure: ProxyFailure) => void) => Promise<BrowserProxy>;

/** An HTTP proxy on 127.0.0.1 that belongs to one browser. */
export interface BrowserProxy {
  readonly port: number;
  /** The credentials without which the proxy refuses requests. It responds to requests for `url` itself. */
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
