import { z } from 'zod';
import { MIB, count, flag, group, list, optional, path, seconds, text } from '../../core/fields.js';

/** A screenshot of this size, as base64, still fits into one event of the journal. */
const SCREENSHOT_MAX_BYTES = 180_000;

const browserTools = group('The browser.', {
  enabled: flag(true, 'Offer the browser tools where a Chromium is installed.'),
  executable: optional(
    path(),
    'The Chromium or Chrome to start. Default: the first one found in the usual places and on PATH.',
  ),
  sandbox: flag(
    true,
    "Use Chromium's own sandbox. `false` is a last resort, for machines that allow no user namespaces.",
  ),
  allowHosts: list(
    z.array(text()),
    'Hosts with a private or loopback address that the browser may open, as `name` or `name:port`. The hosts of `egress.allowPrivate` are allowed too.',
  ),
  searchUrl: optional(
    z.string().refine(isSearchUrl, 'must be an http:// or https:// address with {query} in it'),
    'A search page, such as `https://search.example/?q={query}`. Default: none, and `browser_search` is not offered.',
  ),
  navigationSeconds: seconds(30, 'The longest time for a page to load.'),
  idleSeconds: seconds(300, 'A browser is closed after this time without use.'),
  contexts: count(4, 'The most browsers at once. Each conversation that uses the browser has its own.', {
    max: 14,
  }),
  pageBytes: count(
    64 * MIB,
    'The most bytes that one page may load from the network. Its further requests are aborted.',
  ),
  textCharacters: count(
    20_000,
    'The most characters of page text that one call returns. Further calls return the rest.',
    { max: 100_000 },
  ),
  elements: count(200, 'The most elements, or links, that one call lists.', { max: 1_000 }),
  screenshotBytes: count(
    SCREENSHOT_MAX_BYTES,
    'The largest screenshot, in bytes. A larger one is taken again as JPEG.',
    { max: SCREENSHOT_MAX_BYTES },
  ),
  screenshotHeight: count(6_000, 'The largest height of a full-page screenshot, in pixels.', { max: 20_000 }),
});

function isSearchUrl(value: string): boolean {
  const url = value.replaceAll('{query}', 'query');
  return value.includes('{query}') && /^https?:\/\/[^/@]+(\/|\?|$)/.test(url) && URL.canParse(url);
}

export const BROWSER_SETTINGS = { 'tools.browser': browserTools };

/** The limits of the settings, which say what each of them means. */
export type BrowserLimits = Omit<
  z.output<typeof browserTools>,
  'enabled' | 'executable' | 'sandbox' | 'allowHosts' | 'searchUrl'
>;
