import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { LangoError } from '../../../src/core/errors.js';
import type { LocalChain } from '../../chain/local-chain.js';
import { describeOnChain, RICH_KEYS, startChain } from '../../chain/local-chain.js';
import { memoryVault, newKey, openTill, PAYEE, PAYER, type Till } from './setup.js';

const TEA = { to: PAYEE, amount: '0.50', purpose: 'tea' };

describeOnChain('payments on a chain', () => {
  let chain: LocalChain;
  let till: Till;
  beforeAll(async () => void (chain = await startChain()));
  afterAll(() => chain.stop());
  beforeEach(async () => {
    till = openTill(chain);
    await chain.fund(PAYER, 100_000_000n);
  });
  afterEach(() => till.close());

  it('send USDC, and are paid only once the receipt holds the transfer', async () => {
    const before = await chain.tokensOf(PAYEE);
    const said = await till.call('payment_send', TEA);
    expect(said).toMatch(
      new RegExp(
        `^Paid 0\\.50 USDC to ${PAYEE} on Base Sepolia \\(chain 84532, test network\\) for "tea"; confirmed`,
      ),
    );
    expect((await chain.tokensOf(PAYEE)) - before).toBe(500_000n);
    const [payment] = await till.store.list({ tenant: '', owner: 'alice' }, 1);
    const receipt = (await chain.rpc('eth_getTransactionReceipt', payment!.hash)) as { status: string };
    expect(receipt.status).toBe('0x1');
    expect(said).toContain(payment!.hash);
  });

  it('make one transfer for one key, at once or later, for any number of calls', async () => {
    const before = await chain.tokensOf(PAYEE);
    const key = newKey();
    const all = await Promise.all(
      Array.from({ length: 20 }, () => till.attempt('payment_send', TEA, { key })),
    );
    const later = await till.call('payment_send', TEA, { key });
    expect(new Set(all.map((output) => ('content' in output ? output.content : output.message)))).toEqual(
      new Set([later]),
    );
    expect((await chain.tokensOf(PAYEE)) - before).toBe(500_000n);
  });

  it('keep the daily limit when 100 calls pay at once from several contexts, each with its own nonce', async () => {
    const before = await chain.tokensOf(PAYEE);
    const outputs = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        till.attempt('payment_send', { ...TEA, amount: '2.00' }, { contextId: `context ${index % 7}` }),
      ),
    );
    const refused = outputs.filter((output) => output instanceof LangoError);
    expect(outputs.filter((output) => 'content' in output && !output.isError)).toHaveLength(25);
    expect(new Set(refused.map(({ code }) => code))).toEqual(new Set(['limit-reached']));
    expect((await chain.tokensOf(PAYEE)) - before).toBe(50_000_000n);
    const payments = await till.store.list({ tenant: '', owner: 'alice' }, 200);
    expect(new Set(payments.map(({ nonce }) => nonce)).size).toBe(25);
  });

  it.each([
    ['a broken checksum', { ...TEA, to: PAYEE.replace('C4', 'c4') }, /checksum of 0x3c44\w+ is wrong/i],
    ['the zero address', { ...TEA, to: `0x${'0'.repeat(40)}` }, /zero address/],
    ['its own address', { ...TEA, to: PAYER }, /address of this wallet itself/],
    [
      'an amount over the limit of one payment',
      { ...TEA, amount: '10.000001' },
      /limit for one payment, 10.00 USDC/,
    ],
  ])('are refused for %s, and nothing is reserved', async (_, input, words) => {
    expect(await till.words('payment_send', input)).toMatch(words);
    expect((await till.store.spending({ tenant: '', owner: 'alice' }, 84_532)).spent).toBe(0n);
  });

  it('are refused when the payee is the token contract', async () => {
    expect(await till.words('payment_send', { ...TEA, to: chain.token })).toMatch(/contract of the token/);
  });

  it.each([
    '0',
    '0.00',
    '-1',
    '1e3',
    '0x10',
    '1.2345678',
    '.5',
    '1.',
    '',
    ' 1',
    '1,5',
    '١',
    '9'.repeat(13),
    'NaN',
  ])('are refused for the amount %j', async (amount) => {
    expect(await till.words('payment_send', { ...TEA, amount })).toMatch(/"path": \[\s*"amount"/);
  });

  it('report what is missing: tokens, gas, or a wallet', async () => {
    const key = `0x${'42'.repeat(32)}`;
    const other = openTill(chain, { vault: memoryVault(key) });
    const { privateKeyToAddress } = await import('viem/accounts');
    const address = privateKeyToAddress(key as `0x${string}`);
    expect(await other.words('payment_send', TEA)).toMatch(
      /does not hold enough: it holds 0\.00 USDC and 0\.50 USDC is needed/,
    );
    await chain.fund(address, 1_000_000n, 0n);
    expect(await other.words('payment_send', TEA)).toMatch(
      /holds 0\.00 ETH and up to 0\.0\d+ ETH is needed for gas/,
    );
    await chain.fund(address, 0n);
    await other.call('payment_send', TEA);
    expect((await other.store.spending({ tenant: '', owner: 'alice' }, 84_532)).spent).toBe(500_000n);
    await other.close();
    const none = openTill(chain, { vault: memoryVault() });
    expect(await none.words('payment_balance')).toMatch(/no wallet yet/);
    await none.close();
  });

  it('create a wallet once, and never show its key', async () => {
    const vault = memoryVault();
    const other = openTill(chain, { vault });
    const first = await other.call('payment_create_wallet');
    const address = /0x[0-9a-fA-F]{40}/.exec(first)![0];
    expect(await other.call('payment_create_wallet')).toContain(`There is a wallet already: ${address}`);
    const [key] = vault.keys.values();
    const said = [first, await other.call('payment_wallet_info'), await other.call('payment_balance')].join(
      '\n',
    );
    expect(said).toContain(address);
    expect(said.toLowerCase()).not.toContain(key!.slice(2));
    await other.close();
  });

  it('are visible to their owner only, and so is the wallet', async () => {
    await till.call('payment_send', TEA);
    expect(await till.call('payment_history', {}, { owner: 'bob' })).toBe('There are no payments yet.');
    expect(await till.words('payment_balance', {}, { owner: 'bob' })).toMatch(/no wallet yet/);
  });

  it('are shown with balance, limits and history', async () => {
    await till.call('payment_send', { ...TEA, purpose: 'a "fine" tea' });
    expect(await till.call('payment_balance')).toMatch(
      new RegExp(`^${PAYER} holds [\\d.]+ USDC and [\\d.]+ ETH for gas`),
    );
    expect(await till.call('payment_limits')).toContain(
      'at most 50.00 USDC; 0.50 USDC of it is spent or reserved, 49.50 USDC is left',
    );
    expect(await till.call('payment_history')).toMatch(
      new RegExp(
        `0\\.50 USDC to ${PAYEE} on chain 84532 for "a \\\\"fine\\\\" tea": confirmed, block \\d+, transaction 0x[0-9a-f]{64}$`,
      ),
    );
  });

  it('are not signed when the chain predicts a revert', async () => {
    await chain.pause(true);
    expect(await till.words('payment_send', TEA)).toMatch(/token contract would reject this transfer/);
    await chain.pause(false);
    const [payment] = await till.store.list({ tenant: '', owner: 'alice' }, 1);
    expect(payment!.state).toBe('failed');
    expect(payment!.signed).toBeUndefined();
  });

  it('are not reported as paid without a transfer in the receipt', async () => {
    await chain.quiet(true);
    const output = await till.attempt('payment_send', TEA);
    await chain.quiet(false);
    expect(output).toMatchObject({
      isError: true,
      content: expect.stringMatching(/^Not paid: .*reports no such transfer/),
    });
  });

  it('come from one wallet although an owner has its key on two servers', async () => {
    const other = openTill(chain, { vault: memoryVault(RICH_KEYS[1]) });
    const outputs = await Promise.all([
      till.attempt('payment_send', TEA),
      other.attempt('payment_send', TEA),
    ]);
    // Two servers with one key know nothing of each other: the later one has certainly not paid.
    const paid = outputs.filter((output) => 'content' in output && !output.isError);
    expect(paid.length).toBeGreaterThanOrEqual(1);
    await other.close();
  });
});
