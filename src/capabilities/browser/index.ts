import { defineCapability, type CapabilityContext, type SentenceRow } from '../../core/capability.js';
import { isLangoError } from '../../core/errors.js';
import { missing, off, type NodeFinding, type ToolFamily } from '../../core/tool-family.js';
import { PARSERS } from '../../parsing/parsers.js';
import { BROWSER_SETTINGS } from './settings.js';

const SENTENCES: readonly SentenceRow[] = [
  ['open {url}', 'browser_navigate'],
  ['take a screenshot', 'browser_screenshot'],
  ['take a screenshot of the whole page', 'browser_screenshot', { fullPage: true }],
  ['read the page', 'browser_extract', { mode: 'text' }],
  ['read the article', 'browser_extract', { mode: 'article' }],
  ['list the links of the page', 'browser_extract', { mode: 'links' }],
  ['what can be clicked on the page?', 'browser_observe'],
  ['click {ref}', 'browser_act', { action: 'click' }],
  ['type {value...} into {ref}', 'browser_act', { action: 'type' }],
  ['search with the browser for {query...}', 'browser_search'],
  ['close the browser', 'browser_close'],
];

/** A real Chromium, which agents navigate. */
export const browser = defineCapability({
  name: 'browser',
  settings: BROWSER_SETTINGS,
  sentences: SENTENCES,
  open: (context) => ({ families: async () => [await openFamily(context)] }),
});

const NAME = 'browser';
const NO_SANDBOX: NodeFinding = {
  code: 'no-browser-sandbox',
  subject: 'browser sandbox',
  state: 'warn',
  text: 'the browser runs without its sandbox (tools.browser.sandbox): pages may break out of it',
};

/** The browser sends its requests through a proxy that follows the address rules of the egress client. */
async function openFamily(context: CapabilityContext<typeof BROWSER_SETTINGS>): Promise<ToolFamily> {
  const { settings, node, services, logger } = context;
  const { enabled, executable, sandbox, allowHosts, searchUrl, ...limits } = settings['tools.browser'];
  if (!enabled) return off(NAME);
  const { createBrowser, findChromium } = await import('./browser.js');
  try {
    const chromium = await findChromium({ sandbox, path: node.environment['PATH'] ?? '', executable });
    const allowPrivate = [...context.allowPrivate, ...allowHosts];
    const browser = createBrowser({
      chromium,
      limits,
      parsers: services.require(PARSERS),
      logger,
      searchUrl,
      // Loaded on first use: a server whose browser opens no page starts faster and smaller without it.
      openProxy: async (onFailure) => {
        const { openBrowsingProxy } = await import('../../http/browsing-proxy.js');
        return openBrowsingProxy({ allowPrivate, maxBytes: limits.pageBytes, onFailure });
      },
    });
    return {
      name: NAME,
      state: 'on',
      ...browser,
      findings: sandbox ? [] : [NO_SANDBOX],
      note: `with ${chromium.executable}${searchUrl ? '' : '; browser_search is left out'}`,
      hint: searchUrl ? undefined : 'For browser_search set tools.browser.searchUrl.',
    };
  } catch (error) {
    if (!isLangoError(error, 'unavailable')) throw error;
    return missing(NAME, error);
  }
}
