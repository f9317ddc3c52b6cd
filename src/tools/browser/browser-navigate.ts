import { z } from 'zod';
import { defineTool, type Tool } from '../../core/tool.js';
import { goTo, readAddress } from './going.js';
import type { BrowserLimits } from './options.js';
import { describePage } from './report.js';
import type { Sessions } from './sessions.js';

/** To start a browser and to say what is there. */
export const OVERHEAD_MS = 60_000;
const PREVIEW_CHARACTERS = 1_000;

const navigateSchema = z.strictObject({
  url: z.string().min(1).max(2_000).describe('An http:// or https:// address'),
});

/** Opening an address is a GET, which is safe to repeat; and after a restart it is what brings the page back. */
export function navigateTool(sessions: Sessions, { navigationSeconds }: BrowserLimits): Tool {
  return defineTool({
    name: 'browser_navigate',
    description:
      'Opens a web address in the browser of this conversation and tells its title, its address after redirects, and ' +
      'the beginning of its text. Read more with browser_extract, act with browser_observe and browser_act.',
    schema: navigateSchema,
    effect: 'pure',
    bringsOutside: true,
    danger: () => 'moderate',
    timeoutMs: () => 1_000 * navigationSeconds + OVERHEAD_MS,
    examples: [
      { text: 'open {url}' },
      { text: 'go to {url}' },
      { text: 'browse to {url}' },
      { text: 'visit {url}' },
      { text: 'navigate to {url}' },
      { text: 'open the page {url}' },
    ],
    async execute({ url }, context) {
      const address = readAddress(url);
      const session = await sessions.open(context);
      return session.use(context.signal, async () => {
        const facts = await goTo(session, address, navigationSeconds);
        const { text } = await session.evaluate<{ text: string }>(`lango.text(0, ${PREVIEW_CHARACTERS})`);
        return { content: await describePage(session, facts, text) };
      });
    },
  });
}
