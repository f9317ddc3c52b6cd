import { z } from 'zod';
import { LangoError } from '../../core/errors.js';
import { exactField, limitField, textField } from '../../core/tool-fields.js';
import { defineTool, type Tool } from '../../core/tool.js';
import { REF_PATTERN } from './browser-read.js';
import { ACTIONS, MODES, type Action } from './driver-messages.js';
import type { BrowserOptions } from './driver.js';
import { parseAddress } from './navigation.js';
import { Sessions } from './sessions.js';

export { findChromium } from './launch.js';
export type { BrowserOptions } from './driver.js';

/** Time to start a browser and to describe the page, on top of the navigation itself. */
const OVERHEAD_MS = 60_000;
const SCREENSHOT_MS = 90_000;
const RESULTS_DEFAULT = 10;
const RESULTS_MAX = 50;
const VALUE_MAX = 20_000;
const NEEDS_VALUE: ReadonlySet<Action> = new Set<Action>(['type', 'select', 'press']);

/** The page of a conversation is opened and read as often as one likes, and all that is read comes from outside. */
const READING = { effect: 'pure', bringsOutside: true } as const;

/** Creates the browser tools and `close`, which ends all browsers. Each conversation gets one when a tool needs it. */
export function createBrowser(options: BrowserOptions) {
  const sessions = new Sessions(options);
  const timeoutMs = 1_000 * options.limits.navigationSeconds + OVERHEAD_MS;
  return {
    tools: [
      ...openingTools(sessions, timeoutMs, options.searchUrl),
      ...readingTools(sessions),
      actTool(sessions, timeoutMs),
      screenshotTool(sessions),
      closeTool(sessions),
    ],
    close: () => sessions.closeAll(),
  };
}

/**
 * The tools that open a page, which they start a browser for. Opening an address is a GET request, so it is safe to repeat.
 * After a restart it brings the page back. The search is left out without the address of a search page.
 */
function openingTools(sessions: Sessions, timeoutMs: number, searchUrl: string | undefined): readonly Tool[] {
  const opening = { ...READING, danger: 'moderate', timeoutMs } as const;
  const navigate = defineTool({
    ...opening,
    name: 'browser_navigate',
    description:
      'Opens a URL in the browser of this conversation, and waits until the page is quiet. Returns the title, the URL after redirects, and the beginning ' +
      'of the text. Read more with browser_extract; act on the page with browser_observe and browser_act.',
    schema: z.strictObject({ url: exactField('An http:// or https:// URL', 2_000) }),
    async execute({ url }, context) {
      const address = parseAddress(url);
      return sessions.open('navigate', { url: address.href }, context);
    },
  });
  if (searchUrl === undefined) return [navigate];
  const search = defineTool({
    ...opening,
    name: 'browser_search',
    description: 'Searches the web with the configured search page. Returns titles with their URLs.',
    schema: z.strictObject({
      query: textField('The search terms', 500),
      limit: limitField(`Maximum number of results; ${RESULTS_DEFAULT} by default`, RESULTS_MAX),
    }),
    async execute({ query, limit = RESULTS_DEFAULT }, context) {
      const address = parseAddress(searchUrl.replaceAll('{query}', encodeURIComponent(query)));
      return sessions.open('search', { url: address.href, limit }, context);
    },
  });
  return [navigate, search];
}

/** The tools that read the open page in parts. */
function readingTools(sessions: Sessions): readonly Tool[] {
  const offset = (max: number, description: string) =>
    z.int().min(0).max(max).optional().describe(description);
  const observe = defineTool({
    ...READING,
    name: 'browser_observe',
    description:
      'Lists the interactive elements of the open page (links, buttons, fields), each with a ref for browser_act. ' +
      'Refs are valid until another page is shown. Frames are listed with their URLs; open a URL to act in that frame.',
    schema: z.strictObject({ offset: offset(100_000, 'Number of elements to skip; 0 by default') }),
    execute: ({ offset = 0 }, context) => sessions.run('observe', { offset }, context),
  });
  const extract = defineTool({
    ...READING,
    name: 'browser_extract',
    description:
      'Reads the open page as text, as Markdown, as a list of links, or as the main article without navigation and ' +
      'ads. Returns a long page in parts.',
    schema: z.strictObject({
      mode: z
        .enum(MODES)
        .optional()
        .describe(
          'text (default), markdown (with headings and links), links, or article (the main text only)',
        ),
      offset: offset(10_000_000, 'Where to continue, as given by the previous result'),
    }),
    execute: ({ mode = 'text', offset = 0 }, context) => sessions.run('extract', { mode, offset }, context),
  });
  return [observe, extract];
}

/** The effect is `unsafe`, because a click may place an order, and after a crash only a person can tell whether it did. */
function actTool(sessions: Sessions, timeoutMs: number): Tool {
  return defineTool({
    name: 'browser_act',
    description:
      'Acts on one element of the open page, identified by a ref from browser_observe: click, type (replaces the ' +
      'content of the field), select an option, check, uncheck, or press a key. Waits until the page is quiet. Returns what ' +
      'changed: texts and elements, with the refs of new ones.',
    schema: z.strictObject({
      ref: z
        .string()
        .regex(REF_PATTERN, 'must be a ref from browser_observe, such as "p1e3"')
        .describe('The element, as a ref from browser_observe'),
      action: z.enum(ACTIONS).describe('The action to perform on the element'),
      value: z
        .string()
        .max(VALUE_MAX)
        .optional()
        .describe(
          'The text to type ({{secret:NAME}} stands for a secret, in password fields), the option to select, or the key to press ("Enter", "Control+a")',
        ),
    }),
    effect: 'unsafe',
    bringsOutside: true,
    secretPlace: 'browser',
    danger: 'moderate',
    timeoutMs,
    async check({ ref, action, value }, context) {
      assertValue(action, value);
      await sessions.run('find', { ref }, context);
    },
    async execute({ ref, action, value }, context) {
      assertValue(action, value);
      return sessions.run('act', { ref, action, value: value ?? '' }, context);
    },
  });
}

function assertValue(action: Action, value: string | undefined): void {
  if (value !== undefined || !NEEDS_VALUE.has(action)) return;
  throw new LangoError('invalid-input', `value: the action "${action}" requires a value.`);
}

function screenshotTool(sessions: Sessions): Tool {
  return defineTool({
    ...READING,
    name: 'browser_screenshot',
    description:
      'Takes a screenshot of the open page. The image becomes a file of the task, and you see it if you accept images.',
    schema: z.strictObject({
      fullPage: z.boolean().optional().describe('Capture the whole page instead of the visible part'),
    }),
    timeoutMs: SCREENSHOT_MS,
    execute: ({ fullPage = false }, context) => sessions.run('screenshot', { fullPage }, context),
  });
}

function closeTool(sessions: Sessions): Tool {
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
