import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { LangoError } from '../../core/errors.js';
import type { ToolOutput } from '../../core/tool.js';
import type { Steps } from './driver-messages.js';
import type { PageHtml, Range } from './page-functions.js';
import { describePage, describeRange } from './report.js';
import type { Session } from './session.js';

const READABILITY = '@mozilla/readability/Readability.js';

export async function extract(session: Session, { mode, offset }: Steps['extract']): Promise<ToolOutput> {
  const { range, unit, text, facts } = await READERS[mode](session, offset);
  const part = describeRange(range, unit);
  return { content: await describePage(session, [...facts, ...part], text) };
}

/** How each mode reads the page from an offset on. */
const READERS = {
  async text(session: Session, offset: number) {
    const found = await session.call('text', offset, session.limits.textCharacters);
    return { range: found, unit: 'characters', text: found.text, facts: [] };
  },
  async links(session: Session, offset: number) {
    const found = await session.call('links', offset, session.limits.elements);
    const lines = found.links.map(({ url, text }) => `- ${text || '(no text)'}: ${url}`);
    const text = lines.join('\n') || '(no links)';
    return { range: found, unit: 'links', text, facts: [`Links: ${found.total}`] };
  },
  async markdown(session: Session, offset: number) {
    return convert(session, offset, await session.call('html'));
  },
  async article(session: Session, offset: number) {
    // Readability has no imports and needs only a document, so it runs inside the page.
    const source = await readFile(createRequire(import.meta.url).resolve(READABILITY), 'utf8');
    const load = `globalThis.langoReadability ??= (() => { const module = {}; ${source}\n; return Readability; })();`;
    const found = await session.callAfter(load, 'article');
    const hint = 'Use mode "text" or "markdown".';
    if (!found) throw new LangoError('not-found', 'No article was recognized on this page.', { hint });
    const about = Object.entries(found.about).filter(([, value]) => value !== '');
    const head = about.map(([name, value]) => `${name}: ${value}`).join('\n');
    return convert(session, offset, { ...found, head });
  },
} as const;

/** Converts HTML of the page to Markdown and returns the requested part of it, after `head`. */
async function convert(
  session: Session,
  from: number,
  { html, isCut, head = '' }: PageHtml & { readonly head?: string },
) {
  const whole = `${head}\n\n${await session.server.toMarkdown(html)}`.trim();
  const range: Range = {
    total: whole.length,
    from,
    to: Math.min(whole.length, from + session.limits.textCharacters),
  };
  const text = whole.slice(range.from, range.to);
  const facts = isCut ? ['Cut: the page exceeds the size limit for conversion to Markdown'] : [];
  return { range, unit: 'characters', text, facts };
}
