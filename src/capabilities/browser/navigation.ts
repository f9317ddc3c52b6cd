import type { Page, Request, Response } from 'playwright-core';
import { LangoError, errorText } from '../../core/errors.js';
import { pause } from '../../core/time.js';
import type { ToolOutput } from '../../core/tool.js';
import { describePage } from './browser-read.js';
import type { Steps } from './driver-messages.js';
import { untilQuiet } from './page-change.js';
import type { Session } from './session.js';

/** Maximum wait for images and scripts after the document is parsed. */
const SUBRESOURCES_MS = 5_000;
const ATTEMPTS_MAX = 5;
const PAUSE_MS = 50;
const PREVIEW_CHARACTERS = 1_000;
const LINKS_READ = 500;
const OTHER_SCHEME = /^(?!https?:\/\/)([a-z][a-z0-9+.-]*:(?!\d{1,5}(?:[/?#]|$))|[a-z][a-z0-9+.-]*:\/\/)/i;

/** Parses an address as a person writes it; without a scheme the scheme is https. Throws `invalid-input`. */
export function parseAddress(given: string): URL {
  const text = given.trim();
  const whole = /^https?:\/\//i.test(text) ? text : `https://${text}`;
  if (OTHER_SCHEME.test(text) || !URL.canParse(whole))
    throw new LangoError('invalid-input', `url: "${given.slice(0, 200)}" is not an http:// or https:// URL.`);
  const url = new URL(whole);
  if (url.username !== '' || url.password !== '')
    throw new LangoError('invalid-input', 'url: the URL must not contain a user name or password.');
  return url;
}

export async function navigate(session: Session, { url }: Steps['navigate']): Promise<ToolOutput> {
  const facts = await untilQuiet(session, () => goTo(session, new URL(url)));
  const { text } = await session.call('text', 0, PREVIEW_CHARACTERS);
  return { content: await describePage(session, facts, text) };
}

export async function search(session: Session, { url, limit }: Steps['search']): Promise<ToolOutput> {
  const address = new URL(url);
  const facts = await untilQuiet(session, () => goTo(session, address));
  const { links } = await session.call('links', 0, LINKS_READ);
  const results = links.filter((link) => link.text !== '' && new URL(link.url).host !== address.host);
  const lines = results.slice(0, limit).map((link, index) => `${index + 1}. ${link.text}\n   ${link.url}`);
  return { content: await describePage(session, facts, lines.join('\n') || '(no results)') };
}

/** Opens the address in the page and resolves with facts about the load. Rejects with errors written for a model. */
async function goTo(session: Session, url: URL): Promise<readonly string[]> {
  const { page, notes, server, limits } = session;
  const { navigationSeconds: seconds } = limits;
  notes.clear();
  await server.renewProxy();
  using trail = trackNavigation(page, url);
  const limit = 1_000 * seconds;
  const until = Date.now() + limit;
  try {
    const response = await session.withTimeout(startNavigation(page, url, limit), limit + SUBRESOURCES_MS);
    await assertPublicTarget(session, trail.target);
    const status = response === null ? [] : [`Status: ${response.status()}`];
    const isWhole = await waitUntilLoaded(page, Math.max(until - Date.now(), 1), trail.failed.signal);
    if (isWhole) return status;
    await session.stopLoading();
    return [...status, 'Loading: the page did not load completely; this is the part that arrived'];
  } catch (error) {
    if (session.hasEnded) throw error;
    await session.stopLoading();
    await assertPublicTarget(session, trail.target);
    throw navigationError(error, trail.target, seconds);
  }
}

/**
 * Starts a navigation, with retries. After a failure, Chromium shows its own error page, which may arrive so late that it
 * interrupts the next navigation. The failed navigation itself may also interrupt its repetition.
 */
async function startNavigation(page: Page, url: URL, timeout: number): Promise<Response | null> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await page.goto(url.href, { timeout, waitUntil: 'commit' });
    } catch (error) {
      const end = /interrupted by another navigation to "([^"]*)"/.exec(errorText(error))?.[1];
      const isLate = end !== undefined && (end.startsWith('chrome-error:') || end === url.href);
      if (!isLate || attempt === ATTEMPTS_MAX) throw error;
      await pause(PAUSE_MS * attempt);
    }
  }
}

/** Tracks a navigation through its redirects, until it is disposed. `failed` aborts when the document fails to load. */
function trackNavigation(page: Page, url: URL) {
  const isDocument = (request: Request) =>
    request.isNavigationRequest() && request.frame() === page.mainFrame();
  const onRequest = (request: Request): void => {
    if (isDocument(request)) trail.target = request.url();
  };
  const onFailed = (request: Request): void => {
    if (isDocument(request)) trail.failed.abort();
  };
  const trail = {
    target: url.href,
    failed: new AbortController(),
    [Symbol.dispose]: () => void page.off('request', onRequest).off('requestfailed', onFailed),
  };
  page.on('request', onRequest).on('requestfailed', onFailed);
  return trail;
}

/** Resolves with whether the document loaded completely. Images and scripts may still be loading. */
async function waitUntilLoaded(page: Page, ms: number, failed: AbortSignal): Promise<boolean> {
  try {
    await page.waitForLoadState('domcontentloaded', { timeout: ms, signal: failed });
  } catch {
    return false;
  }
  await page.waitForLoadState('load', { timeout: SUBRESOURCES_MS }).catch(() => undefined);
  return true;
}

async function assertPublicTarget(session: Session, target: string): Promise<void> {
  const host = hostOf(target);
  await session.readFailures();
  if (session.notes.failureOf(host) !== 'private') return;
  const problem = `${host} has a private or loopback address, which the browser must not open.`;
  const hint = `To allow it, add "${host}" to tools.browser.allowHosts.`;
  throw new LangoError('forbidden', problem, { hint });
}

function hostOf(target: string): string {
  const url = new URL(target);
  return `${url.hostname}:${url.port || (url.protocol === 'https:' ? '443' : '80')}`;
}

const CAUSES: readonly (readonly [RegExp, (host: string) => string])[] = [
  [/Download is starting/, () => 'The address is a download, and the browser refuses downloads.'],
  [/ERR_TOO_MANY_REDIRECTS/, (host) => `${host} redirects without end.`],
  [/ERR_CERT|ERR_SSL/, (host) => `The certificate of ${host} is not valid.`],
  [/ERR_TUNNEL|ERR_CONNECTION|ERR_NAME|ERR_ADDRESS|ERR_PROXY/, (host) => `${host} cannot be reached.`],
  [/ERR_HTTP_RESPONSE_CODE/, (host) => `${host} responded with an error status and no page.`],
  [/ERR_EMPTY_RESPONSE|ERR_INVALID_HTTP/, (host) => `${host} sent no valid HTTP response.`],
  [/ERR_(UNSAFE_PORT|DISALLOWED)/, (host) => `Browsers refuse to open the port of ${host}.`],
];

function navigationError(error: unknown, target: string, seconds: number): LangoError {
  const text = errorText(error);
  const host = hostOf(target);
  if (/Timeout \d+ms exceeded/.test(text))
    return new LangoError('timeout', `${host} did not send the page within ${seconds} s.`, { cause: error });
  const [, say] = CAUSES.find(([pattern]) => pattern.test(text)) ?? [];
  const [code = 'no reason given'] = /net::\w+/.exec(text) ?? [];
  const message = say?.(host) ?? `The page at ${host} could not be opened (${code}).`;
  return new LangoError('unavailable', message, { cause: error });
}
