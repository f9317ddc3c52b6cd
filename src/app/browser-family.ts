import type { Config } from '../config/config.js';
import { readEnv } from '../config/env.js';
import { isLangoError } from '../core/errors.js';
import type { Logger } from '../core/logger.js';
import type { ToolFamily } from '../core/tool.js';
import { createBrowser, findChromium } from '../tools/browser/index.js';
import { missing, off } from './family-states.js';

interface BrowserContext {
  readonly config: Config;
  readonly logger: Logger;
}

const NAME = 'browser';

/** The browser, whose way out is a proxy with the address rules of the egress client. */
export async function openBrowserFamily({ config, logger }: BrowserContext): Promise<ToolFamily> {
  const { enabled, executable, sandbox, allowHosts, searchUrl, ...limits } = config.tools.browser;
  if (!enabled) return off(NAME);
  try {
    const path = readEnv().variables['PATH'] ?? '';
    const chromium = await findChromium({ sandbox, path, ...(executable ? { executable } : {}) });
    if (!sandbox)
      logger.warn('the browser runs without its sandbox (tools.browser.sandbox): pages may break out of it');
    const allowPrivate = [...config.egress.allowPrivate, ...allowHosts];
    const browser = createBrowser({
      chromium,
      limits,
      logger,
      ...(searchUrl ? { searchUrl } : {}),
      // A server that nobody sends to the web starts faster and smaller without it.
      openProxy: async (onFailure) => {
        const { openBrowsingProxy } = await import('../http/browsing-proxy.js');
        return openBrowsingProxy({ allowPrivate, maxBytes: limits.pageBytes, onFailure });
      },
    });
    return {
      name: NAME,
      state: 'on',
      tools: browser.tools,
      note: `with ${chromium.executable}${searchUrl ? '' : '; browser_search is left out'}`,
      ...(searchUrl ? {} : { hint: 'For browser_search set tools.browser.searchUrl.' }),
      close: () => browser.close(),
    };
  } catch (error) {
    if (!isLangoError(error, 'unavailable')) throw error;
    return missing(NAME, error);
  }
}
