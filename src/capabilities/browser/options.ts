import type { SettingsContext } from '../../core/capability.js';
import type { Logger } from '../../core/logger.js';
import type { BrowsingProxy, ConnectionFailure } from '../../http/browsing-proxy.js';
import type { Parsers } from '../../parsing/parsers.js';
import type { Chromium } from './chromium.js';
import type { BROWSER_SETTINGS } from './settings.js';

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

type Settings = SettingsContext<typeof BROWSER_SETTINGS>['settings']['tools.browser'];

/** The limits of the settings, which say what each of them means. */
export type BrowserLimits = Omit<Settings, 'enabled' | 'executable' | 'sandbox' | 'allowHosts' | 'searchUrl'>;
