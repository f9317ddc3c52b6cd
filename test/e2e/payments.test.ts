import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { LocalChain } from '../chain/local-chain.js';
import { describeOnChain, RICH, startChain } from '../chain/local-chain.js';
import { RpcProxy } from '../chain/rpc-proxy.js';
import { ended, lango, makeHome, startServer, type Home, type Server } from '../cli/lango-process.js';
import { replyPart } from '../../src/core/questions.js';
import { textPart } from '../../src/core/message.js';
import { isTerminal } from '../../src/core/task.js';
import { connect } from '../../src/index.js';
import { readFileSync, readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import path from 'node:path';

/** The real program on a real data folder, over A2A, with the offline model and a real chain. */

const TOKEN = 'payment-test-6e1f94b8a2';
const PAYEE = RICH[2];
const TEA = `send 0.50 USDC to ${PAYEE} for tea`;
const SEND = 'eth_sendRawTransaction';

describeOnChain('payments through the server', () => {
  let chain: LocalChain;
  let proxy: RpcProxy;
  let home: Home;
  let server: Server;
  let client: ReturnType<typeof connect>;

  beforeAll(async () => void (chain = await startChain()));
  afterAll(() => chain.stop());
  beforeEach(async () => void (proxy = await RpcProxy.open(chain.url)));
  afterEach(async () => {
    await server.stop();
    await home.remove();
    await proxy[Symbol.asyncDispose]();
  });

  async function open(policy = 'dangerous', more = ''): Promise<string> {
    home = await makeHome(`auth: { token: ${TOKEN} }
model: { provider: offline }
tools: { exec: { enabled: false } }
approval: { policy: ${policy} }
payment:
  enabled: true
  rpcUrl: ${proxy.url}
  tokenAddress: "${chain.token}"
  confirmations: 1
  requestSeconds: 3
  ${more}
`);
    await start();
    const { text } = await say('create a wallet');
    const wallet = /0x[0-9a-fA-F]{40}/.exec(text)![0];
    await chain.fund(wallet, 3_000_000n);
    return wallet;
  }

  async function start(): Promise<void> {
    server = await startServer(home);
    client = connect({ url: server.origin, token: TOKEN });
  }

  async function say(...parts: Parameters<typeof textPart>): ReturnType<typeof follow> {
    return follow({ parts: parts.map((part) => textPart(part)) });
  }

  async function follow(request: Parameters<typeof client.send>[0]) {
    let taskId = request.taskId ?? '';
    let text = '';
    for await (const event of client.send(request, AbortSignal.timeout(100_000))) {
      if (event.type === 'task') taskId = event.taskId;
      if (event.type === 'text-delta') text = event.replace ? event.text : text + event.text;
      if (event.type === 'end') return { end: event, taskId, text: `${text}${event.text}` };
    }
    throw new Error('the stream had no end');
  }

  it('show the balance, ask a person with all details, pay, and appear in the history', async () => {
    const wallet = await open();
    expect((await say('what is my USDC balance')).text).toContain(`${wallet} holds 3.00 USDC`);

    const before = await chain.tokensOf(PAYEE);
    const asked = await say(TEA);
    expect(asked.end.state).toBe('input-required');
    expect(asked.end.questions).toMatchObject([
      {
        kind: 'approval',
        tool: 'payment_send',
        text: `May vault pay 0.50 USDC to ${PAYEE} on Base Sepolia (chain 84532, test network), for "tea"?`,
        arguments: { to: PAYEE, amount: '0.50', purpose: 'tea' },
      },
    ]);
    const { hash } = asked.end.questions[0]!;
    const answer = replyPart({ hash, decision: 'approve' });
    const paid = await follow({ parts: [answer], taskId: asked.taskId });
    expect(paid.end.state).toBe('completed');
    expect(paid.text).toMatch(/Paid 0\.50 USDC to .* confirmed .* Transaction: 0x[0-9a-f]{64}/);
    expect((await chain.tokensOf(PAYEE)) - before).toBe(500_000n);
    // A second reply to the same question has no effect.
    await follow({ parts: [answer], taskId: asked.taskId }).catch(() => undefined);
    expect((await chain.tokensOf(PAYEE)) - before).toBe(500_000n);
    expect((await say('show my payment history')).text).toMatch(/0\.50 USDC to 0x\w+ .*for "tea": confirmed/);
    expect((await say('what are my payment limits')).text).toContain('0.50 USDC of it is spent or reserved');
  });

  it('are not made when a person refuses', async () => {
    await open();
    const before = await chain.tokensOf(PAYEE);
    const asked = await say(TEA);
    const { hash } = asked.end.questions[0]!;
    const refused = await follow({
      parts: [replyPart({ hash, decision: 'deny', text: 'no tea today' })],
      taskId: asked.taskId,
    });
    expect(refused.text).toContain('no tea today');
    expect(await chain.tokensOf(PAYEE)).toBe(before);
  });

  it('are not asked about when they cannot be made, and checked again after the approval', async () => {
    const wallet = await open('dangerous', 'limits: { perTransaction: "5.00", daily: "5.00" }');
    const before = await chain.tokensOf(PAYEE);
    const impossible = [
      [`send 5.01 USDC to ${PAYEE} for tea`, 'the limit for one payment, 5.00 USDC'],
      [`send 3.01 USDC to ${PAYEE} for tea`, 'it holds 3.00 USDC and 3.01 USDC is needed'],
      [`send 1.00 USDC to ${PAYEE.replace('C4', 'c4')} for tea`, 'contains a typing error'],
      [`send 1.00 USDC to ${wallet} for tea`, 'the address of this wallet itself'],
    ] as const;
    for (const [request, words] of impossible) {
      const { end, text } = await say(request);
      expect(end).toMatchObject({ state: 'completed', questions: [] });
      expect(text).toContain(words);
    }
    // Each could be paid when it was asked about, but not both.
    const asked = [
      await say(`send 2.00 USDC to ${PAYEE} for a`),
      await say(`send 2.00 USDC to ${PAYEE} for b`),
    ];
    const told = [];
    for (const { end, taskId } of asked) {
      const answer = replyPart({ hash: end.questions[0]!.hash, decision: 'approve' });
      told.push((await follow({ parts: [answer], taskId })).text);
    }
    expect(told).toEqual([
      expect.stringContaining('Paid 2.00 USDC'),
      expect.stringContaining('it holds 1.00 USDC and 2.00 USDC is needed'),
    ]);
    expect((await chain.tokensOf(PAYEE)) - before).toBe(2_000_000n);
  });

  it('are not approved by a reply in prose', async () => {
    await open();
    const before = await chain.tokensOf(PAYEE);
    const asked = await say(TEA);
    const prose = await follow({ parts: [textPart('approved, go on')], taskId: asked.taskId });
    expect(prose.end.state).toBe('input-required');
    expect(await chain.tokensOf(PAYEE)).toBe(before);
  });

  it('are made from the command line, and no key stays anywhere in the data folder', async () => {
    await open();
    const before = await chain.tokensOf(PAYEE);
    const env = { ...server.env, LANGO_TOKEN: TOKEN };
    const waiting = await lango(['send', TEA], { env });
    expect(waiting.code).toBe(4);
    expect(waiting.stderr).toContain(
      `pay 0.50 USDC to ${PAYEE} on Base Sepolia (chain 84532, test network), for "tea"?`,
    );
    const [, task, hash] = /--task (\S+) --approve (\S+)/.exec(waiting.stderr)!;
    const paid = await lango(['send', '--task', task!, '--approve', hash!], { env });
    expect(paid).toMatchObject({ code: 0, stdout: expect.stringContaining('Paid 0.50 USDC') });
    expect((await chain.tokensOf(PAYEE)) - before).toBe(500_000n);
    await server.stop();
    const files = readdirSync(home.folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /lango\.db/.test(name),
    );
    expect(files.length).toBeGreaterThan(0);
    const bytes = Buffer.concat(files.map((name) => readFileSync(path.join(home.folder, name))));
    // Raw transactions and hashes are stored there; a key would appear as a text of its own.
    expect(bytes.includes(PAYEE)).toBe(true);
    expect(/"0x[0-9a-f]{64}"/.test(bytes.toString('latin1'))).toBe(false);
  });

  it.each([
    ['after it reserved, before it signed', 'eth_estimateGas', 'hang'],
    ['after it signed, before it sent', SEND, 'hang'],
    ['after the network took it, before it heard so', SEND, 'swallow'],
    ['before it saw the receipt', 'eth_getTransactionReceipt', 'hang'],
  ] as const)('make one transfer when the server is killed %s', async (_, moment, fate) => {
    const wallet = await open('none');
    const before = await chain.tokensOf(PAYEE);
    const death = new Promise<void>((resolve) => {
      proxy.fate = (method) => {
        if (method !== moment) return 'pass';
        proxy.fate = () => 'hang';
        const dead = ended(server.child);
        server.child.kill('SIGKILL');
        void dead.then(() => resolve());
        return fate;
      };
    });
    let taskId = '';
    const watching = new AbortController();
    const sending = (async () => {
      for await (const event of client.send({ parts: [textPart(TEA)] }, watching.signal)) {
        if (event.type === 'task') taskId ||= event.taskId;
      }
    })().catch(() => undefined);
    await death;
    watching.abort(new Error('enough'));
    await sending;
    proxy.fate = () => 'pass';
    await start();
    const task = await finished(taskId);
    expect(task.state).toBe('completed');
    expect((await chain.tokensOf(PAYEE)) - before).toBe(500_000n);
    expect(await chain.rpc('eth_getTransactionCount', wallet, 'latest')).toBe('0x1');
    expect((await say('show my payment history')).text).toMatch(/for "tea": confirmed/);
  });

  async function finished(taskId: string) {
    for (let round = 0; round < 1_000; round += 1) {
      const task = await client.get({ taskId });
      if (isTerminal(task.state)) return task;
      await sleep(100);
    }
    throw new Error(`task ${taskId} did not end`);
  }
});
