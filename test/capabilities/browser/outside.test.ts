import { expect, it } from '@jest/globals';
import { createBrowser, type BrowserOptions } from '../../../src/capabilities/browser/browser.js';

it('every tool that shows the text of a page marks the run as one that has read outside text', () => {
  // Creating the family starts no browser, so the tools need no real Chromium here.
  const options = { limits: {}, searchUrl: 'https://search.example/?q={query}' } as BrowserOptions;
  const { tools } = createBrowser(options);
  const unmarked = tools.filter(({ bringsOutside }) => bringsOutside !== true).map(({ name }) => name);
  expect(tools).toHaveLength(7);
  expect(unmarked).toEqual(['browser_close']);
});
