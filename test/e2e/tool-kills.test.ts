import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { replyPart } from '../../src/index.js';
import type { LocalChain } from '../chain/local-chain.js';
import { describeOnChain, RICH, RICH_KEYS, startChain } from '../chain/local-chain.js';
import { openPaidEndpoint, type PaidEndpoint, type PaidStep } from '../chain/paid-endpoint.js';
import { RpcProxy } from '../chain/rpc-proxy.js';
import { lango } from '../cli/lango-process.js';
import { afterCall, KillableServer, type Moment } from '../support/killable-server.js';
import { describeBrowsing, openSite, type Site } from '../capabilities/browser/setup.js';

/** The promises of a tool's effect class, tested with the real program and a real store, killed with SIGKILL. */

const DELAYS_MS = [0, 4, 12];

/** The final text of the task with its artifacts. */
function wordsOf(task: Awaited<ReturnType<KillableServer['settled']>>): string {
  return JSON.stringify(task.artifacts) + task.text;
}

/** Kills the server as soon as it sees each call, and checks the result after the restart. */
async function answersAll(
  server: KillableServer,
  asked: readonly (readonly [tool: string, sentence: string, answer: string])[],
): Promise<void> {
  for (const [tool, sentence, answer] of asked) {
    const taskId = await server.killedWhile(sentence, {
      place: { contextId: 'one-talk' },
      moment: afterCall(tool, 0),
    });
    const task = await server.settled(taskId);
    expect([tool, task.state, wordsOf(task)]).toEqual([tool, 'completed', expect.stringContaining(answer)]);
  }
}

describe('the vault on disk, killed during a call', () => {
  let server: KillableServer;
  beforeEach(async () => {
    server = await KillableServer.open('tools: { exec: { enabled: false } }\napproval: { policy: none }\n');
  });
  afterEach(() => server.close());

  it.each(DELAYS_MS)('stores one secret, %i ms after the call', async (ms) => {
    const taskId = await server.killedWhile('store the secret swordfish-9000 as fish', {
      moment: afterCall('secrets_store', ms),
    });
    const task = await server.settled(taskId);
    expect(task.state).toBe('completed');
    expect(wordsOf(task)).toContain('{{secret:fish}}');
    expect(wordsOf(task)).not.toMatch(/There is a|failed/);
    expect((await server.say('which secrets are there')).text).toContain('{{secret:fish}}');
  });

  it.each(DELAYS_MS)('deletes one secret, %i ms after the call', async (ms) => {
    await server.say('store the secret swordfish-9000 as fish');
    const taskId = await server.killedWhile('delete the secret fish', {
      moment: afterCall('secrets_delete', ms),
    });
    const task = await server.settled(taskId);
    expect(task.state).toBe('completed');
    expect(wordsOf(task)).toContain('deleted: fish');
    expect((await server.say('which secrets are there')).text).not.toContain('{{secret:fish}}');
  });

  it.each(DELAYS_MS)('makes one key, %i ms after the call', async (ms) => {
    const taskId = await server.killedWhile('create a key named release', {
      moment: afterCall('crypto_create_key', ms),
    });
    const task = await server.settled(taskId);
    expect(task.state).toBe('completed');
    const [, made] = /x: ([\w-]{43})/.exec(wordsOf(task))!;
    expect((await server.say('which keys are there')).text).toContain(made);
  });

  it('repeats calls that change nothing', async () => {
    await server.say('store the secret swordfish-9000 as fish');
    await server.say('create a key named release');
    await server.say('create an encryption key named box');
    const signed = await server.say("sign 'hello' with the key release");
    const [, signature] = /signature: (\S+)/.exec(signed.text)!;
    const asked = [
      ['secrets_get', 'show the secret fish', '{{secret:fish}}'],
      ['secrets_list', 'which secrets are there', '{{secret:fish}}'],
      ['crypto_hash', 'hash hello with sha256', '2cf24dba5fb0a30e26e83b2ac5b9e29e'],
      ['crypto_keys', 'which keys are there', 'release'],
      ['crypto_sign', "sign 'hello' with the key release", signature!],
      ['crypto_verify', `verify the signature ${signature} of 'hello' with the key release`, 'valid: true'],
      ['crypto_encrypt', "encrypt 'meet me' with the key box", 'ciphertext: ey'],
    ] as const;
    await answersAll(server, asked);
  });

  it.each(DELAYS_MS)('decrypts into one secret, %i ms after the call', async (ms) => {
    await server.say('create an encryption key named box');
    const sealed = await server.say("encrypt 'meet me at the old mill' with the key box");
    const [, jwe] = /ciphertext: (\S+)/.exec(sealed.text)!;
    const taskId = await server.killedWhile(`decrypt ${jwe} with the key box and save it as letter`, {
      moment: afterCall('crypto_decrypt', ms),
    });
    const task = await server.settled(taskId);
    expect(task.state).toBe('completed');
    expect(wordsOf(task)).toContain('{{secret:letter}}');
    expect(wordsOf(task)).not.toMatch(/old mill|failed/);
  });
});

