import { LangoError } from '../../core/errors.js';
import type { ToolOutput } from '../../core/tool.js';
import type { Steps } from './driver-messages.js';
import { describePage } from './report.js';
import type { Session } from './session.js';

const SHOT_MS = 15_000;
const FIXED = { scale: 'css', animations: 'disabled', timeout: SHOT_MS } as const;
/** Formats to try in this order until the file is small enough. */
const FORMATS = [
  { type: 'png' },
  { type: 'jpeg', quality: 80 },
  { type: 'jpeg', quality: 50 },
  { type: 'jpeg', quality: 25 },
] as const;

export async function screenshot(session: Session, { fullPage }: Steps['screenshot']): Promise<ToolOutput> {
  const { bytes, type, isPart } = await takeScreenshot(session, fullPage);
  const filename = `screenshot.${type === 'png' ? 'png' : 'jpg'}`;
  const part = 'Part: only the upper part of the page, which is higher than tools.browser.screenshotHeight';
  const facts = [`Screenshot: ${filename}, ${bytes.length} bytes`, ...(isPart ? [part] : [])];
  const content = await describePage(session, facts);
  const mediaType = `image/${type}`;
  return { content, files: [{ kind: 'file', bytes: bytes.toString('base64'), mediaType, filename }] };
}

async function takeScreenshot(session: Session, fullPage: boolean) {
  const { page, limits } = session;
  const { width, height } = await session.call('info');
  const shown = fullPage ? Math.min(Math.max(height, 1), limits.screenshotHeight) : undefined;
  const clip = shown === undefined ? {} : { fullPage: true, clip: { x: 0, y: 0, width, height: shown } };
  for (const format of FORMATS) {
    const shot = page.screenshot({ ...FIXED, ...clip, ...format });
    const bytes = await session.withTimeout(shot, 2 * SHOT_MS);
    if (bytes.length > limits.screenshotBytes) continue;
    return { bytes, type: format.type, isPart: shown !== undefined && shown < height };
  }
  const advice = fullPage ? 'Take one without fullPage' : 'Read the page with browser_extract';
  const hint = `${advice}, or raise tools.browser.screenshotBytes.`;
  throw new LangoError('too-large', `The screenshot is larger than ${limits.screenshotBytes} bytes.`, {
    hint,
  });
}
