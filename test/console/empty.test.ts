import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { describeConsole, say, seriousFaults, Stage } from './stage.js';

/** What each page of a server that did nothing yet says of the next step. */
const NEXT_STEPS: Readonly<Record<string, RegExp>> = {
  '': /Ask lango-orchestrator/,
  tasks: /Ask lango-orchestrator/,
  approvals: /see what your agents did/,
  chat: /Ask lango-orchestrator something/,
  agents: /There are no remote agents. Add one below/,
  map: /Nobody asked an agent in this time/,
  evaluations: /npx lango eval new TASK/,
  inspector: /Read its card/,
  bill: /Ask an agent/,
  'data/knowledge': /Ask an agent in the chat to remember something/,
  'data/documents': /npx lango ingest FILE/,
  'data/graph': /Ask an agent to add something to the graph/,
};

let stage: Stage;
let page: Page;

/** Looks at the page in both themes, wide and narrow. */
async function look(name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of [1280, 360]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      const folder = process.env['SHOTS'];
      if (folder !== undefined)
        await page.screenshot({
          path: `${folder}/empty-${name.replace('/', '-')}-${colorScheme}-${width}.png`,
        });
      expect({ name, width, faults: await seriousFaults(page) }).toEqual({ name, width, faults: [] });
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    }
}

describeConsole('the console of a server that did nothing yet', () => {
  beforeAll(async () => {
    stage = await Stage.open();
    page = await stage.signedIn();
  });
  afterAll(() => stage?.close());

  it.each(Object.entries(NEXT_STEPS))('says on the page "%s" what to do next', async (name, next) => {
    await page.evaluate(`void (location.hash = '#/${name}')`);
    await page.locator('main').getByText(next).first().waitFor();
    await look(name || 'overview');
  });

  it('says for a task without artifacts what becomes one, and where to read on', async () => {
    await page.evaluate("void (location.hash = '#/chat/lango-orchestrator/first')");
    await say(page, 'hello there');
    await page.getByText('Hello, you.').first().waitFor();
    await page.evaluate("void (location.hash = '#/tasks')");
    await page.getByRole('link', { name: /hello there/ }).click();
    await page.getByRole('link', { name: 'artifacts' }).click();
    await page.locator('article').first().waitFor();
    await page.locator('.scrubber input').fill('1');
    await page.getByText("An agent's answer and the files that it makes become artifacts.").waitFor();
    await look('artifacts');
    await page.getByRole('link', { name: 'read what was said so far' }).click();
    await page.getByRole('article').filter({ hasText: 'hello there' }).first().waitFor();
  });
});
