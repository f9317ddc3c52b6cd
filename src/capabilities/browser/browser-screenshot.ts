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
const PART = 'Part: only the upper part of the page, which is higher than tools.browser.screenshotHeight';

/** Tries the formats until the file is small enough. Rejects with `too-large` when none is. */
export async function screenshot(session: Session, { fullPage }: Steps['screenshot']): Promise<ToolOutput> {
  const { page, limits } = session;
  const { width, height } = await session.call('info');
  const shown = fullPage ? Math.min(Math.max(height, 1), limits.screenshotHeight) : undefined;
  const clip = shown === undefined ? {} : { fullPage: true, clip: { x: 0, y: 0, width, height: shown } };
  for (const format of FORMATS) {
    const shot = page.screenshot({ ...FIXED, ...clip, ...format });
    const bytes = await session.withTimeout(shot, 2 * SHOT_MS);
    if (bytes.length > limits.screenshotBytes) continue;
    const filename = `screenshot.${format.type === 'png' ? 'png' : 'jpg'}`;
    const facts = [`Screenshot: ${filename}, ${bytes.length} bytes`];
    if (shown !== undefined && shown < height) facts.push(PART);
    const content = await describePage(session, facts);
    const mediaType = `image/${format.type}`;
    return { content, files: [{ kind: 'file', bytes: bytes.toString('base64'), mediaType, filename }] };
  }
  const advice = fullPage ? 'Take one without fullPage' : 'Read the page with browser_extract';
  const hint = `${advice}, or raise tools.browser.screenshotBytes.`;
  throw new LangoError('too-large', `The screenshot is larger than ${limits.screenshotBytes} bytes.`, {
    hint,
  });
}
