import { choice, count, distinct, flag, group, host } from '../../core/fields.js';
import { httpUrl, list, optional, seconds } from '../../core/fields.js';
import { ADDRESS, amountProblem, amountText, DECIMALS, GAS_DECIMALS } from './amount.js';

function amount(fallback: string, description: string, decimals = DECIMALS) {
  return amountText((text) => amountProblem(text, decimals))
    .default(fallback)
    .describe(description);
}

const limits = group('Spending limits. An amount is reserved before anything is signed.', {
  perTransaction: amount('1.00', 'The largest single payment, in USDC. A quoted string.'),
  daily: amount('5.00', 'The most that one user may pay in any 24 hours, in USDC. A quoted string.'),
  gasCost: amount('0.0005', 'The most gas that one payment may cost, in ETH. A quoted string.', GAS_DECIMALS),
});

const x402 = group('Payment for web requests (HTTP status 402).', {
  maxAmount: amount(
    '0.10',
    'The most that one request to a paid endpoint may cost, in USDC. A quoted string.',
  ),
  allowHosts: list(
    distinct(host(), (name) => name),
    'Hosts of paid endpoints, as `name` or `name:port`. Only these are called; an empty list allows none.',
  ),
});

const payment = group('Payments by the vault agent. Off by default.', {
  enabled: flag(false, 'Offer the payment tools: USDC on Base.'),
  network: choice(
    ['base-sepolia', 'base'],
    'base-sepolia',
    '`base-sepolia` is a test network, whose money has no value. `base` uses real money.',
  ),
  rpcUrl: optional(httpUrl(), 'The RPC server of the chain. Default: the public one of the network.'),
  tokenAddress: optional(
    ADDRESS,
    'The contract of the token. Default: USDC on the network. Other tokens are for tests.',
  ),
  confirmations: count(2, 'Confirmations (blocks, including its own) after which a payment counts as made.', {
    max: 1_000,
  }),
  confirmSeconds: seconds(
    60,
    'How long a call waits for the confirmations. After that, the payment is tracked in the background.',
  ),
  requestSeconds: seconds(10, 'The time the RPC server has for one response.'),
  limits,
  x402,
});

export const PAYMENT_SETTINGS = { payment };
