import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { LangoError } from '../../../src/core/errors.js';
import { silentLogger } from '../../../src/core/logger.js';
import { createEgress } from '../../../src/http/egress.js';
import type { Payment } from '../../../src/capabilities/payments/payment-store.js';
import type { LocalChain } from '../../chain/local-chain.js';
import { describeOnChain, RICH, startChain } from '../../chain/local-chain.js';
import type { Fate } from '../../chain/rpc-proxy.js';
import { RpcProxy } from '../../chain/rpc-proxy.js';
import { until } from '../../support/until.js';
import { newKey, openTill, PAYEE, PAYER, type Till, type TillOptions } from './setup.js';

const ALICE = { tenant: '', owner: 'alice' };
const TEA = { to: PAYEE, amount: '0.50', purpose: 'tea' };
const SEND = 'eth_sendRawTransaction';

describeOnChain('payments during failures', () => {
  let chain: LocalChain;
  let proxy: RpcProxy;
  const tills: Till[] = [];

  beforeAll(async () => {
    chain = await startChain();
    await chain.fund(PAYER, 100_000_000n);
  });
  afterAll(() => chain.stop());
  beforeEach(async () => void (proxy = await RpcProxy.open(chain.url)));
  afterEach(async () => {
    for (const till of tills.splice(0)) await till.close();
    await proxy[Symbol.asyncDispose]();
    await chain.rpc('evm_setAutomine', true);
    await chain.rpc('evm_mine');
  });

  function open(options: TillOptions = {}): Till {
    const till = openTill(chain, { rpcUrl: proxy.url, ...options });
    tills.push(till);
    return till;
  }

  /** Applies a fate to the calls of one method only. */
  function fating(method: string, fate: Fate): void {
    proxy.fate = (called) => (called === method ? fate : 'pass');
  }

  async function only(till: Till): Promise<Payment> {
    const payments = await till.store.list(ALICE, 10);
    expect(payments).toHaveLength(1);
    return payments[0]!;
  }

  async function spent(till: Till): Promise<bigint> {
    return (await till.store.spending(ALICE, 84_532)).spent;
  }

  it.each<[string, Fate, RegExp]>([
    ['down', 'drop', /RPC server of Base Sepolia .* cannot be reached/],
    ['silent', 'hang', /RPC server of Base Sepolia .* did not respond within 400 ms/],
    ['no RPC server', 'garbage', /sent an invalid response|responded with an error/],
    [
      'at its limit',
      { error: 'rate limit exceeded', code: -32_005 },
      /responded with an error: rate limit exceeded/,
    ],
    ['mad', { result: { a: 1 } }, /sent an invalid response|chain NaN/],
  ])(
    'fail with a typed error when the RPC server is %s, and leave nothing reserved',
    async (_, fate, words) => {
      const egressOf = (timeoutMs: number) =>
        createEgress({ allowPrivate: [new URL(proxy.url).host], timeoutMs, logger: silentLogger });
      const [short, long] = [egressOf(400), egressOf(30_000)];
      let isFailing = true;
      // Only the silent server gets the short limit: the others, and the last call, may take longer.
      const till = open({
        rpcFetch: (...given) => (isFailing && fate === 'hang' ? short : long)(...given),
      });
      proxy.fate = () => fate;
      for (const [name, input] of [
        ['payment_balance', {}],
        ['payment_send', TEA],
      ] as const) {
        const error = await till.words(name, input);
        expect(error).toMatch(words);
        expect(error).not.toContain(proxy.url);
      }
      expect(await spent(till)).toBe(0n);
      isFailing = false;
      proxy.fate = () => 'pass';
      await till.call('payment_send', TEA);
    },
  );

  it.each(['eth_getBalance', 'eth_estimateGas', 'eth_getTransactionCount', 'eth_getBlockByNumber'])(
    'return the reservation when %s fails before anything is signed',
    async (method) => {
      const till = open();
      fating(method, 'drop');
      expect(await till.attempt('payment_send', TEA)).toBeInstanceOf(Error);
      const { state, signed } = await only(till);
      expect({ state, signed }).toEqual({ state: 'failed', signed: undefined });
      expect(await spent(till)).toBe(0n);
    },
  );

  it('are refused on a chain that is not the configured one', async () => {
    const till = open();
    fating('eth_chainId', { result: '0x2105' });
    expect(await till.words('payment_send', TEA)).toMatch(
      /RPC server is on chain 8453, but Base Sepolia .* is configured/,
    );
    expect(proxy.methods).not.toContain(SEND);
  });

  it.each([
    ['nothing', '0x00000000000000000000000000000000DeaDBeef'],
    ['no contract', RICH[0]],
  ])('are refused when there is %s at the address of the token', async (_, token) => {
    const till = open({ token });
    expect(await till.words('payment_send', TEA)).toMatch(/There is no token contract at 0x/);
  });

  it('are refused when the gas costs too much', async () => {
    const till = open({ maxGasCost: 1n });
    expect(await till.words('payment_send', TEA)).toMatch(
      /gas of this payment would cost up to .* the limit is 0\.000000000000000001 ETH/,
    );
    expect(await spent(till)).toBe(0n);
  });

  it('report an unknown outcome when the response to sending is lost, and find it out later', async () => {
    const till = open({ confirmMs: 0 });
    const key = newKey();
    const before = await chain.tokensOf(PAYEE);
    proxy.fate = (method) =>
      method === SEND ? 'swallow' : method === 'eth_getTransactionReceipt' ? 'drop' : 'pass';
    expect(await till.attempt('payment_send', TEA, { key })).toMatchObject({
      isError: true,
      content: expect.stringMatching(
        /^The outcome is not known yet: .* Transaction: 0x[0-9a-f]{64}\. Do not pay again/,
      ),
    });
    expect(await spent(till)).toBe(500_000n);
    proxy.fate = () => 'pass';
    await until(async () => /: confirmed, block/.test(await till.call('payment_history')));
    expect(await till.settle(TEA, key)).toMatchObject({ content: expect.stringMatching(/^Paid 0\.50 USDC/) });
    expect((await chain.tokensOf(PAYEE)) - before).toBe(500_000n);
  });

  it('resend a transaction that did not reach the network, and never sign it again', async () => {
    const till = open({ confirmMs: 0 });
    const before = await chain.tokensOf(PAYEE);
    fating(SEND, 'drop');
    expect(await till.attempt('payment_send', TEA)).toMatchObject({ isError: true });
    const { signed, hash } = await only(till);
    proxy.fate = () => 'pass';
    await until(async () => (await till.call('payment_history')).includes('confirmed'));
    expect(await only(till)).toMatchObject({ state: 'confirmed', signed, hash });
    expect((await chain.tokensOf(PAYEE)) - before).toBe(500_000n);
  });

  it('report a stuck transaction with its hash, and settle it once it is in a block', async () => {
    const till = open({ confirmMs: 0 });
    await chain.rpc('evm_setAutomine', false);
    const output = await till.attempt('payment_send', TEA);
    const { hash, state } = await only(till);
    expect(state).toBe('sent');
    expect(output).toMatchObject({ isError: true, content: expect.stringContaining(hash!) });
    await chain.rpc('evm_mine');
    till.payments.start();
    await until(async () => (await only(till)).state === 'confirmed');
  });

  it('wait for the configured number of confirmations', async () => {
    const till = open({ confirmations: 3, confirmMs: 0 });
    // The receipt is queried once, when the transaction is in a block.
    const before = await chain.rpc('eth_blockNumber');
    proxy.fate = async (method): Promise<Fate> => {
      if (method === 'eth_getTransactionReceipt')
        await until(async () => (await chain.rpc('eth_blockNumber')) !== before);
      return 'pass';
    };
    expect(await till.attempt('payment_send', TEA)).toMatchObject({
      content: expect.stringMatching(/outcome is not known yet.*1 of 3 confirmations/),
    });
    await chain.rpc('anvil_mine', '0x2');
    expect(await till.call('payment_history')).toMatch(/: confirmed/);
  });

  it('recognize a reverted transaction: nothing moved, and nothing counts against the limit', async () => {
    const till = open({ confirmMs: 0 });
    await chain.rpc('evm_setAutomine', false);
    await till.attempt('payment_send', TEA);
    // The token is paused in the same block, ahead of the transfer.
    const data = '0x16c38b3c' + '1'.padStart(64, '0');
    await chain.rpc('eth_sendTransaction', {
      from: RICH[0],
      to: chain.token,
      data,
      maxFeePerGas: '0x174876e800',
      maxPriorityFeePerGas: '0x174876e800',
    });
    await chain.rpc('evm_mine');
    await chain.rpc('evm_setAutomine', true);
    expect(await till.call('payment_history')).toMatch(/: failed, reverted in block \d+: no USDC moved/);
    await chain.pause(false);
    expect(await spent(till)).toBe(0n);
  });

  it('report a transaction whose nonce was used by another one', async () => {
    const till = open({ confirmMs: 0 });
    await chain.rpc('evm_setAutomine', false);
    const key = newKey();
    const before = await chain.tokensOf(PAYEE);
    await till.attempt('payment_send', TEA, { key });
    const { nonce, hash } = await only(till);
    await chain.rpc('anvil_dropTransaction', hash);
    await chain.rpc('eth_sendTransaction', {
      from: PAYER,
      to: PAYER,
      value: '0x0',
      nonce: `0x${nonce!.toString(16)}`,
    });
    await chain.rpc('evm_mine');
    expect(await till.settle(TEA, key)).toMatchObject({
      isError: true,
      content: expect.stringMatching(/^Not paid: .*another transaction of this wallet used its nonce/),
    });
    expect((await chain.tokensOf(PAYEE)) - before).toBe(0n);
    expect(await spent(till)).toBe(0n);
  });

  it('do not resend a transaction that the network refused, whose nonce the next one gets', async () => {
    const till = open();
    const before = await chain.tokensOf(PAYEE);
    fating(SEND, { error: 'insufficient funds for gas * price + value' });
    expect(await till.attempt('payment_send', TEA)).toMatchObject({
      isError: true,
      content: expect.stringMatching(/^Not paid: .*the network refused it: insufficient funds/),
    });
    const { key, nonce } = await only(till);
    expect(await spent(till)).toBe(500_000n);
    proxy.fate = () => 'pass';
    await till.call('payment_history');
    await till.call('payment_send', { ...TEA, purpose: 'more tea' });
    const [second] = await till.store.list(ALICE, 1);
    expect(second!.nonce).toBe(nonce);
    expect(await till.call('payment_history')).toMatch(/for "tea": failed/);
    expect((await till.store.get(ALICE, key))!.state).toBe('failed');
    expect((await chain.tokensOf(PAYEE)) - before).toBe(500_000n);
  });

  it('sign nothing for a call that was canceled while it waited', async () => {
    const till = open();
    const given = new AbortController();
    const reason = new LangoError('canceled', 'Given up');
    proxy.fate = (method) => {
      if (method === 'eth_estimateGas') given.abort(reason);
      return 'pass';
    };
    expect(await till.attempt('payment_send', TEA, { signal: given.signal })).toBe(reason);
    const { state, signed } = await only(till);
    expect({ state, signed }).toEqual({ state: 'failed', signed: undefined });
    expect(proxy.methods).not.toContain(SEND);
  });
});
