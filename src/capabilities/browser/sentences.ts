import type { SentenceRow } from '../../core/capability.js';

/** The sentences that the offline model understands. */
export const BROWSER_SENTENCES: readonly SentenceRow[] = [
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
