import { z } from 'zod';
import { defineTool, type Tool } from '../../core/tool.js';
import { OVERHEAD_MS } from './browser-navigate.js';
import { goTo, readAddress } from './going.js';
import type { BrowserLimits } from './options.js';
import { describePage } from './report.js';
import type { Sessions } from './sessions.js';

const LIMIT_DEFAULT = 10;
const LIMIT_MAX = 50;
const LINKS_READ = 500;

const searchSchema = z.strictObject({
  query: z.string().trim().min(1).max(500).describe('What to look for'),
  limit: z
    .int()
    .min(1)
    .max(LIMIT_MAX)
    .optional()
    .describe(`How many results at most; ${LIMIT_DEFAULT} by default`),
});

type Link = { readonly url: string; readonly text: string };

/** Asks the configured search page, in the browser. */
export function searchTool(sessions: Sessions, limits: BrowserLimits, searchUrl: string): Tool {
  return defineTool({
    name: 'browser_search',
    description:
      'Looks for something with the configured search page and gives the results: titles with addresses.',
    schema: searchSchema,
    effect: 'pure',
    bringsOutside: true,
    danger: () => 'moderate',
    timeoutMs: () => 1_000 * limits.navigationSeconds + OVERHEAD_MS,
    examples: [
      { text: 'search the web for {query}' },
      { text: 'look up {query} on the web' },
      { text: 'find pages about {query}' },
    ],
    async execute({ query, limit = LIMIT_DEFAULT }, context) {
      const address = readAddress(searchUrl.replaceAll('{query}', encodeURIComponent(query)));
      const session = await sessions.open(context);
      return session.use(context.signal, async () => {
        const facts = await goTo(session, address, limits.navigationSeconds);
        const { links } = await session.evaluate<{ links: Link[] }>(`lango.links(0, ${LINKS_READ})`);
        const results = links.filter(({ url, text }) => text !== '' && new URL(url).host !== address.host);
        const lines = results
          .slice(0, limit)
          .map(({ text, url }, index) => `${index + 1}. ${text}\n   ${url}`);
        return { content: await describePage(session, facts, lines.join('\n') || '(no results)') };
      });
    },
  });
}