describeOnChain('the wallet and paid requests, killed during a call', () => {
  const PAYEE = RICH[2];
  let chain: LocalChain;
  let proxy: RpcProxy;
  let endpoint: PaidEndpoint;
  let server: KillableServer;
  beforeAll(async () => void (chain = await startChain()));
  afterAll(() => chain.stop());
  beforeEach(async () => {
    proxy = await RpcProxy.open(chain.url);
    endpoint = await openPaidEndpoint(chain);
    server = await KillableServer.open(`
tools: { exec: { enabled: false } }
approval: { policy: none }
egress: { allowPrivate: ["127.0.0.1"] }
payment:
  enabled: true
  rpcUrl: ${proxy.url}
  tokenAddress: "${chain.token}"
  confirmations: 1
  requestSeconds: 3
  confirmSeconds: 5
  x402: { allowHosts: ["127.0.0.1"] }
`);
  });
  afterEach(async () => {
    await server.close();
    await endpoint.close();
    await proxy[Symbol.asyncDispose]();
  });

  it.each(DELAYS_MS)('create one wallet, %i ms after the call', async (ms) => {
    const taskId = await server.killedWhile('create a wallet', {
      moment: afterCall('payment_create_wallet', ms),
    });
    const task = await server.settled(taskId);
    expect(task.state).toBe('completed');
    const [address] = /0x[0-9a-fA-F]{40}/.exec(wordsOf(task))!;
    expect((await server.say('what is my wallet address')).text).toContain(address);
  });

  it('repeat calls that change nothing', async () => {
    await server.say('create a wallet');
    await answersAll(server, [
      ['payment_wallet_info', 'what is my wallet address', '0x'],
      ['payment_balance', 'what is my USDC balance', 'holds 0.00 USDC'],
      ['payment_limits', 'what are my payment limits', 'In any 24 hours'],
      ['payment_history', 'show my payment history', 'There are no payments yet'],
    ]);
  });

  /** Makes both work again. */
  const afterDeath = (): void => {
    endpoint.hangsAt = () => false;
    proxy.fate = () => 'pass';
  };
  /** The endpoint hangs at this step forever, and so does the call. */
  const atEndpoint = (step: PaidStep): Moment => ({
    arm(die) {
      endpoint.hangsAt = (now) => {
        if (now !== step) return false;
        endpoint.hangsAt = () => true;
        die();
        return true;
      };
    },
  });
  /** The chain hangs at the first call of this method after the price was returned. */
  const atChain = (method: string): Moment => ({
    arm(die) {
      endpoint.hangsAt = (now) => {
        if (now !== 'asked') return false;
        endpoint.hangsAt = () => false;
        proxy.fate = (called) => {
          if (called !== method) return 'pass';
          proxy.fate = () => 'hang';
          die();
          return 'hang';
        };
        return false;
      };
    },
  });

  it.each([
    ['before it knew the price', () => atEndpoint('asked')],
    ['after it reserved, before it signed', () => atChain('eth_getBalance')],
    ['after it signed, before the payee took it', () => atEndpoint('paid')],
    ['after the payee took it, before the response', () => atEndpoint('settled')],
  ])('pay once by payment_x402_fetch when the server is killed %s', async (_, moment) => {
    await lango(['wallet', 'import'], {
      env: { ...server.home.env, LANGO_URL: server.origin, LANGO_TOKEN: server.token },
      input: RICH_KEYS[1],
    });
    await chain.fund(RICH[1], 1_000_000n);
    const [before, payees] = [await chain.tokensOf(RICH[1]), await chain.tokensOf(PAYEE)];
    const taskId = await server.killedWhile(
      `fetch ${endpoint.url}/paid and pay up to 0.05 USDC to ${PAYEE}`,
      { moment: moment(), afterDeath },
    );
    const task = await server.settled(taskId);
    expect(task.state).toBe('completed');
    expect(wordsOf(task)).toMatch(
      /Paid 0\.01 USDC|The response to that payment was lost; it is not paid again/,
    );
    expect(before - (await chain.tokensOf(RICH[1]))).toBe(10_000n);
    expect((await chain.tokensOf(PAYEE)) - payees).toBe(10_000n);
  });
});

