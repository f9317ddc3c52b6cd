import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { makeHome, startServer, type Home, type Server } from '../cli/lango-process.js';
import { freePort } from '../support/free-port.js';
import { configOf, describeConsole, endMayCome, say, signIn, Stage, TOKEN } from './stage.js';

/** The nodes sign the name of the person they act for with their keys. */
const knowing = (name: string, origin: string) =>
  `{ token: ${TOKEN}, audience: stack, nodes: [{ name: ${name}, jwks: "${origin}/.well-known/jwks.json" }] }`;

let stage: Stage;
const homes: Home[] = [];
const servers: Server[] = [];

async function startNode(port: number, auth: string, config: string): Promise<Server> {
  const home = await makeHome(configOf(stage.vendor.url, auth) + config);
  homes.push(home);
  const server = await startServer(home, ['--port', String(port)]);
  servers.push(server);
  return server;
}

async function addAgent(agent: object): Promise<void> {
  const added = await fetch(`${stage.origin}/lango/agents`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...agent, allowPrivate: true }),
  });
  expect(added.status).toBe(200);
}

describeConsole('the console over three nodes', () => {
  beforeAll(async () => {
    stage = await Stage.open();
    const port = await freePort();
    const middleOrigin = `http://127.0.0.1:${port}`;
    const end = await startNode(await freePort(), knowing('middle', middleOrigin), 'node: { name: weft }\n');
    const remote = `{ name: end, url: '${end.origin}/agents/planner', owners: forward, audience: stack, allowPrivate: true }`;
    const a2a = `a2a: { enabled: true, remoteAgents: [${remote}] }\nnode: { name: warp }\n`;
    const middle = await startNode(port, knowing('front', stage.origin), a2a);
    const forwarded = { name: 'middle', owners: 'forward', audience: 'stack' };
    await addAgent({ ...forwarded, url: middle.origin });
    const lone = await startNode(await freePort(), `{ token: ${TOKEN} }`, 'node: { name: heddle }\n');
    await addAgent({ name: 'lone', url: lone.origin, token: TOKEN });
  });
  afterAll(async () => {
    await stage?.close();
    for (const server of servers) await server.stop();
    for (const home of homes) await home.remove();
  });

  it('names a node that is not told the owner by its card: on the map, in the waterfall and on the bill', async () => {
    const page = await stage.signedIn();
    await page.evaluate("void (location.hash = '#/chat/lango-orchestrator/lone')");
    await say(page, 'go beyond');
    await page.getByText('Hello, you.').first().waitFor();
    await page.evaluate("void (location.hash = '#/tasks')");
    await page.getByRole('link', { name: /go beyond/ }).click();
    await page.getByRole('link', { name: 'waterfall' }).click();
    await page.getByRole('button', { name: /^lone on heddle/ }).waitFor();
    await page.evaluate("void (location.hash = '#/map')");
    await page.getByRole('link', { name: 'lone ready · on heddle' }).waitFor();
    await page.getByRole('row', { name: /^lango-orchestrator lone heddle 1 0/ }).waitFor();
    await page.evaluate("void (location.hash = '#/bill')");
    await page.getByLabel(/^By/).first().selectOption('node');
    await page.getByText('heddle').first().waitFor();
    expect(await page.locator('main').innerText()).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}|node [0-9a-f]{8}/);
  });

  it('shows the tree live, with time, tokens and money of each delegation, and links to each node', async () => {
    const page = await stage.signedIn();
    await page.evaluate("void (location.hash = '#/chat/lango-orchestrator/far')");
    await say(page, 'go across nodes');
    await page.getByText('middle').first().waitFor();
    await page.evaluate("void (location.hash = '#/tasks')");
    await page.getByRole('link', { name: /go across nodes/ }).click();
    await page.getByRole('link', { name: 'tree' }).click();
    const edge = page.getByRole('listitem').filter({ hasText: 'middle on warp' }).last();
    const facts = () => edge.locator('.facts').first().innerText();
    await edge
      .getByText(/^works, /)
      .first()
      .waitFor();
    const states = [(await facts()).split(',')[0]!];
    endMayCome.resolve();
    let lagMs = NaN;
    for (let endedAt = 0; !states.includes('completed'); await page.waitForTimeout(50)) {
      if (endedAt === 0 && (await stateShown(page.url())) === 'TASK_STATE_COMPLETED') endedAt = Date.now();
      const [state = ''] = (await facts()).split(',');
      if (states.at(-1) !== state) states.push(state);
      if (state === 'completed') lagMs = endedAt === 0 ? 0 : Date.now() - endedAt;
    }
    expect(states).toEqual(['works', 'completed']);
    console.info(`tree of three nodes: ${lagMs} ms behind the end of the task`);
    expect(await facts()).toMatch(/tokens, [\d.]+ USD$/);

    // Nodes of any depth have the names that their people gave them, in the table of what each cost too.
    await page.getByRole('cell', { name: 'weft' }).first().waitFor();
    await page.getByRole('cell', { name: 'warp' }).first().waitFor();

    // The console of another node asks for its own sign-in, and then shows the task there, on nodes of any depth.
    for (const [name, within] of [
      [/^middle on warp$/, 'end on weft'],
      [/^end on its node at /, 'The agent delegated nothing'],
    ] as const) {
      const [there] = await Promise.all([
        page.context().waitForEvent('page'),
        page.getByRole('link', { name }).click(),
      ]);
      await signIn(there);
      await there.getByRole('link', { name: 'tree' }).click();
      await there.getByText(within).waitFor();
    }
  });
});

/** The state of the task in the open page. */
async function stateShown(url: string): Promise<string> {
  const [, agent, id] = /#\/tasks\/([^/]+)\/([^/]+)/.exec(url) ?? [];
  const answer = await fetch(`${stage.origin}/agents/${agent}/tasks/${id}`, {
    headers: { authorization: `Bearer ${TOKEN}`, 'A2A-Version': '1.0' },
  });
  return ((await answer.json()) as { status: { state: string } }).status.state;
}
