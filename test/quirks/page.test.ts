import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { renderPage } from './page.js';
import { allTopics } from './tables.js';

const PAGE = 'docs/reference/models.md';

/** The tables need jest, so `npm run tools` writes the page by this test. */
it(`${PAGE} is up to date with the tables of quirks (else: npm run tools)`, async () => {
  const text = renderPage((await allTopics()).flatMap(({ quirks }) => quirks));
  if (process.env.LANGO_WRITE_PAGE === '1') writeFileSync(PAGE, text);
  expect(readFileSync(PAGE, 'utf8')).toBe(text);
});
