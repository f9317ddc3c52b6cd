import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { silentLogger } from '../../src/core/logger.js';
import { openSqliteStorage } from '../../src/storage/sqlite/storage.js';
import { acceptOne, delta, fenceOf, message, runEnd, RUN_START } from '../suites/task-store-fixtures.js';
import type { NewEvent } from '../../src/core/task.js';
import type { TaskStore } from '../../src/stores/tasks.js';
import { describeConsole, Stage } from './stage.js';

jest.setTimeout(180_000);

const TASKS = 10_000;
const EVENTS = 10_000;
const OWN = { agent: 'lango-orchestrator', scope: { tenant: '', owner: 'default' }, lease: 'w' };

let stage: Stage;
let page: Page;

/** Writes many tasks, and one task of many events, with the stores of the server. */
async function fill(folder: string): Promise<void> {
  const file = path.join(folder, 'lango.db');
  const storage = openSqliteStorage({ file, synchronous: 'normal', logger: silentLogger });
  const store = storage.tasks;
  // Two of them are long ones.
  const plain = TASKS - 2;
  for (let number = 1; number <= plain; number += 500) {
    const batch = Array.from({ length: Math.min(500, plain - number + 1) }, async (_, index) => {
      const task = await acceptOne(store, { ...OWN, message: message(`request ${number + index}`) });
      await store.append(fenceOf(task), [RUN_START, runEnd('completed')]);
    });
    await Promise.all(batch);
  }
  await writeLong(store, 'the long one', (number) => delta(`piece ${number} `));
  await writeLong(store, 'the wide one', (number) => ({
    author: OWN.agent,
    body: { type: 'turn-start', step: `t${number}` },
  }));
  await storage.close();
}

/** Writes a task of `EVENTS` events. */
async function writeLong(store: TaskStore, text: string, eventAt: (number: number) => NewEvent) {
  const task = await acceptOne(store, { ...OWN, message: message(text) });
  await store.append(fenceOf(task), [RUN_START]);
  for (let written = 3; written < EVENTS; written += 100) {
    const count = Math.min(100, EVENTS - written);
    const events = Array.from({ length: count }, (_, index) => eventAt(written + index));
    await store.append(fenceOf(task), events);
  }
  await store.append(fenceOf(task), [runEnd('completed')]);
}

/** Runs `act` in the page. Resolves with the milliseconds until `isDone` held in a frame. */
async function timed(act: string, isDone: string): Promise<number> {
  return page.evaluate(`new Promise((resolve) => {
    const begun = performance.now();
    const look = () => requestAnimationFrame(() => (${isDone}) ? resolve(performance.now() - begun) : look());
    ${act};
    look();
  })`);
}

describeConsole('the console with large data', () => {
  beforeAll(async () => {
    stage = await Stage.open(undefined, fill);
    page = await stage.signedIn({ bypassCSP: true });
  });
  afterAll(() => stage?.close());

  it('lists ten thousand tasks with only the visible ones in the page', async () => {
    const paint = await page.evaluate<number>(
      "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1",
    );
    const first = await timed("location.hash = '#/tasks'", "document.querySelectorAll('.row').length > 5");
    let longest = 0;
    for (let known = 0; known < TASKS;) {
      const bottom = "document.querySelector('.rows').scrollTop = 1e9";
      longest = Math.max(longest, await timed(bottom, "document.querySelector('.rows li:last-child .row')"));
      expect(await page.locator('.rows li').count()).toBeLessThan(100);
      known = await page.evaluate("Number(document.querySelector('.rows li')?.getAttribute('aria-setsize'))");
    }
    await page.getByText('10,000 tasks, newest first.').waitFor();
    await page.getByLabel('Search').fill('request 777');
    await page.getByText('11 of 10,000 tasks match').waitFor();
    const ms = [paint, first, longest].map(Math.round);
    console.info(`first paint ${ms[0]} ms, tasks after ${ms[1]} ms, longest step of scrolling ${ms[2]} ms`);
  });

  it('opens a task of ten thousand events, and moves through it by its slider', async () => {
    await page.getByLabel('Search').fill('the long one');
    await page.getByRole('link', { name: /the long one/ }).waitFor();
    const opened = await timed(
      "document.querySelector('.rows .row').click()",
      "Number(document.querySelector('.scrubber input')?.max) > 9900",
    );
    const total = await page.evaluate<number>("Number(document.querySelector('.scrubber input').max)");
    const steps: number[] = [];
    for (let step = 1; step <= 20; step += 1) {
      const at = Math.round((total * step) / 21);
      const move = `const slider = document.querySelector('.scrubber input');
        slider.value = ${at};
        slider.dispatchEvent(new Event('input', { bubbles: true }))`;
      const isThere = `document.querySelector('.scrubber span').textContent.includes('event ${at} of')`;
      steps.push(await timed(move, isThere));
    }
    await page.getByText('As it was: event').waitFor();
    const ms = [opened, Math.max(...steps)].map(Math.round);
    console.info(`${total} events opened in ${ms[0]} ms, scrubbed in ${ms[1]} ms at most`);
  });

  it('draws ten thousand bars of a waterfall, of which only the visible ones are in the page', async () => {
    await page.evaluate("void (location.hash = '#/tasks')");
    await page.getByLabel('Search').fill('the wide one');
    await page.getByRole('link', { name: /the wide one/ }).click();
    await page.getByRole('link', { name: 'waterfall' }).waitFor();
    const bars = "document.querySelectorAll('.bar-row').length > 5";
    const opened = await timed("document.querySelector('.tabs a:nth-child(2)').click()", bars);
    const steps: number[] = [];
    for (let step = 1; step <= 20; step += 1) {
      const top = `document.querySelector('.rows').scrollTop = ${step} * document.querySelector('.rows ul').offsetHeight / 21`;
      const isThere = `[...document.querySelectorAll('.rows li')].some(({ ariaPosInSet: at }) => Math.abs(at - ${step} * 9998 / 21) < 40)`;
      steps.push(await timed(top, isThere));
    }
    const known = await page.locator('.rows li').first().getAttribute('aria-setsize');
    expect(Number(known)).toBeGreaterThan(9_990);
    expect(await page.locator('.bar-row').count()).toBeLessThan(100);
    const ms = [opened, Math.max(...steps)].map(Math.round);
    console.info(`${known} bars drawn in ${ms[0]} ms, scrolled in ${ms[1]} ms at most`);
  });
});
