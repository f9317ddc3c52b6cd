import type { ServerResponse } from 'node:http';
import { once } from 'node:events';
import { access } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import path from 'node:path';
import { describe } from '@jest/globals';
import axe from 'axe-core';
import { chromium, type Browser, type Page } from 'playwright-core';
import { ended, lango, makeHome, startServer, type Home, type Server } from '../cli/lango-process.js';
import { anthropicEvent, anthropicWire } from '../support/anthropic-wire.js';
import { freePort } from '../support/free-port.js';
import { API_KEY } from '../support/model-wire.js';
import { ScriptedServer, events, type RecordedRequest } from '../support/scripted-server.js';

export const TOKEN = 'console-5d1f0b93c7e2a846';
const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

const found = await Promise.all(
  CHROMIUM.map((place) =>
    access(place).then(
      () => [place],
      () => [],
    ),
  ),
);
const [executablePath] = found.flat();
if (!executablePath)
  console.warn('SKIPPED: the console in a browser, because no Chromium is installed here.');
export const describeConsole = executablePath ? describe : describe.skip;

/** The real program with a vendor that responds by the text of the request, and a real browser. */
export class Stage {
  readonly browser: Browser;
  readonly home: Home;
  readonly vendor: ScriptedServer;
  readonly #port: number;
  #server: Server;

  private constructor(parts: Pick<Stage, 'browser' | 'home' | 'vendor'>, port: number, server: Server) {
    this.browser = parts.browser;
    this.home = parts.home;
    this.vendor = parts.vendor;
    this.#port = port;
    this.#server = server;
  }

  /** `prepare` gets the data folder before the server starts; `more` ends its configuration. */
  static async open(
    auth = `{ token: ${TOKEN} }`,
    prepare: (folder: string) => void | Promise<void> = () => undefined,
    more = '',
  ): Promise<Stage> {
    const vendor = await ScriptedServer.open();
    vendor.willAlwaysReply(answer);
    const home = await makeHome(configOf(vendor.url, auth) + more);
    await prepare(home.folder);
    const port = await freePort();
    const server = await startServer(home, ['--port', String(port)]);
    const browser = await chromium.launch({ executablePath: executablePath!, args: ['--no-sandbox'] });
    return new Stage({ browser, home, vendor }, port, server);
  }

  get origin(): string {
    return this.#server.origin;
  }

