import type { Tool } from '../../core/tool.js';
import { actTool } from './browser-act.js';
import { extractTool } from './browser-extract.js';
import { closeTool, navigateTool, searchTool } from './browser-navigate.js';
import { observeTool } from './browser-observe.js';
import { screenshotTool } from './browser-screenshot.js';
import type { BrowserOptions } from './options.js';
import { Sessions } from './sessions.js';

export { findChromium } from './chromium.js';
export type { BrowserOptions } from './options.js';

/** The tools that drive a browser. */
export interface BrowserFamily {
  readonly tools: readonly Tool[];
  /** Ends every browser and removes its profile. Resolves when none is left. */
  close(): Promise<void>;
}

/** Creates the tools. A browser starts when a tool needs it, one for each conversation. */
export function createBrowser(options: BrowserOptions): BrowserFamily {
  const { limits, searchUrl } = options;
  const sessions = new Sessions(options);
  return {
    tools: [
      navigateTool(sessions, limits),
      ...(searchUrl === undefined ? [] : [searchTool(sessions, limits, searchUrl)]),
      observeTool(sessions),
      extractTool(sessions),
      actTool(sessions, limits),
      screenshotTool(sessions),
      closeTool(sessions),
    ],
    close: () => sessions.closeAll(),
  };
}
