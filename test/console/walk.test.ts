import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Locator, Page } from 'playwright-core';
import { makeHome, startServer, type Home, type Server } from '../cli/lango-process.js';
import { anthropicEvent, anthropicWire } from '../support/anthropic-wire.js';
import { freePort } from '../support/free-port.js';
import { events, type RecordedRequest } from '../support/scripted-server.js';
import { writePast } from './past.js';
import { answer, configOf, describeConsole, seriousFaults, shot, Stage, state, TOKEN } from './stage.js';

/** The most that parts of a page may jump without a click, as Web Vitals count it: up to here it is called good. */
const MOST_SHIFTED = 0.1;
const NOTE_SHIFTS = `
  window.shifted = 0;
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) shifted += value;
  }).observe({ type: 'layout-shift', buffered: true });`;
/** The clicks that a job may take from the first page. */
const MOST_CLICKS = 3;
const ROOT = 'lango-orchestrator';
const FRUITS = ['Apples: they keep longest.', 'Pears: they are the sweetest.'];
const SLOW_MS = 3_000;
const CONFIG = 'node: { name: loom }\negress: { allowPrivate: [127.0.0.1] }\n';
const PAST = {
  ...{ failed: 'fetch the prices of wool', why: 'The model cannot be reached (ECONNREFUSED).' },
  model: 'anthropic/claude-small',
};

let stage: Stage;
let page: Page;
let far: Readonly<{ home: Home; server: Server }>;
let clicks = 0;
let fruits = 0;
const faults: string[] = [];
/** The second half of the long tale comes once it is resolved. */
const taleMayEnd = Promise.withResolvers<void>();

const reply = (script: Parameters<typeof anthropicWire.answer>[0]) => events(anthropicWire.answer(script));

/** A vendor that answers the same question in two ways, is slow on another node, and tells a tale with a long pause. */
async function vendor(response: ServerResponse, request: RecordedRequest): Promise<void> {
  const { messages, functions } = anthropicWire.sent(request.body);
  const asked = JSON.stringify(messages);
  const last = messages.at(-1) ?? '';
  const names = JSON.stringify(functions);
  if (last.includes('a long tale')) return tellTale(response);
  if (last.includes('which fruit'))
    return reply({ texts: [FRUITS[fruits++ % 2]!], stop: 'end' })(response, request);
  if (asked.includes('weigh the wool') && names.includes('mill') && !last.includes('result')) {
    const given = { agent_name: 'mill', request: 'weigh the wool', final: false };
    const call = { id: 'c1', name: 'transfer_to_agent', json: [JSON.stringify(given)] };
    return reply({ calls: [call], stop: 'function-calls' })(response, request);
  }
  if (asked.includes('weigh the wool') && !names.includes('mill')) await sleep(SLOW_MS);
  return answer(response, request);
}

async function tellTale(response: ServerResponse): Promise<void> {
  const delta = (text: string) =>
    anthropicEvent({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } });
  const [before = '', after = ''] = anthropicWire
    .answer({ texts: ['PIECE'], stop: 'end' })
    .split(delta('PIECE'));
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(before + delta('Once upon a time there was a weaver. '));
  await taleMayEnd.promise;
  response.end(delta('And so it ended.') + after);
}

const headers = {
  authorization: `Bearer ${TOKEN}`,
  'content-type': 'application/json',
  'A2A-Version': '1.0',
};

async function send(text: string, isAwaited = true): Promise<void> {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] };
  const params = { message, configuration: { returnImmediately: !isAwaited } };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params });
  const response = await fetch(`${stage.origin}/agents/${ROOT}`, { method: 'POST', headers, body });
  expect(await response.json()).toMatchObject({ result: { task: {} } });
}

/** A node of its own for the remote agent "mill". */
async function startMill(): Promise<void> {
  const home = await makeHome(
    `${configOf(stage.vendor.url, `{ token: ${TOKEN} }`)}node: { name: mill-house }\n`,
  );
  far = { home, server: await startServer(home, ['--port', String(await freePort())]) };
  const mill = { name: 'mill', url: `${far.server.origin}/agents/planner`, token: TOKEN, allowPrivate: true };
  const response = await fetch(`${stage.origin}/lango/agents`, {
    ...{ method: 'POST', headers, body: JSON.stringify(mill) },
  });
  expect(response.status).toBe(200);
}

async function click(target: Locator): Promise<void> {
  clicks += 1;
  await target.click();
}

const view = (name: string) => page.getByLabel('Views').getByRole('link', { name });
const panel = (name: string) => page.locator('.panel', { has: page.getByRole('heading', { name }) });

