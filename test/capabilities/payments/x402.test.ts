import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { LocalChain } from '../../chain/local-chain.js';
import { describeOnChain, RICH, startChain } from '../../chain/local-chain.js';
import { openPaidEndpoint, type PaidEndpoint } from '../../chain/paid-endpoint.js';
import { toolNamed } from '../../support/tool-call.js';
import { newKey, openTill, PAYEE, PAYER, type Till } from './setup.js';

const ALICE = { tenant: '', owner: 'alice' };
const NAME = 'payment_x402_fetch';

describeOnChain('paid requests by x402', () => {
  let chain: LocalChain;
  let endpoint: PaidEndpoint;
  let till: Till;
  beforeAll(async () => void (chain = await startChain()));
  afterAll(() => chain.stop());
  beforeEach(async () => {
    endpoint = await openPaidEndpoint(chain);
    till = openTill(chain);
    await chain.fund(PAYER, 1_000_000n);
  });
  afterEach(async () => {
    await till.close();
    await endpoint.close();
  });

  const spent = async () => (await till.store.spending(ALICE, 84_532)).spent;
  const request = (changes: object = {}) => ({
    url: `${endpoint.url}/paid?secret=1`,
    maxAmount: '0.05',
    payTo: PAYEE,
    ...changes,
  });

  it('return the price and the payee first, and pay nothing', async () => {
    const said = await till.call(NAME, { url: `${endpoint.url}/paid`, maxAmount: '0.05' });
    expect(said).toContain(
      `0.01 USDC to ${PAYEE} on Base Sepolia (chain 84532, test network). To pay it, call again with payTo ${PAYEE}.`,
    );
    expect(endpoint.payments).toEqual([]);
    expect(await spent()).toBe(0n);
    expect(await till.call(NAME, { url: `${endpoint.url}/free`, maxAmount: '0.05' })).toContain(
      'nothing to pay',
    );
  });

  it('are dangerous only when they may pay, and their description holds everything that is approved', () => {
    const tool = toolNamed(till.payments.tools, NAME);
    expect(tool.danger({ url: 'https://a.example/', maxAmount: '0.05' })).toBe('moderate');
    const input = {
      url: 'https://a.example/x',
      maxAmount: '0.05',
      payTo: PAYEE,
      method: 'POST',
      body: '{"a":1}',
    };
    expect(tool.danger(input)).toBe('dangerous');
    expect(tool.describe!(input)).toBe(
      `pay up to 0.05 USDC to ${PAYEE} on Base Sepolia (chain 84532, test network), for POST https://a.example/x with the body "{\\"a\\":1}"`,
    );
  });

  it.each(['GET', 'POST'])(
    'pay for a %s request, return the response, and verify the payment on the chain',
    async (method) => {
      const before = await chain.tokensOf(PAYEE);
      const body = method === 'POST' ? { body: 'where?' } : {};
      const said = await till.call(NAME, request({ method, ...body }));
      expect(said).toMatch(
        /^Paid 0\.01 USDC to 0x\w+ on Base Sepolia .*; confirmed .*Transaction: 0x[0-9a-f]{64}/,
      );
      expect(said).toContain('"weather":"fine"');
      if (method === 'POST') expect(said).toContain('where?');
      expect((await chain.tokensOf(PAYEE)) - before).toBe(10_000n);
      const [payment] = await till.store.list(ALICE, 1);
      expect(payment).toMatchObject({
        kind: 'x402',
        state: 'confirmed',
        amount: 10_000n,
        purpose: `${method} ${endpoint.url}/paid`,
      });
      expect(await till.call('payment_history')).toContain('by x402');
    },
  );

  it('use one authorization for one key, and are never paid for twice', async () => {
    const before = await chain.tokensOf(PAYEE);
    const key = newKey();
    endpoint.offer.breaks = true;
    const first = await till.words(NAME, request(), { key });
    expect(first).toMatch(/outcome is not known yet|No response arrived/);
    expect(first).not.toContain('status 502');
    endpoint.offer.breaks = false;
    const second = await till.words(NAME, request(), { key });
    expect((await chain.tokensOf(PAYEE)) - before).toBe(10_000n);
    expect(second).toMatch(/Paid 0\.01 USDC/);
    expect(new Set(endpoint.payments.map(nonceOf)).size).toBe(1);
    await till.words(NAME, request(), { key });
    expect((await chain.tokensOf(PAYEE)) - before).toBe(10_000n);
    expect(await spent()).toBe(10_000n);
  });

  it.each<{ what: string; changes?: object; offer?: Partial<PaidEndpoint['offer']>; words: RegExp }>([
    {
      what: 'another payee',
      offer: { payTo: RICH[0] },
      words: /its payee is 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266, but 0x3C44\w+ was approved/,
    },
    {
      what: 'more than was approved',
      offer: { amount: '50001' },
      words: /it costs 0\.050001 USDC, but at most 0\.05 USDC was approved/,
    },
    {
      what: 'more than the operator allows',
      changes: { maxAmount: '0.11' },
      words: /exceeds the limit for one request, 0\.10 USDC/,
    },
    {
      what: 'a host that is not allowed',
      changes: { url: 'http://127.0.0.2:1/paid' },
      words: /127\.0\.0\.2 is not one of the hosts that may be paid/,
    },
  ])('are refused for $what, and nothing is signed', async ({ changes, offer = {}, words }) => {
    Object.assign(endpoint.offer, offer);
    expect(await till.words(NAME, request(changes))).toMatch(words);
    expect(endpoint.payments).toEqual([]);
    expect(await spent()).toBe(0n);
  });

  it('reach no private address that is not allowed', async () => {
    const other = openTill(chain, { allowWeb: [] });
    expect(await other.words(NAME, request())).toMatch(/private or loopback address/);
    await other.close();
  });

  it('count against the same limits as every other payment', async () => {
    const other = openTill(chain, { limits: { perTransaction: 1_000_000n, daily: 25_000n } });
    const outputs = await Promise.all(Array.from({ length: 5 }, () => other.words(NAME, request())));
    // Two get through; both are settled at once, and the report of the second may come late.
    expect(outputs.some((said) => said.startsWith('Paid'))).toBe(true);
    expect(outputs.filter((said) => said.includes('limit of 0.025 USDC in any 24 hours'))).toHaveLength(3);
    await other.close();
  });

  it('release the reserved amount once an authorization has expired unused', async () => {
    await till.close();
    till = openTill(chain, { confirmMs: 0 });
    await chain.pause(true);
    const key = newKey();
    const said = await till.words(NAME, request(), { key });
    expect(said).toMatch(/outcome is not known yet/);
    expect(await spent()).toBe(10_000n);
    await chain.pause(false);
    await chain.rpc('evm_increaseTime', 1_000);
    await chain.rpc('evm_mine');
    expect(await till.call('payment_history')).toMatch(/failed, it expired unused: no USDC moved/);
    expect(await spent()).toBe(0n);
  });
});

function nonceOf(header: string): unknown {
  const payload = JSON.parse(Buffer.from(header, 'base64').toString()) as {
    payload: { authorization: { nonce: string } };
  };
  return payload.payload.authorization.nonce;
}
