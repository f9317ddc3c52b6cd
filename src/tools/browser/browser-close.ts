import { z } from 'zod';
import { defineTool, type Tool } from '../../core/tool.js';
import type { Sessions } from './sessions.js';

const CLOSE_TIME_MS = 30_000;

export function closeTool(sessions: Sessions): Tool {
  return defineTool({
    name: 'browser_close',
    description: 'Closes the browser of this conversation. What it had kept (cookies, log-ins) is gone.',
    schema: z.strictObject({}),
    effect: 'pure',
    danger: () => 'safe',
    timeoutMs: () => CLOSE_TIME_MS,
    examples: [{ text: 'close the browser' }, { text: 'close the page' }],
    async execute(_input, context) {
      const wasOpen = await sessions.close(context);
      return { content: wasOpen ? 'The browser is closed.' : 'No browser was open in this conversation.' };
    },
  });
}