  /** Kills the server with SIGKILL. Resolves once the process is gone. */
  async kill(): Promise<void> {
    const gone = ended(this.#server.child);
    this.#server.child.kill('SIGKILL');
    await gone;
  }

  /** Starts the server again at its former address. */
  async start(): Promise<void> {
    this.#server = await startServer(this.home, ['--port', String(this.#port)]);
  }

  /** The link that `lango console` prints. */
  async link(): Promise<string> {
    const { stdout } = await lango(['console', '--no-open'], { env: this.#server.env });
    return stdout.split('\n')[0]!;
  }

  /** A page of the console, signed in by the link of `lango console`. */
  async signedIn(options: Parameters<Browser['newContext']>[0] = {}): Promise<Page> {
    const context = await this.browser.newContext(options);
    const page = await context.newPage();
    await page.goto(await this.link());
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    return page;
  }

  /** A page of the console, signed in with this token of a person. */
  async signedInWith(token: string): Promise<Page> {
    const page = await (await this.browser.newContext()).newPage();
    await page.goto(`${this.origin}/console/`);
    await signIn(page, token);
    return page;
  }

  async close(): Promise<void> {
    await this.browser.close();
    await this.#server.stop();
    await this.home.remove();
    await this.vendor[Symbol.asyncDispose]();
  }
}

/** The configuration of a node whose models are those of the vendor at `url`. */
export function configOf(url: string, auth: string): string {
  const model = `{ provider: anthropic, name: claude-test, apiKey: ${API_KEY}, baseUrl: "${url}" }`;
  const prices = '{ claude-test: { input: 1000, output: 10000 } }';
  return `auth: ${auth}\nmodel: ${model}\ntools: { exec: { enabled: false } }\nprices: ${prices}\ndisk: { tasksMb: 64 }\n`;
}

export async function signIn(page: Page, token = TOKEN): Promise<void> {
  await page.getByLabel('Token', { exact: true }).fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
}

export async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message').fill(text);
  await page.getByRole('button', { name: 'Send', exact: true }).click();
}

/** A state as the page shows it: in words, with the icon of that state. */
export const state = (page: Page, words: string) =>
  page.locator('.state', { has: page.locator(`[data-icon="${words}"]`), hasText: words });

/** The serious faults that axe-core finds in the page. */
export async function seriousFaults(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  return page.evaluate<string[]>(
    `axe.run().then(({ violations }) => violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => id + ': ' + nodes[0].html))`,
  );
}

/** Writes pictures of a page into the folder of the variable SHOTS. */
export async function shot(page: Page, name: string): Promise<void> {
  const folder = process.env['SHOTS'];
  if (folder === undefined) return;
  const size = page.viewportSize();
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    for (const width of [360, 390, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      await page.waitForTimeout(150);
      const file = path.join(folder, `${name}-${colorScheme}-${width}.png`);
      await page.screenshot({ path: file, fullPage: true });
    }
  }
  if (size) await page.setViewportSize(size);
}

const HOSTILE = [
  '<script>window.hurt=1</script>',
  '<img src=x onerror="window.hurt=2">',
  '[go](javascript:window.hurt=3)',
  '![track](http://127.0.0.1:1/pixel.png)',
  `bidi \u202Etxt.exe`,
  'w'.repeat(5_000),
].join('\n\n');

export const STORY_PIECES = 40;

/** The last of the agents across nodes responds once a test lets it. */
export const endMayCome = Promise.withResolvers<void>();

/** The vendor's script: it delegates requests about files, and responds to the rest itself. */
export async function answer(response: ServerResponse, request: RecordedRequest): Promise<void> {
  const { messages, functions } = anthropicWire.sent(request.body);
  const asked = JSON.stringify(messages);
  const last = messages.at(-1) ?? '';
  const isRoot = functions.some(({ name }) => name === 'transfer_to_agent');
  const reply = (script: Parameters<typeof anthropicWire.answer>[0]) =>
    events(anthropicWire.answer(script))(response, request);
  const call = (name: string, input: object) =>
    reply({ calls: [{ id: 'c1', name, json: [JSON.stringify(input)] }], stop: 'function-calls' });
  if (last.includes('result')) return reply({ texts: ['All is **done**.'], stop: 'end' });
  if (asked.includes('story')) return tellStory(response);
  if (asked.includes('beyond') && isRoot && JSON.stringify(functions).includes('"lone"'))
    return call('transfer_to_agent', { agent_name: 'lone', request: 'go beyond', final: true });
  if (asked.includes('across nodes')) {
    const next = /"(middle|end)"/.exec(JSON.stringify(functions))?.[1];
    if (next !== undefined)
      return call('transfer_to_agent', { agent_name: next, request: 'go on across nodes', final: false });
    await endMayCome.promise;
    return reply({ texts: ['The end.'], stop: 'end' });
  }
  if (asked.includes('hostile')) return reply({ texts: [HOSTILE], stop: 'end' });
  if (!asked.includes('delete')) return reply({ texts: ['Hello, *you*.'], stop: 'end' });
  const [, path = 'old'] = /delete (\w+)/.exec(asked) ?? [];
  return isRoot
    ? call('transfer_to_agent', { agent_name: 'operator', request: `delete ${path}`, final: false })
    : call('fs_delete', { path, recursive: true });
}

async function tellStory(response: ServerResponse): Promise<void> {
  const whole = anthropicWire.answer({ texts: ['PIECE'], stop: 'end' });
  const piece = anthropicEvent({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'text_delta', text: 'PIECE' },
  });
  const [before = '', after = ''] = whole.split(piece);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(before);
  for (let number = 1; number <= STORY_PIECES && !response.destroyed; number += 1) {
    const text = `Part ${number} of the tale. `;
    response.write(piece.replace('PIECE', text));
    await sleep(60);
  }
  response.end(after);
  if (!response.destroyed) await once(response, 'close').catch(() => undefined);
}
