import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { mkdir, readFile, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Page } from 'playwright-core';
import type { CaseResult } from '../../src/core/evaluations.js';
import { taskFileText, type RecordedTask } from '../../src/replay/task-file.js';
import { status } from '../support/scripted-server.js';
import { message, RUN_START, runEnd } from '../suites/task-store-fixtures.js';
import { writePast } from './past.js';
import { describeConsole, seriousFaults, shot, Stage, TOKEN } from './stage.js';

const ROOT = 'lango-orchestrator';
const HOSTILE = '<img src=x onerror="window.hurt=1">\u202Etxt';

let stage: Stage;
let page: Page;
const faults: string[] = [];

const go = (place: string) => page.evaluate(`void (location.hash = ${JSON.stringify(place)})`);

async function fill(folder: string): Promise<void> {
  await writePast(folder, { failed: HOSTILE, why: HOSTILE, model: HOSTILE });
  await fillRuns(folder);
}

const NO_LIMITS = {
  ...{ delegationRounds: 9, fanOut: 9, depth: 9, turns: 9, toolCalls: 9, tokens: 9, seconds: 9 },
  ...{ approvalSeconds: 9, repeats: 9, toolOutputBytes: 9, answerTokens: 9, historyTokens: 9, entryBytes: 9 },
};

/** Writes five runs of three cases with two models, as `lango eval --live` does, and the report of a night. */
async function fillRuns(folder: string): Promise<void> {
  const names = ['an order is looked up before it is refunded', HOSTILE, 'letters are sorted'];
  const isGood = ([run, name, model, repeat]: readonly [number, number, number, number]) =>
    name === 2 || (name === 0 ? run > 2 || model === 0 : model === 0 && (run + repeat) % 3 > 0);
  for (let run = 1; run <= 5; run += 1) {
    const at = path.join(folder, 'evals', `nightly-${run}`);
    await mkdir(at, { recursive: true });
    const results: CaseResult[] = [];
    for (const [name, text] of names.entries())
      for (const [model, of] of ['claude-large', 'gpt-6.1-sol'].entries())
        for (let repeat = 1; repeat <= 5; repeat += 1) {
          const [passed, id] = [isGood([run, name, model, repeat]), `task-${name}-${model}-${repeat}`];
          const events = [
            { author: ROOT, body: { type: 'message', message: message(text, `${id}-m`) } } as const,
            RUN_START,
            runEnd('completed', passed ? 'Done.' : HOSTILE),
          ].map((event, index) => ({ ...event, seq: index + 1, at: 1_000 * index }));
          const record = path.join(at, `${id}.json`);
          const task: RecordedTask = {
            ...{
              id,
              agent: ROOT,
              contextId: id,
              state: 'completed',
              createdAt: 0,
              limits: NO_LIMITS,
              events,
            },
            ...{ grant: { chain: [], depth: 4 }, node: { id: 'n', version: '0' } },
          };
          await writeFile(
            record,
            taskFileText({
              format: 'lango-task',
              version: 1,
              tasks: [task],
              elsewhere: [],
              cards: {},
              content: true,
            }),
          );
          results.push({
            ...{ name: text, file: 'evals/shop.yaml', model: of, repeat, passed, taskId: id, record },
            failures: passed ? [] : [`the answer does not contain "refund": ${HOSTILE}`],
            ...{ tokens: 900, turns: 2, seconds: 1 + model + repeat / 9, cost: 0.012 / (model + 1) / run },
          });
        }
    const file = path.join(at, 'results.json');
    await writeFile(file, JSON.stringify({ passed: false, results, run: `nightly-${run}` }));
    const seconds = Date.now() / 1_000 - (6 - run) * 24 * 3_600;
    await utimes(file, seconds, seconds);
  }
  const night = { at: Date.now(), tasks: 120, changedTasks: 14, turns: 300, changedTurns: 31 };
  const changes = [{ what: 'operator: function fs_write changed', turns: 31 }];
  await writeFile(path.join(folder, 'evals', 'drift.jsonl'), `${JSON.stringify({ ...night, changes })}\n`);
}