describeBrowsing('the browser, killed during a call', () => {
  it('opens and searches again, and reports that no page is open after the page was lost', async () => {
    const site = await openSite({
      '/': '<title>Harbor</title><h1>Harbor</h1>',
      '/s': '<title>Found</title>',
    });
    const server = await KillableServer.open(
      `tools: { exec: { enabled: false }, browser: { allowHosts: ["${site.host}"], searchUrl: "${site.origin}/s?q={query}" } }\n`,
    );
    try {
      const none = 'No page is open';
      await answersAll(server, [
        ['browser_navigate', `open ${site.origin}/`, 'Page: Harbor'],
        ['browser_search', 'search with the browser for oranges', 'oranges'],
      ]);
      // The page is lost before the question: a fast result could be stored before the kill.
      await server.kill();
      await server.start();
      await answersAll(server, [
        ['browser_observe', 'what can be clicked on the page', none],
        ['browser_extract', 'read the page', none],
        ['browser_screenshot', 'take a screenshot', none],
        ['browser_close', 'close the browser', 'browser'],
      ]);
    } finally {
      await server.close();
      await site.close();
    }
  });
});

describeBrowsing('browser_act, killed during a click', () => {
  let site: Site;
  let server: KillableServer;
  let order: () => void = () => {};
  beforeEach(async () => {
    site = await openSite({
      '/': '<title>Shop</title><form action="/bought"><button>Buy</button></form>',
      '/bought': () => order(),
    });
    server = await KillableServer.open(
      `tools: { exec: { enabled: false }, browser: { allowHosts: ["${site.host}"] } }\n`,
    );
  });
  afterEach(async () => {
    await server.close();
    await site.close();
  });

  it('is not repeated by itself: a person is asked, and their refusal is reported', async () => {
    const place = { contextId: 'shopping' };
    await server.say(`open ${site.origin}/`, place);
    const seen = await server.say('what can be clicked on the page?', place);
    const [ref] = /p\d+e\d+/.exec(seen.text)!;
    const moment: Moment = { arm: (die) => void (order = die) };
    const taskId = await server.killedWhile(`click ${ref}`, { place, moment });
    const task = await server.settled(taskId);
    expect(task).toMatchObject({
      state: 'input-required',
      questions: [{ kind: 'outcome-unknown', tool: 'browser_act', arguments: { ref, action: 'click' } }],
    });
    expect(task.text).toContain('may or may not have taken effect');
    const answer = replyPart({ hash: task.questions[0]!.hash, decision: 'deny', text: 'it was bought' });
    const { text } = await server.send([answer], { taskId });
    expect(text).toContain('its outcome is unknown and a person does not want it repeated ("it was bought")');
    expect(site.asked.filter((path) => path === '/bought')).toHaveLength(1);
  });
});
