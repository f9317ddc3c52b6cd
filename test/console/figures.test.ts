import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { status } from '../support/scripted-server.js';
import { writePast } from './past.js';
import { describeConsole, seriousFaults, shot, Stage, TOKEN } from './stage.js';

const HOSTILE = '<img src=x onerror="window.hurt=1">\u202Etxt';

let stage: Stage;
let page: Page;
const faults: string[] = [];

const go = (place: string) => page.evaluate(`void (location.hash = ${JSON.stringify(place)})`);

const fill = (folder: string) => writePast(folder, { failed: HOSTILE, why: HOSTILE, model: HOSTILE });

describeConsole('what the console draws', () => {
  beforeAll(async () => {
    stage = await Stage.open(
      undefined,
      fill,
      'node: { name: loom }\nagent: { limits: { ownerCostPerDay: 4 } }\negress: { allowPrivate: [127.0.0.1] }\n',
    );
    page = await stage.signedIn();
    page.on('pageerror', (error) => faults.push(error.message));
    page.on('console', (line) => {
      if (/Content Security|Trusted/.test(line.text())) faults.push(line.text());
    });
  });
  afterAll(() => stage?.close());

  it('begins with an overview of what failed, how long tasks took and what they cost', async () => {
    await page.getByRole('link', { name: /^Failed 3/ }).waitFor();
    await page.getByRole('img', { name: /^Tokens: anthropic\/claude-large/ }).waitFor();
    await page.locator('.plot canvas').nth(2).waitFor();
    expect(await page.locator('.tiles').innerText()).toMatch(/Time of a task\s+[\d.]+ s\s+p95 [\d.]+ s/);
    expect(await page.locator('.panel').filter({ hasText: 'Errors' }).innerText()).toMatch(
      /model-unreachable .* took [\d.]+ s/s,
    );
    await shot(page, 'overview');
    expect(await seriousFaults(page)).toEqual([]);
    await page.setViewportSize({ width: 360, height: 800 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
    await page.getByLabel(/^Of/).selectOption('168');
    await page.getByRole('link', { name: /^Failed 5/ }).waitFor();
    await page
      .getByRole('link', { name: /onerror/ })
      .first()
      .click();
    await page.getByText('failed').first().waitFor();
    expect(await page.evaluate('window.hurt')).toBeUndefined();
    expect(faults).toEqual([]);
  });

  it('draws who asks whom, with rates, times and failures, and names its node', async () => {
    await page.setViewportSize({ width: 1280, height: 800 });
    await go('#/map');
    await page.getByLabel('Agents and who asks them').getByText('◆ operator').waitFor();
    await page.getByText('loom (this one)').waitFor();
    expect(await page.locator('.graph').innerHTML()).toMatch(
      /operator.*lango-orchestrator|lango-orch.*operator/s,
    );
    await page.getByRole('row', { name: /people lango-orchestrator loom \d+ \d 2\.\d s/ }).waitFor();
    await shot(page, 'map');
    expect(await seriousFaults(page)).toEqual([]);
    expect(faults).toEqual([]);
  });

  it('draws the knowledge graph around a name, with its sources, and moves to a neighbor', async () => {
    const triple = (subject: string, predicate: string, object: string) => ({
      ...{ subject, predicate, object, sources: [`learned of ${subject}`], at: 0, fromOutside: false },
    });
    const items = [
      triple('loom', 'depends on', HOSTILE),
      triple('mill', 'feeds', 'loom'),
      triple('a', 'b', 'c'),
    ];
    await page.route('**/lango/data/graph*', (route) => route.fulfill({ json: { items } }));
    await go('#/data/graph');
    await page.getByLabel('Search a name').fill('loo');
    const graph = page.getByLabel('Around loom');
    await graph.getByRole('button', { name: '<img src=x onerror' }).waitFor();
    await shot(page, 'graph');
    expect(await seriousFaults(page)).toEqual([]);
    await graph.getByRole('button', { name: 'mill' }).click();
    await page.getByLabel('Around mill').locator('text', { hasText: 'feeds' }).waitFor();
    await page.getByText('1 triple of it with').click();
    await page.getByText('learned of mill').waitFor();
    expect(await page.evaluate('window.hurt')).toBeUndefined();
    expect(faults).toEqual([]);
  });

  it('draws the bill over days with the limit of a day, and exports it for tables', async () => {
    await go('#/bill');
    await page.getByRole('img', { name: /^Money in USD by model: anthropic\/claude-large/ }).waitFor();
    await page.getByText('limit 4, dashed').waitFor();
    await page.locator('.plot canvas').nth(1).waitFor();
    await shot(page, 'bill-charts');
    expect(await seriousFaults(page)).toEqual([]);
    await page.setViewportSize({ width: 360, height: 800 });
    expect(await page.evaluate("getComputedStyle(document.querySelector('tbody tr')).display")).toBe('grid');
    expect(await page.locator('tbody td').nth(1).getAttribute('data-name')).toBe('In');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByLabel(/^By/).selectOption('agent');
    await page.getByRole('img', { name: /^Tokens by agent: lango-orchestrator/ }).waitFor();
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export CSV' }).click(),
    ]);
    const [head, ...lines] = (await readFile(await saved.path(), 'utf8')).split('\r\n');
    expect(head).toBe('day,owner,node,agent,model,input,output,cached,written,cost,currency,nodeId');
    expect(lines.some((line) => line.includes(',"<img src=x onerror=""window.hurt=1"">'))).toBe(true);
    expect(faults).toEqual([]);
  });

  it('calls an agent in both versions, and names what a frame violates', async () => {
    await go('#/inspector');
    await page.getByLabel('Address of an agent').fill(`${stage.origin}/agents/lango-orchestrator`);
    await page.getByLabel(/^Its token/).fill(TOKEN);
    await page.getByRole('button', { name: 'Read its card' }).click();
    await page.getByLabel('Its card').getByText('Nothing is wrong with its card.').waitFor();
    await page.getByLabel('Operation').selectOption('SendStreamingMessage');
    for (const [version, transport] of [
      ['1.0', 'JSONRPC'],
      ['1.0', 'HTTP+JSON'],
      ['0.3', 'JSONRPC'],
    ] as const) {
      await page.getByRole('button', { name: `${transport} ${version} at` }).click();
      await page.getByRole('button', { name: 'Call it' }).click();
      await page.getByText(/Status 200, \d+ frames, ✓ as specified/).waitFor();
      await page
        .getByText(version === '1.0' ? '"TASK_STATE_COMPLETED"' : '"completed"')
        .first()
        .waitFor();
    }
    await shot(page, 'inspector');
    expect(await seriousFaults(page)).toEqual([]);
    expect(await page.locator('main').innerText()).not.toContain(TOKEN);
    await page.getByLabel('Address of an agent').fill(`${stage.vendor.url}/agents/far`);
    stage.vendor.willReply(status(200, { jsonrpc: '2.0', id: 1, result: { kind: HOSTILE } }));
    await page.getByRole('button', { name: 'Call it' }).click();
    await page.getByText(/✕ result\.kind:/).waitFor();
    expect(await page.evaluate('window.hurt')).toBeUndefined();
    await page.setViewportSize({ width: 360, height: 800 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
    expect(faults).toEqual([]);
  });
});
