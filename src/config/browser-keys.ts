import { z } from 'zod';
import { count, path, seconds, text, MIB } from './fields.js';

/** As base64, with what is said of it, it still is an entry of the journal. */
const SCREENSHOT_MAX_BYTES = 180_000;

export const browserTools = z
  .strictObject({
    enabled: z.boolean().default(true).describe('Offer the browser tools where there is a Chromium.'),
    executable: path()
      .optional()
      .describe(
        'The Chromium or Chrome to start. Default: the first one found in the usual places and on PATH.',
      ),
    sandbox: z
      .boolean()
      .default(true)
      .describe(
        'Use Chromium’s own sandbox. `false` is a last resort, for machines that allow no user namespaces.',
      ),
    allowHosts: z
      .array(text())
      .default([])
      .describe(
        'Hosts with a private or loopback address that pages may be opened on, as `name` or `name:port`, besides those of `egress.allowPrivate`.',
      ),
    searchUrl: searchUrl()
      .optional()
      .describe(
        'A search page, as `https://search.example/?q={query}`. Default: none, and no browser_search.',
      ),
    navigationSeconds: seconds()
      .default(30)
      .describe('How long an address may take until its page is there.'),
    idleSeconds: seconds().default(300).describe('A browser that is not used for so long is closed.'),
    contexts: count(14).default(4).describe('Browsers at once: one for each conversation that uses one.'),
    pageBytes: count()
      .default(64 * MIB)
      .describe('What a page may load from the network; it is cut off beyond it.'),
    textCharacters: count(100_000)
      .default(20_000)
      .describe('Text that is read at once; the rest comes in parts.'),
    elements: count(1_000).default(200).describe('Elements, or links, that are listed at once.'),
    screenshotBytes: count(SCREENSHOT_MAX_BYTES)
      .default(SCREENSHOT_MAX_BYTES)
      .describe('Size of a screenshot. A larger one is made again as JPEG.'),
    screenshotHeight: count(20_000)
      .default(6_000)
      .describe('Height of a screenshot of a whole page, in pixels.'),
  })
  .prefault({})
  .describe('The browser.');

function searchUrl(): z.ZodString {
  return z.string().refine(isSearchUrl, 'must be an http:// or https:// address with {query} in it');
}

function isSearchUrl(value: string): boolean {
  const url = value.replaceAll('{query}', 'query');
  return value.includes('{query}') && /^https?:\/\/[^/@]+(\/|\?|$)/.test(url) && URL.canParse(url);
}
