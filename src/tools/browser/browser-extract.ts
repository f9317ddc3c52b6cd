import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { z } from 'zod';
import { LangoError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import { defineTool, type Tool } from '../../core/tool.js';
import type { BrowserLimits } from './options.js';
import { describePage, describeRange, type Range } from './report.js';
import type { Session } from './session.js';
import type { Sessions } from './sessions.js';

const READABILITY = '@mozilla/readability/Readability.js';

const schema = z.strictObject({
  mode: z
    .enum(['text', 'markdown', 'links', 'article'])
    .optional()
    .describe('text (default), markdown (with headings and links), links, or article (the main text only)'),
  offset: z
    .int()
    .min(0)
    .max(10_000_000)
    .optional()
    .describe('Where to continue, as given by the previous result'),
});

interface Extract {
  readonly range: Range;
  readonly unit: string;
  readonly text: string;
  readonly facts: readonly string[];
}

interface Html extends JsonObject {
  readonly html: string;
  readonly isCut: boolean;
}

interface Article extends Html {
  readonly title: string;
  readonly byline: string;
  readonly site: string;
  readonly published: string;
}

interface Reading {
  readonly session: Session;
  readonly offset: number;
  readonly limits: BrowserLimits;
}

export function extractTool(sessions: Sessions, limits: BrowserLimits): Tool {
  return defineTool({
    name: 'browser_extract',
    description:
      'Reads the open page as text, as Markdown, as a list of links, or as the main article without navigation and ' +
      'ads. Returns a long page in parts.',
    schema,
    effect: 'pure',
    bringsOutside: true,
    async execute({ mode = 'text', offset = 0 }, context) {
      const session = await sessions.require(context);
      return session.use(context.signal, async () => {
        const { range, unit: what, text: pageText, facts } = await READERS[mode]({ session, offset, limits });
        const part = describeRange(range, what);
        return { content: await describePage(session, [...facts, ...part], pageText) };
      });
    },
  });
}

const READERS = { text: readText, links: readLinks, markdown: readMarkdown, article: readArticle } as const;

async function readText({ session, offset, limits }: Reading): Promise<Extract> {
  const found = await session.evaluate<Range & { text: string }>(
    `lango.text(${offset}, ${limits.textCharacters})`,
  );
  return { range: found, unit: 'characters', text: found.text, facts: [] };
}

async function readLinks({ session, offset, limits }: Reading): Promise<Extract> {
  const found = await session.evaluate<Range & { links: { url: string; text: string }[] }>(
    `lango.links(${offset}, ${limits.elements})`,
  );
  const lines = found.links.map(({ url, text }) => `- ${text || '(no text)'}: ${url}`);
  const pageText = lines.join('\n') || '(no links)';
  return { range: found, unit: 'links', text: pageText, facts: [`Links: ${found.total}`] };
}

async function readMarkdown({ session, offset, limits }: Reading): Promise<Extract> {
  const { html, isCut } = await session.evaluate<Html & JsonObject>('lango.html()');
  return partOf(await markdownOf(html), { offset, limits, facts: cutFacts(isCut) });
}

async function readArticle({ session, offset, limits }: Reading): Promise<Extract> {
  // Readability has no imports and needs only a document, so it runs inside the page.
  const source = await readFile(createRequire(import.meta.url).resolve(READABILITY), 'utf8');
  const load = `globalThis.langoReadability ??= (() => { const module = {}; ${source}\n; return Readability; })();`;
  const found = await session.evaluate<Article | null>('lango.article(langoReadability) ?? null', load);
  if (!found) {
    throw new LangoError('not-found', 'No article was recognized on this page.', {
      hint: 'Use mode "text" or "markdown".',
    });
  }
  const { title, byline, site, published } = found;
  const about = Object.entries({ title, byline, site, published }).filter(([, value]) => value !== '');
  const head = about.map(([name, value]) => `${name}: ${value}`).join('\n');
  const text = `${head}\n\n${await markdownOf(found.html)}`.trim();
  return partOf(text, { offset, limits, facts: cutFacts(found.isCut) });
}

async function markdownOf(html: string): Promise<string> {
  const { toMarkdown } = await import('../html.js');
  return toMarkdown(html);
}

interface Part {
  readonly offset: number;
  readonly limits: BrowserLimits;
  readonly facts: readonly string[];
}

function partOf(whole: string, { offset, limits, facts }: Part): Extract {
  const to = Math.min(whole.length, offset + limits.textCharacters);
  const range = { total: whole.length, from: offset, to };
  return { range, unit: 'characters', text: whole.slice(offset, to), facts };
}

function cutFacts(isCut: boolean): readonly string[] {
  return isCut ? ['Cut: the page exceeds the size limit for conversion to Markdown'] : [];
}
