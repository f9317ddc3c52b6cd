import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { gzipSync } from 'node:zlib';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerResponse } from 'node:http';
import type { Page } from 'playwright-core';
import { anthropicEvent, anthropicStream, anthropicWire, textBlock } from '../support/anthropic-wire.js';
import { events, type RecordedRequest } from '../support/scripted-server.js';
import { describeConsole, say, seriousFaults, shot, Stage } from './stage.js';

let stage: Stage;
let page: Page;

const TABLE = [
  'Here is it:',
  '| name | size |\n| --- | ---: |\n| a.txt | 12 |',
  '```sh\nls -la\n```',
  'Done.',
].join('\n\n');
const THOUGHT = anthropicStream({
  blocks: [
    {
      start: { type: 'thinking', thinking: '', signature: '' },
      deltas: [
        { type: 'thinking_delta', thinking: 'Let me see.' },
        { type: 'signature_delta', signature: 'x' },
      ],
    },
    textBlock('I said it.'),
  ],
  stopReason: 'end_turn',
});
/** A PNG of one pixel. */
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
const LINES = 60;
/** More than a list of tasks has messages of one task. */
const STEPS = 12;
/** The stream with many lines waits here in its middle. */
let middle = Promise.withResolvers<void>();

async function answer(response: ServerResponse, request: RecordedRequest): Promise<void> {
  const { messages, functions } = anthropicWire.sent(request.body);
  const last = messages.at(-1) ?? '';
  const reply = (script: Parameters<typeof anthropicWire.answer>[0]) =>
    events(anthropicWire.answer(script))(response, request);
  const call = (text: string, name: string, input: object) =>
    reply({
      texts: [text],
      calls: [{ id: 'c1', name, json: [JSON.stringify(input)] }],
      stop: 'function-calls',
    });
  const steps = messages.filter((message) => message.includes('result')).length;
  if (messages.some((message) => message.includes('many steps')))
    return steps < STEPS
      ? call(`Step ${steps}.`, 'fs_list', { path: `folder-${steps}` })
      : reply({ texts: ['All steps are done.'], stop: 'end' });
  if (last.includes('long story')) return tell(response);
  if (last.includes('think first')) return events(THOUGHT)(response, request);
  if (last.includes('a table')) return reply({ texts: [TABLE], stop: 'end' });
  if (last.includes('result')) return reply({ texts: ['The folder is empty.'], stop: 'end' });
  if (!last.includes('folder')) return reply({ texts: ['Hello, *you*.'], stop: 'end' });
  return functions.some(({ name }) => name === 'transfer_to_agent')
    ? call('', 'transfer_to_agent', { agent_name: 'operator', request: 'look into the folder', final: true })
    : call('I look into the folder.', 'fs_list', { path: '.' });
}

async function tell(response: ServerResponse): Promise<void> {
  const [before = '', after = ''] = anthropicWire
    .answer({ texts: ['PIECE'], stop: 'end' })
    .split(pieceOf('PIECE'));
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(before);
  for (let line = 1; line <= LINES && !response.destroyed; line += 1) {
    if (line === LINES / 2) await middle.promise;
    response.write(pieceOf(`Line ${line} of it.\\n\\n`));
    await sleep(5);
  }
  response.end(after);
}

const pieceOf = (text: string) =>
  anthropicEvent({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'text_delta', text: 'PIECE' },
  }).replace('PIECE', text);

const go = (place: string) => page.evaluate(`void (location.hash = ${JSON.stringify(place)})`);
const composer = () => page.getByLabel('Message', { exact: true });
const leftBelow = () =>
  page.evaluate<number>(
    'Math.round(document.scrollingElement.scrollHeight - innerHeight - document.scrollingElement.scrollTop)',
  );

/** The files that the page loads, all of them before its first paint. */
const SOURCES = `[...document.querySelectorAll('script[src], link[rel=stylesheet], link[rel=modulepreload]')]
  .map((element) => element.getAttribute('src') ?? element.getAttribute('href'))`;

