import type { PageFunctions, PageInfo } from '../page-functions.js';
import { checked, focus, point, put, select } from './actions.js';
import { label, observe } from './elements.js';
import { article, html, links, text } from './reading.js';

/**
 * The script that Lango runs inside a page, in an isolated world where the scripts of the page can neither see nor
 * change it. Both share the document, so every result is still untrusted page content. The script bounds every result
 * before it leaves the page.
 */
let changedAt = performance.now();
new MutationObserver(() => (changedAt = performance.now())).observe(document, {
  ...{ childList: true, characterData: true, subtree: true },
});

function info(): PageInfo {
  const height = Math.ceil(document.documentElement?.scrollHeight ?? 0);
  return { title: label(document.title), height, width: innerWidth };
}

const stillFor = (): number => performance.now() - changedAt;
const reading = { info, stillFor, observe, text, links, html, article };

const world = globalThis as { lango?: PageFunctions };
world.lango ??= { ...reading, point, checked, focus, put, select };
