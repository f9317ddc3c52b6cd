import { actTool } from './browser-act.js';
import { extractTool } from './browser-extract.js';
import { closeTool, navigateTool, searchTool } from './browser-navigate.js';
import { observeTool } from './browser-observe.js';
import { screenshotTool } from './browser-screenshot.js';
import type { BrowserOptions } from './driver.js';
import { Sessions } from './sessions.js';

export { findChromium } from './chromium.js';
export type { BrowserOptions } from './driver.js';

/** Creates the browser tools and `close`, which ends all browsers. Each conversation gets one when a tool needs it. */
export function createBrowser(options: BrowserOptions) {
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