describeConsole('the chat in a browser', () => {
  beforeAll(async () => {
    stage = await Stage.open();
    stage.vendor.willAlwaysReply(answer);
    page = await stage.signedIn({
      permissions: ['clipboard-read', 'clipboard-write'],
      viewport: { width: 1000, height: 700 },
    });
  });
  afterAll(() => stage?.close());

  it('offers the examples of the card, and puts one into the composer', async () => {
    await go('#/chat/lango-orchestrator/suggesting');
    const first = page.locator('.suggestions button').first();
    await first.waitFor();
    await shot(page, 'chat-empty');
    expect(await seriousFaults(page)).toEqual([]);
    const words = await first.innerText();
    await first.click();
    expect(await composer().inputValue()).toBe(words);
  });

  it('shows a text before a call, the call, and the final text below it', async () => {
    await go('#/chat/lango-orchestrator/ordered');
    await say(page, 'look into the folder');
    await page.getByText('The folder is empty.').waitFor();
    await page.getByRole('link', { name: 'completed' }).waitFor();
    const text = await page.getByRole('log').innerText();
    const order = [
      'look into the folder',
      'asks operator',
      'I look into the folder.',
      'fs_list',
      'is empty.',
    ];
    const places = order.map((words) => text.indexOf(words));
    expect(places).not.toContain(-1);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    await shot(page, 'chat-order');
    expect(await seriousFaults(page)).toEqual([]);
  });

  it('shows tables and code, copies a text and its code, and edits a message to send it again', async () => {
    await go('#/chat/lango-orchestrator/tables');
    await say(page, 'show me a table');
    await page.getByRole('cell', { name: 'a.txt' }).waitFor();
    await page.getByRole('link', { name: 'completed' }).waitFor();
    await shot(page, 'chat-table');
    expect(await seriousFaults(page)).toEqual([]);
    await page.locator('.code').getByRole('button', { name: 'Copy' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe('ls -la\n');
    await page.locator('.tools').getByRole('button', { name: 'Copy' }).click();
    await page.locator('.tools').getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(TABLE);
    await page.getByRole('button', { name: 'Edit and send again' }).click();
    expect(await composer().inputValue()).toBe('show me a table');
  });

  it('takes several lines, and files that are dropped or pasted', async () => {
    await go('#/chat/lango-orchestrator/files');
    await composer().fill('first');
    await composer().press('Shift+Enter');
    await composer().pressSequentially('second');
    const give = (type: string, place: string, name: string) =>
      page.evaluate(`{
        const given = new DataTransfer();
        given.items.add(new File(['kept'], '${name}', { type: 'text/plain' }));
        const init = { bubbles: true, cancelable: true, dataTransfer: given, clipboardData: given };
        const event = '${type}' === 'paste' ? new ClipboardEvent('paste', init) : new DragEvent('drop', init);
        document.querySelector('${place}').dispatchEvent(event);
      }`);
    await give('paste', '#message', 'pasted.txt');
    await give('drop', '[role=log]', 'dropped.txt');
    await give('drop', '[role=log]', 'wrong.txt');
    await page.getByRole('button', { name: 'Remove wrong.txt' }).click();
    await shot(page, 'chat-files');
    expect(await seriousFaults(page)).toEqual([]);
    await composer().press('Enter');
    await page.getByRole('link', { name: 'Download pasted.txt' }).waitFor();
    await page.getByRole('link', { name: 'Download dropped.txt' }).waitFor();
    expect(await page.getByRole('link', { name: 'Download wrong.txt' }).count()).toBe(0);
    expect(await page.locator('article.user').innerText()).toContain('first\nsecond');
  });

  it('shows images in place', async () => {
    await go('#/chat/lango-orchestrator/pictures');
    await page.evaluate(`{
      const bytes = Uint8Array.from(atob('${PIXEL}'), (one) => one.charCodeAt(0));
      const given = new DataTransfer();
      given.items.add(new File([bytes], 'pixel.png', { type: 'image/png' }));
      const init = { bubbles: true, cancelable: true, clipboardData: given };
      document.querySelector('#message').dispatchEvent(new ClipboardEvent('paste', init));
    }`);
    await say(page, 'what is this');
    const shown = page.getByRole('img', { name: 'pixel.png' });
    await shown.waitFor();
    await page.waitForFunction("document.querySelector('article img').naturalWidth === 1");
    await page.getByRole('link', { name: 'Download pixel.png' }).waitFor();
  });

  it('shows what a model thought folded, before what it said', async () => {
    await go('#/chat/lango-orchestrator/thinking');
    await say(page, 'think first');
    const thought = page.locator('details', { hasText: 'lango-orchestrator thought' });
    await thought.waitFor();
    await page.getByText('I said it.').waitFor();
    expect(await page.getByText('Let me see.').count()).toBe(0);
    const text = await page.getByRole('log').innerText();
    expect(text.indexOf('thought')).toBeLessThan(text.indexOf('I said it.'));
    await thought.locator('summary').click();
    await page.getByText('Let me see.').waitFor();
  });

  it('follows the stream with the composer in sight, and leaves a reader who scrolled up where they are', async () => {
    await go('#/chat/lango-orchestrator/following');
    await say(page, 'tell a long story');
    await page.getByText(`Line ${LINES / 2 - 1} of`).waitFor();
    expect(await leftBelow()).toBeLessThan(5);
    const composerEnd = async () => {
      const { y, height } = (await composer().boundingBox())!;
      return y + height;
    };
    expect(await composerEnd()).toBeLessThanOrEqual(700);
    await page.mouse.move(500, 300);
    await page.mouse.wheel(0, -300);
    await page.getByRole('button', { name: 'To the newest' }).waitFor();
    expect(await composerEnd()).toBeLessThanOrEqual(700);
    const before = await page.evaluate('document.scrollingElement.scrollTop');
    middle.resolve();
    await page.getByText(`Line ${LINES} of`).waitFor();
    expect(await page.evaluate('document.scrollingElement.scrollTop')).toBe(before);
    await shot(page, 'chat-reading');
    await page.getByRole('button', { name: 'To the newest' }).click();
    expect(await leftBelow()).toBeLessThan(5);
  });

  it('lists a task of many messages by its request', async () => {
    await go('#/chat/operator/many');
    await say(page, 'do it in many steps');
    await page.getByText('All steps are done.').waitFor();
    await go('#/tasks');
    await page.getByLabel('Agent').selectOption('operator');
    await page.getByRole('link', { name: /do it in many steps/ }).waitFor();
    await page.getByLabel('Search').fill('many steps');
    await page.getByText(/1 of \d+ tasks match/).waitFor();
  });

  it('shows the steps of a task on one time axis, with what went in and came out', async () => {
    await go('#/chat/lango-orchestrator/ordered');
    await page.getByRole('link', { name: 'completed' }).click();
    await page.getByRole('link', { name: 'waterfall' }).click();
    const tool = page.getByRole('button', { name: /fs_list/ });
    await tool.waitFor();
    expect(await page.locator('.bar-row').count()).toBe(7);
    expect(await page.locator('.bar.critical').count()).toBeGreaterThan(3);
    await page
      .getByRole('button', { name: /claude-test.*tokens/ })
      .first()
      .waitFor();
    await tool.click();
    await page.getByLabel('The chosen step').getByText('"path": "."').waitFor();
    const model = page.getByRole('button', { name: /claude-test.*tokens/ }).first();
    await model.click();
    await page.getByLabel('The chosen step').getByText('Asks operator: ').waitFor();
    await page.getByRole('link', { name: 'What the model was sent' }).click();
    expect(await page.getByLabel('Turn').locator('option:checked').innerText()).toMatch(/^1 of /);
    await page.goBack();
    await tool.click();
    await shot(page, 'waterfall');
    expect(await seriousFaults(page)).toEqual([]);
    await tool.focus();
    const width = async () => (await page.locator('.bar.tool').boundingBox())!.width;
    const before = await width();
    await page.keyboard.press('+');
    await page.keyboard.press('0');
    expect(await width()).toBe(before);
    await page.getByRole('button', { name: 'Show the task at this event' }).click();
    await page.getByText('As it was: event').waitFor();
    expect(await page.getByRole('button', { name: /The folder/ }).count()).toBe(0);
    expect(await page.locator('.bar-row').count()).toBeLessThan(7);
  });

  it('stops what runs', async () => {
    middle = Promise.withResolvers<void>();
    await go('#/chat/lango-orchestrator/stopping');
    await say(page, 'tell a long story');
    await page.getByText('Line 9 of').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('link', { name: 'canceled' }).waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
    middle.resolve();
  });

  it('needs at most 90 kB, gzipped, before its first paint', async () => {
    const sizes = await Promise.all(
      ['', ...(await page.evaluate<string[]>(SOURCES))].map(async (name) => {
        const response = await fetch(`${stage.origin}/console/${name}`);
        return gzipSync(Buffer.from(await response.arrayBuffer())).length;
      }),
    );
    const all = sizes.reduce((total, size) => total + size, 0);
    expect(all).toBeLessThan(90_000);
    console.info(`the console is ${all} bytes, gzipped`);
  });
});