describeConsole('a walk of ten jobs, each from the first page', () => {
  beforeAll(async () => {
    stage = await Stage.open(undefined, (folder) => writePast(folder, PAST), CONFIG);
    stage.vendor.willAlwaysReply(vendor);
    await startMill();
    await Promise.all([send('which fruit keeps best'), send('weigh the wool')]);
    await send('which fruit keeps best');
    await send('please delete old');
    await send('tell a long tale', false);
    page = await stage.signedIn();
    page.on('pageerror', (error) => faults.push(error.message));
  });
  beforeEach(async () => {
    clicks = 0;
    await page.goto(`${stage.origin}/console/#/`);
    await page.getByLabel('Figures').waitFor();
  });
  afterEach(async () => {
    await shot(page, `walk-${expect.getState().currentTestName!.split(' ').slice(-2).join('-')}`);
    expect(clicks).toBeLessThanOrEqual(MOST_CLICKS);
    expect(await seriousFaults(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    expect(faults).toEqual([]);
  });
  afterAll(async () => {
    taleMayEnd.resolve();
    await stage?.close();
    await far?.server.stop();
    await far?.home.remove();
  });

  it('finds what failed last night, and why', async () => {
    await panel('Errors').getByText('model-unreachable').waitFor();
    await click(panel('Errors').getByRole('link', { name: 'fetch the prices of wool' }));
    await page.getByText('The model cannot be reached (ECONNREFUSED).').waitFor();
    await state(page, 'failed').waitFor();
  });

  it('shows which node is slow', async () => {
    await click(view('Map'));
    await page.getByRole('row', { name: /mill/ }).waitFor();
    const [first] = await page.locator('tbody tr').allInnerTexts();
    expect(first).toMatch(/lango-orchestrator\s+mill\s+mill-house\s+1\s+0\s+[3-9]\.\d s/);
  });

  it('shows what cost most, of all and yesterday', async () => {
    await panel('Cost most')
      .getByRole('link', { name: /sort the letters|which fruit|weigh/ })
      .first()
      .waitFor();
    await click(view('Bill'));
    await click(page.getByRole('row').getByRole('button').nth(1));
    await page.getByRole('row', { name: /^lango-orchestrator .* USD$/ }).waitFor();
  });

  it('compares two answers', async () => {
    await click(view('Tasks'));
    await click(page.getByRole('link', { name: /which fruit/ }).first());
    await click(page.getByRole('link', { name: 'compare' }));
    const comparison = page.getByLabel('Comparison');
    for (const text of FRUITS) await comparison.getByText(text).waitFor();
  });

  it('tries a remote agent', async () => {
    await panel('Remote agents')
      .getByRole('listitem')
      .filter({ hasText: /^loom\s+this node · 7 agents$/ })
      .waitFor();
    await click(panel('Remote agents').getByRole('link', { name: 'mill' }));
    await click(page.getByLabel('mill', { exact: true }).getByRole('link', { name: /^Try it/ }));
    await page.getByLabel('Message').fill('weigh the wool');
    await page.getByLabel('Message').press('Enter');
    await page.getByText('All is done.').waitFor();
  });

  it('shows what the model was sent at a turn', async () => {
    await click(view('Tasks'));
    await click(page.getByRole('link', { name: /weigh the wool/ }).first());
    await click(page.getByRole('link', { name: 'requests' }));
    await page.getByText('It is the request that was sent').waitFor();
  });

  it('finds a word of an answer in an old conversation, and who asked whom', async () => {
    await click(view('Tasks'));
    await page.getByLabel('Search').fill('sweetest');
    await page.getByText('Pears: they are the sweetest.').waitFor();
    await page.getByLabel('Search').fill('weigh the wool');
    await click(page.getByRole('link', { name: /weigh the wool/ }).first());
    await click(page.getByRole('link', { name: 'tree' }));
    await page.getByRole('listitem').getByText('mill', { exact: false }).first().waitFor();
  });

  it('loads each page of the menu without a jump', async () => {
    const narrow = await page.context().newPage();
    await narrow.setViewportSize({ width: 390, height: 800 });
    await narrow.addInitScript(NOTE_SHIFTS);
    const links = await view('').all();
    for (const place of await Promise.all(links.map((one) => one.getAttribute('href')))) {
      await narrow.goto('about:blank');
      await narrow.goto(`${stage.origin}/console/${place}`);
      await narrow.waitForLoadState('networkidle');
      const shifted = await narrow.evaluate('window.shifted');
      expect([place, shifted]).toEqual([place, expect.any(Number)]);
      expect([place, (shifted as number) < MOST_SHIFTED]).toEqual([place, true]);
    }
    await narrow.close();
  });

  it('approves what waits', async () => {
    await click(panel('Waiting for you').getByRole('link', { name: 'please delete old' }));
    await page.getByText('"path": "old"').waitFor();
    await click(page.getByRole('button', { name: 'Approve' }));
    await click(page.getByRole('button', { name: 'Really approve fs_delete' }));
    await state(page, 'completed').waitFor();
  });

  it('follows a long task from a phone, and stops it to send it again changed', async () => {
    await page.setViewportSize({ width: 390, height: 800 });
    await click(panel('Running').getByRole('link', { name: 'tell a long tale' }));
    await page.getByText('Once upon a time').waitFor();
    await shot(page, 'walk-phone');
    await click(page.getByRole('button', { name: 'Stop, edit and send again' }));
    await state(page, 'canceled').waitFor();
    await page.getByLabel('Message').fill('which fruit keeps best');
    await click(page.getByRole('button', { name: 'Send', exact: true }));
    await page.getByText(/Apples|Pears/).waitFor();
  });
});
