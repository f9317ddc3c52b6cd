import { z } from 'zod';
import { limitField, exactField, textField } from '../../core/tool-fields.js';
import { defineTool, type Tool, type ToolOutput } from '../../core/tool.js';
import type { Steps } from './driver-messages.js';
import { goTo, parseAddress } from './navigation.js';
import { untilQuiet } from './page-change.js';
import type { BrowserLimits } from './settings.js';
import { describePage } from './report.js';
import type { Session } from './session.js';
import type { Sessions } from './sessions.js';

/** Time to start a browser and to describe the page, on top of the navigation itself. */
export const OVERHEAD_MS = 60_000;
const PREVIEW_CHARACTERS = 1_000;

const navigateSchema = z.strictObject({
  url: exactField('An http:// or https:// URL', 2_000),
});

/** Opening an address is a GET request, so it is safe to repeat. After a restart it brings the page back. */
export function navigateTool(sessions: Sessions, { navigationSeconds }: BrowserLimits): Tool {
  return defineTool({
    name: 'browser_navigate',
    description:
      'Opens a URL in the browser of this conversation, and waits until the page is quiet. Returns the title, the URL after redirects, and the beginning ' +
      'of the text. Read more with browser_extract; act on the page with browser_observe and browser_act.',
    schema: navigateSchema,
    effect: 'pure',
    bringsOutside: true,
    danger: 'moderate',
    timeoutMs: 1_000 * navigationSeconds + OVERHEAD_MS,
    async execute({ url }, context) {
      const address = parseAddress(url);
      return (await sessions.open(context)).run('navigate', { url: address.href }, context);
    },
  });
}

export async function navigate(session: Session, { url }: Steps['navigate']): Promise<ToolOutput> {
  const facts = await untilQuiet(session, () => goTo(session, new URL(url)));
  const { text } = await session.call('text', 0, PREVIEW_CHARACTERS);
  return { content: await describePage(session, facts, text) };
}

const LIMIT_DEFAULT = 10;
const LIMIT_MAX = 50;
const LINKS_READ = 500;

const searchSchema = z.strictObject({
  query: textField('The search terms', 500),
  limit: limitField(`Maximum number of results; ${LIMIT_DEFAULT} by default`, LIMIT_MAX),
});

/** Searches with the configured search page, in the browser. */
export function searchTool(sessions: Sessions, limits: BrowserLimits, searchUrl: string): Tool {
  return defineTool({
    name: 'browser_search',
    description: 'Searches the web with the configured search page. Returns titles with their URLs.',
    schema: searchSchema,
    effect: 'pure',
    bringsOutside: true,
    danger: 'moderate',
    timeoutMs: 1_000 * limits.navigationSeconds + OVERHEAD_MS,
    async execute({ query, limit = LIMIT_DEFAULT }, context) {
      const address = parseAddress(searchUrl.replaceAll('{query}', encodeURIComponent(query)));
      return (await sessions.open(context)).run('search', { url: address.href, limit }, context);
    },
  });
}

export async function search(session: Session, { url, limit }: Steps['search']): Promise<ToolOutput> {
  const address = new URL(url);
  const facts = await untilQuiet(session, () => goTo(session, address));
  const { links } = await session.call('links', 0, LINKS_READ);
  const results = links.filter((link) => link.text !== '' && new URL(link.url).host !== address.host);
  const lines = results.slice(0, limit).map((link, index) => `${index + 1}. ${link.text}\n   ${link.url}`);
  return { content: await describePage(session, facts, lines.join('\n') || '(no results)') };
}

export function closeTool(sessions: Sessions): Tool {
  return defineTool({
    name: 'browser_close',
    description: 'Closes the browser of this conversation and deletes its cookies and log-ins.',
    schema: z.strictObject({}),
    effect: 'pure',
    async execute(_input, context) {
      const wasOpen = await sessions.close(context);
      return { content: wasOpen ? 'The browser is closed.' : 'No browser was open in this conversation.' };
    },
  });
}
