import { once } from 'node:events';
import { access } from 'node:fs/promises';
import type { RequestListener, Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readdir, readFile } from 'node:fs/promises';
import { describe } from '@jest/globals';
import type { ToolContext, ToolOutput } from '../../../src/core/tool.js';
import { silentLogger } from '../../../src/core/logger.js';
import { openBrowsingProxy } from '../../../src/http/browsing-proxy.js';
import type { BrowserOptions } from '../../../src/capabilities/browser/browser.js';
import { createBrowser, findChromium } from '../../../src/capabilities/browser/browser.js';
import { callerOf } from '../../support/tool-call.js';
import { PARSERS } from '../../support/parsers.js';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Detected without our code: on a machine with Chromium, it is a failure when our family finds none. */
async function hasChromium(): Promise<boolean> {
  const found = await Promise.all(
    PLACES.map((place) =>
      access(place).then(
        () => true,
        () => false,
      ),
    ),
  );
  return found.includes(true);
}

const isPossible = await hasChromium();
if (!isPossible) console.warn('SKIPPED: every test of the browser, because no Chromium is installed here.');

export const describeBrowsing = isPossible ? describe : describe.skip;

const LIMITS: BrowserOptions['limits'] = {
  navigationSeconds: 60,
  idleSeconds: 300,
  contexts: 3,
  pageBytes: 8 * 1024 * 1024,
  textCharacters: 2_000,
  elements: 20,
  screenshotBytes: 180_000,
  screenshotHeight: 3_000,
};

export interface Stage {
  readonly family: ReturnType<typeof createBrowser>;
  call(name: string, input?: object, changes?: Partial<ToolContext>): Promise<ToolOutput>;
  /** The text that a model gets. */
  say(name: string, input?: object, changes?: Partial<ToolContext>): Promise<string>;
  close(): Promise<void>;
}

type Changes = Partial<Omit<BrowserOptions, 'limits'>> & {
  readonly limits?: Partial<BrowserOptions['limits']>;
  /** Hosts with a private address that may be opened. */
  readonly allow?: readonly string[];
};

/** The family over the real Chromium and the real proxy. */
export async function openStage({ allow = [], limits: some, ...changes }: Changes = {}): Promise<Stage> {
  const limits = { ...LIMITS, ...some };
  const family = createBrowser({
    chromium: await findChromium({ sandbox: true, path: '' }),
    openProxy: (onFailure) =>
      openBrowsingProxy({ allowPrivate: allow, maxBytes: limits.pageBytes, onFailure }),
    logger: silentLogger,
    parsers: PARSERS,
    ...changes,
    limits,
  });
  const caller = callerOf(family.tools);
  const call: Stage['call'] = (name, input = {}, context = {}) => caller(`browser_${name}`, input, context);
  return {
    family,
    call,
    say: async (name, input, context) => (await call(name, input, context)).content as string,
    close: () => family.close(),
  };
}

export interface Site {
  /** "127.0.0.1:PORT" */
  readonly host: string;
  readonly origin: string;
  readonly server: Server;
  /** The requested paths, in order. */
  readonly asked: string[];
  close(): Promise<void>;
}

export type Pages = Readonly<Record<string, string | RequestListener>>;

/** A web site on loopback: pages by path, as HTML or as a function that responds. */
export async function openSite(pages: Pages): Promise<Site> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://x').pathname;
    asked.push(path);
    const page = pages[path];
    if (typeof page === 'function') return void page(request, response);
    if (page === undefined) return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    host,
    origin: `http://${host}`,
    server,
    asked,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** The running processes whose command line holds `text`. */
async function processesWith(text: string): Promise<number[]> {
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    ids.map(async (id) => {
      const line = await readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '');
      return line.includes(text) && Number(id) !== process.pid ? [Number(id)] : [];
    }),
  );
  return found.flat();
}

/** The processes of this one that drive browsers. */
export async function ownDrivers(): Promise<number[]> {
  const drivers = await processesWith('driver-entry');
  const isOwn = async (pid: number): Promise<boolean> => {
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    return status.includes(`PPid:\t${process.pid}\n`);
  };
  const own = await Promise.all(drivers.map(isOwn));
  return drivers.filter((_, index) => own[index]);
}

/** The browsers that this process started. */
export const ownBrowsers = (pid = process.pid) => processesWith(`/lango-browser-${pid}-`);