describeConsole('what the console draws', () => {
  beforeAll(async () => {
    stage = await Stage.open(
      undefined,
      fill,
      'node: { name: loom }\nagent: { limits: { ownerCostPerDay: 4 } }\negress: { allowPrivate: [127.0.0.1] }\nserver: { grpc: { enabled: true, port: 0 } }\n',
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
    await page.locator('.node:has([data-icon="agents"])', { hasText: 'operator' }).waitFor();
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

  it('shows runs of cases, what changed since the run before, and the task behind a failed cell', async () => {
    await go('#/evaluations');
    await page.getByRole('row', { name: /nightly-5 .* 3 23 of 30 · 76 % 0\.054 USD 1\.8 s/ }).waitFor();
    await page.getByRole('row', { name: /120 14 operator: function fs_write changed · 31 turns/ }).waitFor();
    expect(await page.getByLabel('Passed over runs').getByRole('link').count()).toBe(5);
    await shot(page, 'evaluations');
    expect(await seriousFaults(page)).toEqual([]);
    await page.getByRole('link', { name: 'nightly-3: 80 %' }).click();
    const row = page.getByRole('row', { name: /^an order is looked up/ });
    await row.getByText('better, was 0 of 5').waitFor();
    await page.getByLabel('Compared with').selectOption('nightly-5');
    await row.getByText('better').waitFor({ state: 'detached' });
    await row.getByText('cost more').first().waitFor();
    await page.getByLabel('Compared with').selectOption('nightly-2');
    await row.getByText('better').waitFor();
    await shot(page, 'evaluation-run');
    expect(await seriousFaults(page)).toEqual([]);
    await page.setViewportSize({ width: 360, height: 800 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByLabel('Show').selectOption('failed');
    await row.waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Repeat 1 failed' }).last().click();
    await page.getByLabel('What does not hold').getByText('does not contain "refund"').waitFor();
    await page.getByText(/Imported: task task-1-1-1 of/).waitFor();
    await shot(page, 'evaluated-task');
    await page.setViewportSize({ width: 360, height: 800 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
    await page.setViewportSize({ width: 1280, height: 800 });
    expect(await seriousFaults(page)).toEqual([]);
    expect(await page.evaluate('window.hurt')).toBeUndefined();
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
      ['1.0', 'GRPC'],
      ['0.3', 'JSONRPC'],
      ['0.3', 'GRPC'],
    ] as const) {
      await page.getByRole('button', { name: `${transport} ${version} at` }).click();
      await page.getByRole('button', { name: 'Call it' }).click();
      const good = transport === 'GRPC' ? 0 : 200;
      await page.getByText(new RegExp(`Status ${good}, \\d+ frames,\\s+as specified`)).waitFor();
      await page
        .getByText(version === '0.3' && transport === 'JSONRPC' ? '"completed"' : '"TASK_STATE_COMPLETED"')
        .first()
        .waitFor();
    }
    // What comes over gRPC is text too, and its other operations are checked as well.
    await page.getByLabel('Text of the message').fill('something hostile');
    await page.getByRole('button', { name: 'Call it' }).click();
    await page.getByText('<script>window.hurt=1').first().waitFor();
    expect(await page.evaluate('window.hurt')).toBeUndefined();
    await page.getByLabel('Operation').selectOption('GetTask');
    await page.getByLabel('Id of the task').fill('a/b');
    await page.getByRole('button', { name: 'Call it' }).click();
    await page.getByText('name: must be tasks/ID').waitFor();
    await page.getByRole('button', { name: 'JSONRPC 0.3 at' }).click();
    await shot(page, 'inspector');
    expect(await seriousFaults(page)).toEqual([]);
    expect(await page.locator('main').innerText()).not.toContain(TOKEN);
    await page.getByLabel('Operation').selectOption('CreateTaskPushNotificationConfig');
    await page.getByLabel('Id of the task').fill('none');
    await page.getByLabel('Address of the webhook').fill('no address');
    await page.getByRole('button', { name: 'Call it' }).click();
    await page.getByText('params.pushNotificationConfig.url: Invalid URL').waitFor();
    await page.getByLabel('Operation').selectOption('SendStreamingMessage');
    await page.getByLabel('Address of an agent').fill(`${stage.vendor.url}/agents/far`);
    stage.vendor.willReply(status(200, { jsonrpc: '2.0', id: 1, result: { kind: HOSTILE } }));
    await page.getByRole('button', { name: 'Call it' }).click();
    await page.getByText(/result\.kind:/).waitFor();
    expect(await page.evaluate('window.hurt')).toBeUndefined();
    await page.setViewportSize({ width: 360, height: 800 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
    expect(faults).toEqual([]);
  });
});
