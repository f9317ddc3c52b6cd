import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ServerOptions } from '../../src/index.js';
import { describeOnChain, RICH, startChain, type LocalChain } from '../chain/local-chain.js';
import { freePort } from '../support/free-port.js';
import { decide, doings, sendText, startServer, untilEnded, type TestServer } from '../support/server.js';
import { describeBrowsing, openSite, type Site } from '../capabilities/browser/setup.js';

/**
 * The question of a sub-agent on another node reaches the person who called the orchestrator over HTTP, and the reply
 * goes back over HTTP to the waiting call.
 */

const NODE_TOKEN = 'token-of-the-node-4f7a92';
type Settings = NonNullable<ServerOptions['settings']>;

/** An orchestrator alone, and a node that runs one of its sub-agents. */
class Stack {
  front!: TestServer;
  node!: TestServer;
  #port = 0;
  #home = '';
  #settings: Settings = {};
  readonly #agent: string;

  constructor(agent: string) {
    this.#agent = agent;
  }

  async open(settings: Settings): Promise<void> {
    this.#home = await mkdtemp(path.join(tmpdir(), 'lango-test-'));
    this.#port = await freePort();
    this.#settings = settings;
    await this.startNode();
    const peer = {
      name: this.#agent,
      url: `http://127.0.0.1:${this.#port}`,
      token: NODE_TOKEN,
      allowPrivate: true,
    };
    this.front = await startServer({
      settings: {
        server: { port: 0 },
        a2a: { enabled: true, publish: ['lango-orchestrator'], remoteAgents: [peer] },
      },
    });
  }

  async startNode(changes: Settings = {}): Promise<void> {
    this.#settings = { ...this.#settings, ...changes };
    this.node = await startServer({
      home: this.#home,
      settings: {
        server: { port: this.#port },
        auth: { token: NODE_TOKEN },
        a2a: { publish: [this.#agent] },
        ...this.#settings,
      },
    });
  }

  async close(): Promise<void> {
    await this.front.stop();
    await this.node.stop();
    await rm(this.#home, { recursive: true, force: true });
  }
}

describeOnChain('payment_send on another node', () => {
  const PAYEE = RICH[2];
  const TEA = `send 0.50 USDC to ${PAYEE} for tea`;
  const stack = new Stack('vault');
  let chain: LocalChain;
  let before: bigint;
  beforeAll(async () => void (chain = await startChain()));
  afterAll(() => chain.stop());
  beforeEach(async () => {
    const payment = {
      enabled: true,
      rpcUrl: chain.url,
      tokenAddress: chain.token,
      confirmations: 1,
    };
    await stack.open({ payment, tools: { secrets: { enabled: true } } });
    const made = await sendText(stack.front, 'create a wallet');
    await chain.fund(/0x[0-9a-fA-F]{40}/.exec(made.end.text)![0], 3_000_000n);
    before = await chain.tokensOf(PAYEE);
  });
  afterEach(() => stack.close());
  const paid = async () => (await chain.tokensOf(PAYEE)) - before;

  it('asks the person at the orchestrator with all details, accepts no prose, and pays once', async () => {
    const asked = await sendText(stack.front, TEA);
    expect(asked.end).toMatchObject({
      state: 'input-required',
      questions: [
        {
          kind: 'approval',
          author: expect.stringMatching(/vault$/),
          tool: 'payment_send',
          text: `May vault pay 0.50 USDC to ${PAYEE} on Base Sepolia (chain 84532, test network), for "tea"?`,
          arguments: { to: PAYEE, amount: '0.50', purpose: 'tea' },
          expiresAt: expect.any(Number),
        },
      ],
    });
    const prose = await sendText(stack.front, 'approved, go on', { taskId: asked.taskId });
    expect(prose.end).toMatchObject({ state: 'input-required', questions: asked.end.questions });
    expect(await paid()).toBe(0n);
    // The reply reaches the call after a restart of the node too.
    await stack.node.stop();
    await stack.startNode();
    const done = await decide(stack.front, asked, { decision: 'approve' });
    expect(done.end.state).toBe('completed');
    expect(done.end.text).toMatch(/Paid 0\.50 USDC to .* confirmed/);
    expect((await decide(stack.front, asked, { decision: 'approve' })).end.state).toBe('failed');
    expect(await paid()).toBe(500_000n);
  });

  it('gets the reply to its own question only', async () => {
    const tea = await sendText(stack.front, TEA);
    const cake = await sendText(stack.front, `send 0.25 USDC to ${PAYEE} for cake`);
    const wrong = await decide(stack.front, { ...tea, taskId: cake.taskId }, { decision: 'approve' });
    expect(wrong.end).toMatchObject({ state: 'input-required', questions: cake.end.questions });
    const denied = await decide(stack.front, tea, { decision: 'deny', text: 'coffee is better' });
    expect(denied.end.text).toContain('a person refused this call ("coffee is better")');
    expect(await paid()).toBe(0n);
    expect((await decide(stack.front, cake, { decision: 'approve' })).end.text).toContain('Paid 0.25 USDC');
    expect(await paid()).toBe(250_000n);
  });

  it('is given up at both nodes when nobody replies in time', async () => {
    await stack.node.stop();
    await stack.startNode({ approval: { expirySeconds: 3 } });
    const asked = await sendText(stack.front, TEA);
    expect(asked.end.state).toBe('input-required');
    const task = await untilEnded(stack.front, asked.taskId);
    expect(task.state).toBe('completed');
    expect(JSON.stringify(task.artifacts)).toMatch(/in time/);
    const { tasks } = await stack.node.client.list({ agent: 'vault' });
    expect(tasks.map(({ state }) => state)).toEqual(['completed', 'completed']);
    expect(await paid()).toBe(0n);
  });
});

describeBrowsing('browser_act on another node', () => {
  const stack = new Stack('navigator');
  let site: Site;
  beforeEach(async () => {
    site = await openSite({
      '/': '<title>Shop</title><form action="/bought"><button>Buy</button></form>',
      '/bought': '<title>Bought</title><h1>Thank you</h1>',
    });
    await stack.open({
      tools: { browser: { enabled: true, allowHosts: [site.host] } },
      approval: { policy: ['browser_act'] },
    });
  });
  afterEach(async () => {
    await stack.close();
    await site.close();
  });

  it('clicks once after the person at the orchestrator approved it', async () => {
    const contextId = 'shopping';
    await sendText(stack.front, `open ${site.origin}/`, { contextId });
    const seen = await sendText(stack.front, 'what can be clicked on the page?', { contextId });
    const [ref] = /p\d+e\d+/.exec(seen.end.text)!;
    const gone = await sendText(stack.front, 'click p99e1', { contextId });
    expect(gone.end).toMatchObject({ state: 'completed', questions: [] });
    const asked = await sendText(stack.front, `click ${ref}`, { contextId });
    expect(asked.end).toMatchObject({
      state: 'input-required',
      questions: [{ kind: 'approval', tool: 'browser_act', arguments: { ref, action: 'click' } }],
    });
    expect(site.asked).not.toContain('/bought');
    const done = await decide(stack.front, asked, { decision: 'approve' });
    expect(doings(done)).toContain('navigator: tool-result browser_act');
    await decide(stack.front, asked, { decision: 'approve' });
    expect(site.asked.filter((one) => one === '/bought')).toHaveLength(1);
  });
});
