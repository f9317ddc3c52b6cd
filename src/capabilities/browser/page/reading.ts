import type { Readability } from '@mozilla/readability';
import type { Article, PageHtml, PageLinks, PageText } from '../page-functions.js';
import { cut, FOUND_MAX, label, rangeOf, roots } from './elements.js';

const HTML_MAX = 1_000_000;
const LINK_URL_MAX = 2_000;
const ARTICLE_ELEMENTS_MAX = 50_000;
const NO_TEXT = 'script,style,noscript,template,svg,iframe,object,embed';

declare const langoReadability: typeof Readability;

/** Absent while a document has no content yet. */
const content = (): HTMLElement | undefined => document.body ?? document.documentElement ?? undefined;

export function text(offset: number, count: number): PageText {
  const whole = content()?.innerText ?? '';
  const range = rangeOf(whole.length, offset, count);
  return { ...range, text: whole.slice(range.from, range.to) };
}

export function links(offset: number, count: number): PageLinks {
  const found = new Map<string, string>();
  for (const root of roots()) {
    for (const link of root.querySelectorAll<HTMLAnchorElement>('a[href],area[href]')) {
      if (!/^https?:/.test(link.protocol)) continue;
      const url = cut(link.href, LINK_URL_MAX);
      if (!found.get(url)) found.set(url, textOfLink(link));
      if (found.size >= FOUND_MAX) break;
    }
  }
  const all = Array.from(found, ([url, text]) => ({ url, text }));
  const range = rangeOf(all.length, offset, count);
  return { ...range, links: all.slice(range.from, range.to) };
}

function textOfLink(link: HTMLAnchorElement): string {
  const image = link.querySelector<HTMLImageElement>('img[alt]');
  return label(link.innerText || link.getAttribute('aria-label') || link.title || image?.alt);
}

/** The content as HTML, without what holds no text, and with absolute addresses. */
export function html(): PageHtml {
  const copy = content()?.cloneNode(true) as HTMLElement | undefined;
  if (!copy) return { html: '', isCut: false };
  for (const gone of copy.querySelectorAll(NO_TEXT)) gone.remove();
  for (const link of copy.querySelectorAll<HTMLAnchorElement>('a[href]'))
    link.setAttribute('href', link.href);
  for (const image of copy.querySelectorAll('img')) {
    if (/^https?:/.test(image.src)) image.setAttribute('src', image.src);
    else image.remove();
  }
  return cutHtml(copy.innerHTML);
}

export function article(): Article | null {
  const copy = document.cloneNode(true) as Document;
  const found = new langoReadability(copy, { maxElemsToParse: ARTICLE_ELEMENTS_MAX }).parse();
  if (!found) return null;
  const { title, byline, siteName: site, publishedTime: published } = found;
  const about = Object.entries({ title, byline, site, published });
  return {
    ...cutHtml(found.content ?? ''),
    about: Object.fromEntries(about.map(([name, value]) => [name, label(value)])),
  };
}

function cutHtml(whole: string): PageHtml {
  return { html: whole.slice(0, HTML_MAX), isCut: whole.length > HTML_MAX };
}
