import type { Request } from 'playwright-core';
import { pause } from '../../core/time.js';
import type { Session } from './session.js';
import { describeElement } from './browser-read.js';

/** A page has settled when it loaded nothing and changed nothing for this time. */
const QUIET_MS = 300;
const POLL_MS = 50;
/** After this time, the page is described even if it is not quiet. */
const SETTLE_MAX_MS = 5_000;
/** Types of requests that stay open or change nothing visible. */
const ENDLESS = new Set(['eventsource', 'websocket', 'media', 'ping']);

const BUSY = 'Loading: the page was not quiet in time; this is what it shows now';

/** Resolves with the facts of the action once the page is quiet, or after the time of a navigation, which is a fact then. */
export async function untilQuiet(
  session: Session,
  action: () => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const { page, limits } = session;
  const open = new Set<Request>();
  let loadedAt = 0;
  const begin = (request: Request): void => {
    if (!ENDLESS.has(request.resourceType())) open.add(request);
  };
  const end = (request: Request): void => {
    if (open.delete(request)) loadedAt = Date.now();
  };
  const isOfDocument = (request: Request) =>
    request.isNavigationRequest() && request.frame() === page.mainFrame();
  page.on('request', begin).on('requestfinished', end).on('requestfailed', end);
  try {
    const facts = await action();
    const start = Date.now();
    for (;;) {
      await pause(POLL_MS);
      const navigationMs = [...open].some(isOfDocument) ? 1_000 * limits.navigationSeconds : 0;
      const longestMs = Math.max(navigationMs, SETTLE_MAX_MS);
      if (session.hasEnded || Date.now() - start >= longestMs) return [...facts, BUSY];
      const isLoaded = open.size === 0 && Date.now() - Math.max(start, loadedAt) >= QUIET_MS;
      // The call fails also while another document replaces this one.
      if (isLoaded && (await session.call('stillFor').catch(() => 0)) >= QUIET_MS) return facts;
    }
  } finally {
    page.off('request', begin).off('requestfinished', end).off('requestfailed', end);
  }
}

/** The visible state of a page: its address, its lines of text and its elements by number. */
export interface PageState {
  readonly url: string;
  /** The number of the document. */
  readonly page: number;
  readonly lines: ReadonlySet<string>;
  readonly elements: ReadonlyMap<number, string>;
}

const TEXT_SEEN = 100_000;
const ELEMENTS_SEEN = 1_000;
const LINE_CHARACTERS = 200;
const LINES_SHOWN = 30;

export async function readPageState(session: Session): Promise<PageState> {
  const page = await session.documentNumber();
  const { text } = await session.call('text', 0, TEXT_SEEN);
  const { elements } = await session.call('observe', 0, ELEMENTS_SEEN);
  const lines = text.split('\n').map((line) => line.trim().slice(0, LINE_CHARACTERS));
  return {
    url: session.page.url(),
    page,
    lines: new Set(lines.filter((line) => line !== '')),
    elements: new Map(elements.map((one) => [one.number, describeElement(one, page)])),
  };
}

/** Describes the differences between two states of one document, one a line. Empty when nothing changed. */
export function differences(before: PageState, after: PageState): readonly string[] {
  const elements = [...after.elements].flatMap(([number, now]) => {
    const was = before.elements.get(number);
    return was === now ? [] : [`${was === undefined ? 'new' : 'now'}: ${now}`];
  });
  const gone = [...before.elements].flatMap(([number, was]) =>
    after.elements.has(number) ? [] : [`gone: ${was}`],
  );
  const lines = [
    ...without(after.lines, before.lines).map((line) => `+ ${line}`),
    ...elements,
    ...gone,
    ...without(before.lines, after.lines).map((line) => `- ${line}`),
  ];
  const left = lines.length - LINES_SHOWN;
  return left > 0 ? [...lines.slice(0, LINES_SHOWN), `${left} more changes; call browser_observe`] : lines;
}

function without(lines: ReadonlySet<string>, others: ReadonlySet<string>): readonly string[] {
  return [...lines].filter((line) => !others.has(line));
}
