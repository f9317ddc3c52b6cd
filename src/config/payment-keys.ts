import { z } from 'zod';
import { amountProblem, DECIMALS, GAS_DECIMALS, ADDRESS } from '../core/amount.js';
import { count, host, httpUrl, refuseDuplicates, seconds } from './fields.js';

/** A decimal number as a string, since numbers of YAML and JSON are floats. */
function amount(decimals: number): z.ZodString {
  return z.string().superRefine((text, context) => {
    const problem = amountProblem(text, decimals);
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
  });
}

const limits = z
  .strictObject({
    perTransaction: amount(DECIMALS)
      .default('1.00')
      .describe('The largest single payment, in USDC. A quoted string.'),
    daily: amount(DECIMALS)
      .default('5.00')
      .describe('The most that one user may pay in any 24 hours, in USDC. A quoted string.'),
    gasCost: amount(GAS_DECIMALS)
      .default('0.0005')
      .describe('The most gas that one payment may cost, in ETH. A quoted string.'),
  })
  .prefault({})
  .describe('Spending limits. An amount is reserved before anything is signed.');

const x402 = z
  .strictObject({
    maxAmount: amount(DECIMALS)
      .default('0.10')
      .describe('The most that one request to a paid endpoint may cost, in USDC. A quoted string.'),
    allowHosts: z
      .array(host())
      .superRefine(refuseDuplicates((name) => name, []))
      .default([])
      .describe(
        'Hosts of paid endpoints, as `name` or `name:port`. Only these are called; an empty list allows none.',
      ),
  })
  .prefault({})
  .describe('Payment for web requests (HTTP status 402).');

export const payment = z
  .strictObject({
    enabled: z.boolean().default(false).describe('Offer the payment tools: USDC on Base.'),
    network: z
      .enum(['base-sepolia', 'base'])
      .default('base-sepolia')
      .describe('`base-sepolia` is a test network, whose money has no value. `base` uses real money.'),
    rpcUrl: httpUrl()
      .optional()
      .describe('The RPC server of the chain. Default: the public one of the network.'),
    tokenAddress: z
      .string()
      .regex(ADDRESS, 'must be an address: "0x" and 40 hex digits')
      .optional()
      .describe('The contract of the token. Default: USDC on the network. Other tokens are for tests.'),
    confirmations: count(1_000)
      .default(2)
      .describe('Confirmations (blocks, including its own) after which a payment counts as made.'),
    confirmSeconds: seconds()
      .default(60)
      .describe(
        'How long a call waits for the confirmations. After that, the payment is tracked in the background.',
      ),
    requestSeconds: seconds().default(10).describe('The time the RPC server has for one answer.'),
    limits,
    x402,
  })
  .prefault({})
  .describe('Payments by the vault agent. Off by default.');
