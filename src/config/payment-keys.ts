import { z } from 'zod';
import { amountProblem, DECIMALS, GAS_DECIMALS, ADDRESS } from '../core/payment.js';
import { count, host, httpUrl, refuseDuplicates, seconds } from './fields.js';

/** A decimal string: a number of YAML or JSON would be a float. */
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
      .describe('What one payment may come to, in USDC, as text in quotes.'),
    daily: amount(DECIMALS)
      .default('5.00')
      .describe('What all payments of one user may come to in any 24 hours, in USDC, as text in quotes.'),
    gasCost: amount(GAS_DECIMALS)
      .default('0.0005')
      .describe('What the gas of one payment may cost at most, in ETH, as text in quotes.'),
  })
  .prefault({})
  .describe('What may be spent. Reserved before anything is signed.');

const x402 = z
  .strictObject({
    maxAmount: amount(DECIMALS)
      .default('0.10')
      .describe('What one request to a paid endpoint may cost, in USDC, as text in quotes.'),
    allowHosts: z
      .array(host())
      .superRefine(refuseDuplicates((name) => name, []))
      .default([])
      .describe('Hosts of paid endpoints, as `name` or `name:port`. No other is asked, so empty means none.'),
  })
  .prefault({})
  .describe('Paying for web requests (HTTP status 402).');

export const payment = z
  .strictObject({
    enabled: z.boolean().default(false).describe('Offer the payment tools: USDC on Base.'),
    network: z
      .enum(['base-sepolia', 'base'])
      .default('base-sepolia')
      .describe('`base-sepolia` is a test network: its money is worth nothing. `base` is real money.'),
    rpcUrl: httpUrl()
      .optional()
      .describe('The server through which the chain is asked. Default: the public one of the network.'),
    tokenAddress: z
      .string()
      .regex(ADDRESS, 'must be an address: "0x" and 40 hex digits')
      .optional()
      .describe('The contract of the token. Default: USDC on the network; another one is for tests.'),
    confirmations: count(1_000)
      .default(2)
      .describe('Blocks that must hold a payment, its own one included, before it counts as made.'),
    confirmSeconds: seconds()
      .default(60)
      .describe('How long a call waits for that. Later the payment is looked after in the background.'),
    requestSeconds: seconds().default(10).describe('Time the RPC server has for one answer.'),
    limits,
    x402,
  })
  .prefault({})
  .describe('Payments by the vault agent. Off unless switched on.');
