import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { mkdir, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { Page } from 'playwright-core';
import {
  describeConsole,
  say,
  seriousFaults,
  shot,
  state,
  signIn,
  Stage,
  STORY_PIECES,
  TOKEN,
} from './stage.js';

let stage: Stage;
let page: Page;
const faults: string[] = [];

const go = (place: string) => page.evaluate(`void (location.hash = ${JSON.stringify(place)})`);

describeConsole('the console in a browser', () => {
  beforeAll(async () => {
    stage = await Stage.open();
    page = await stage.signedIn({ bypassCSP: false });
    page.on('pageerror', (error) => faults.push(error.message));
    page.on('console', (line) => {
      if (/Content Security|Trusted/.test(line.text())) faults.push(line.text());
    });
  });
  afterAll(() => stage?.close());

  it('chats, accepts a file, and shows hostile content as text', async () => {
    await go('#/chat');
    await page.getByLabel('Message').waitFor();
    await page
      .getByLabel('Files')
      .setInputFiles({ name: 'no\u202ete.txt', mimeType: 'text/plain', buffer: Buffer.from('kept words') });
    await say(page, 'hello there');
    await page.getByText('Hello, you.').waitFor();
    await page.getByRole('link', { name: 'Download no\\u{202e}te.txt' }).waitFor();
    await shot(page, 'chat');
    expect(await seriousFaults(page)).toEqual([]);
    await say(page, 'something hostile');
    await page.getByText('<script>window.hurt=1</script>').waitFor();
    expect(await page.evaluate('window.hurt')).toBeUndefined();
    expect(await page.locator('main img, main script, main a[href^=javascript]').count()).toBe(0);
    await page.setViewportSize({ width: 360, height: 800 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
    await page.getByText('bidi \\u{202e}txt.exe').waitFor();
    await shot(page, 'hostile');
  });

  it('stays signed in when requests from before are refused late', async () => {
    const visitor = await (await stage.browser.newContext()).newPage();
    const signedIn = Promise.withResolvers<void>();
    const refusals: Promise<void>[] = [];
    await visitor.route('**/lango/**', async (route) => {
      const response = await route.fetch();
      const isLate = response.status() === 401 && refusals.length > 0;
      const sent = (isLate ? signedIn.promise : Promise.resolve()).then(() => route.fulfill({ response }));
      if (response.status() === 401) refusals.push(sent);
    });
    await visitor.goto(`${stage.origin}/console/`);
    await signIn(visitor);
    expect(refusals.length).toBeGreaterThan(1);
    signedIn.resolve();
    await Promise.all(refusals);
    await visitor.evaluate("void (location.hash = '#/chat')");
    await say(visitor, 'hello again');
    await visitor.getByText('Hello, you.').waitFor();
    await visitor.context().close();
  });

  it('approves and denies after showing the exact arguments', async () => {
    const folder = path.join(stage.home.folder, 'workspace', 'old');
    await mkdir(folder, { recursive: true });
    await writeFile(path.join(folder, 'a.txt'), 'a');
    await go('#/chat/lango-orchestrator/approving');
    for (const decision of ['Deny', 'Approve']) {
      await say(page, 'please delete old');
      await page.getByText('"path": "old"').last().waitFor();
      if (decision === 'Approve') {
        await go('#/approvals');
        await page.getByText('1 waiting.').waitFor();
        await page.getByRole('link', { name: 'please delete old', exact: true }).waitFor();
        await page.getByRole('link', { name: 'Approvals 1' }).waitFor();
        await page.getByText('Without a reply it counts as denied').waitFor();
        await shot(page, 'approvals');
        expect(await seriousFaults(page)).toEqual([]);
      }
      await page.getByRole('button', { name: decision, exact: true }).last().click();
      await page.getByRole('button', { name: `Really ${decision.toLowerCase()} fs_delete` }).click();
      if (decision === 'Deny') await page.getByRole('link', { name: 'completed' }).waitFor();
    }
    await page.getByText('Nothing waits for you.').waitFor();
    await go('#/tasks');
    await state(page, 'completed').first().waitFor();
    await page
      .getByRole('link', { name: /please delete old/ })
      .first()
      .click();
    await page.getByText('You approved').first().waitFor();
    await page.getByRole('link', { name: 'tree' }).click();
    await page.getByRole('link', { name: 'operator' }).first().waitFor();
    await page.getByText('Tokens and money').waitFor();
    await shot(page, 'tree');
    expect(await seriousFaults(page)).toEqual([]);
    await page.getByRole('link', { name: 'operator' }).first().click();
    await page.getByText('operator calls fs_delete').first().waitFor();
  });

  it('shows a question once, and stored data in a readable form', async () => {
    await go('#/chat/lango-orchestrator/asking-once');
    await say(page, 'please delete old');
    await page.getByText('Without a reply it counts as denied').waitFor();
    expect(await page.getByText('expiresAt').count()).toBe(0);
    await page.getByRole('button', { name: 'Deny', exact: true }).click();
    await page.getByRole('button', { name: 'Really deny fs_delete' }).click();
    await page.getByRole('link', { name: 'completed' }).waitFor();
    await go('#/data/tasks');
    await page
      .getByRole('button', { name: /^operator: / })
      .first()
      .click();
    await page.getByText('"agent": "operator"').waitFor();
  });

  it('signs in by a one-time link in the address of an open page', async () => {
    const other = await (await stage.browser.newContext()).newPage();
    await other.goto(`${stage.origin}/console/`);
    await other.getByText('npx lango console').waitFor();
    const link = await stage.link();
    await other.evaluate(`void (location.href = ${JSON.stringify(link)})`);
    await other.getByRole('button', { name: 'Sign out' }).click();
    await other.getByLabel('Token', { exact: true }).waitFor();
    await other.evaluate(`void (location.href = ${JSON.stringify(link)})`);
    await other.getByText('A link works once').waitFor();
    expect(other.url()).toBe(`${stage.origin}/console/#/`);
    await other.context().close();
  });

  it('shows the state of a task at a chosen event', async () => {
    await go('#/tasks');
    await page.getByRole('link', { name: /completed hello there .* took [\d.]+ m?s/ }).click();
    await page.getByText('Hello, you.').waitFor();
    await shot(page, 'task');
    expect(await seriousFaults(page)).toEqual([]);
    await page.getByRole('link', { name: 'requests' }).click();
    await page.getByText('It is the request that was sent').waitFor();
    await page.getByText('transfer_to_agent').first().waitFor();
    await shot(page, 'requests');
    expect(await seriousFaults(page)).toEqual([]);
    await page.getByRole('link', { name: 'conversation', exact: true }).click();
    await page.locator('.conversation').getByText('Hello, you.').waitFor();
    await page.getByRole('slider').fill('0');
    await page.getByText('As it was: event 0').waitFor();
    expect(await page.getByText('Hello, you.').count()).toBe(0);
    expect(await page.locator('.conversation').getByText('hello there').count()).toBe(1);
    expect(page.url()).toMatch(/\?event=0$/);
    await page.reload();
    await page.getByText('As it was: event 0').waitFor();
    await page.getByRole('link', { name: 'events' }).click();
    await page.getByRole('button', { name: /completed/ }).click();
    await page.getByText('As it is now').waitFor();
  });

  it('goes on from a chosen event as a new task', async () => {
    const before = page.url();
    await page.getByRole('slider').fill('0');
    await page.getByRole('button', { name: 'Fork here' }).click();
    await page.getByRole('button', { name: 'Really go on from here as a new task' }).click();
    await page.waitForURL((url) => url.href.split('/')[7] !== before.split('/')[7]);
    await page.getByText('completed').first().waitFor();
    await page.getByRole('link', { name: 'Compare with the task it was forked from' }).click();
    const comparison = page.getByLabel('Comparison');
    await comparison.getByText('Both did the same.').waitFor();
    const compared = page.url();
    await go('#/tasks');
    const other = await page.getByRole('link', { name: /something hostile/ }).getAttribute('href');
    await page.goto(compared);
    await page.getByLabel('Compare with the task').fill(other!.slice(-36));
    await comparison.getByText('the tasks part here').nth(1).waitFor();
    await shot(page, 'compare');
    expect(await seriousFaults(page)).toEqual([]);
  });

  it('resumes a task after the server was killed in the middle of the output', async () => {
    await go('#/chat/lango-orchestrator/telling');
    await say(page, 'tell me a story');
    await page.getByText('Part 5 of the tale').waitFor();
    await stage.kill();
    await page
      .getByText(/connection is lost|cannot be reached/)
      .first()
      .waitFor();
    await shot(page, 'offline');
    await stage.start();
    await signIn(page);
    await page.getByText(`Part ${STORY_PIECES} of the tale`).waitFor();
    const text = await page.getByRole('log').innerText();
    const parts = [...text.matchAll(/Part (\d+) of/g)].map(([, number]) => Number(number));
    expect(parts).toEqual(Array.from({ length: STORY_PIECES }, (_, index) => index + 1));
  });

  it('shows a card with markup as text, together with its faults', async () => {
    const markup = '<img src=x onerror="window.hurt=4"><script>window.hurt=5</script>';
    const card = {
      ...{
        name: `far ${markup}`,
        description: `bidi \u202Etxt.exe ${markup} ${'w'.repeat(20_000)}`,
        version: markup,
      },
      ...{ capabilities: {}, defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] },
      skills: [{ id: 's', name: markup, description: markup, tags: [markup] }],
      supportedInterfaces: [{ url: 'URL', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    };
    const peer = createServer((_, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(card).replace('URL', origin));
    }).listen(0, '127.0.0.1');
    await once(peer, 'listening');
    const origin = `http://127.0.0.1:${(peer.address() as AddressInfo).port}`;
    try {
      await go('#/agents');
      await page.getByLabel('Address', { exact: true }).fill(origin);
      await page.getByLabel('Name on this server').fill('hostile');
      await page.getByLabel('Its address is private').check();
      await page.getByRole('button', { name: 'Add' }).click();
      const far = page.getByLabel('hostile', { exact: true });
      await far
        .getByText(/bidi \\u\{202e\}txt/)
        .first()
        .waitFor();
      await far.getByText(/finding/).click();
      await far.getByText(/skills\[0\]\.examples/).waitFor();
      await shot(page, 'card');
      expect(await page.evaluate('window.hurt')).toBeUndefined();
      expect(await page.locator('main img, main script').count()).toBe(0);
      await page.setViewportSize({ width: 360, height: 800 });
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
      await page.getByRole('button', { name: 'Remove' }).click();
      await page.getByRole('button', { name: 'Really remove hostile' }).click();
      await page.getByText('There are no remote agents.').waitFor();
    } finally {
      peer.closeAllConnections();
      peer.close();
    }
  });

  it('adds a remote agent, shows the bill and the stored data, and leaves no token behind', async () => {
    await go('#/agents');
    await page.getByLabel('Address', { exact: true }).fill('http://127.0.0.1:9/agents/far');
    await page.getByLabel('Name on this server').fill('far');
    await page.getByLabel('Its address is private').check();
    await page.getByRole('button', { name: 'Add' }).click();
    await page.getByText('Added, also for later starts.').waitFor();
    const own = page.getByLabel('planner', { exact: true });
    await own.getByText('Its card is signed.').waitFor();
    await own.getByText('Nothing is wrong with its card.').waitFor();
    await shot(page, 'agents');
    expect(await seriousFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('button', { name: 'Really remove far' }).click();
    await page.getByText('There are no remote agents.').waitFor();
    for (const [place, words] of [
      ['#/bill', 'What your tasks cost'],
      ['#/data', 'of 64.0 MB in the database'],
      ['#/tasks', 'newest first'],
    ] as const) {
      await go(place);
      await page.getByText(words).first().waitFor();
      await shot(page, place.slice(2));
      expect([place, await seriousFaults(page)]).toEqual([place, []]);
    }
    const kept = await page.evaluate('JSON.stringify([document.cookie, { ...localStorage }, location.href])');
    expect(kept).not.toContain(TOKEN);
    expect(kept).not.toContain('lango-session');
    expect(faults).toEqual([]);
  });
});
