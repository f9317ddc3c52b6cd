import type { SentenceRow } from '../../core/capability.js';

const SECRET = '{{secret:{name}}}';
const HEADER = { headers: { '{header}': SECRET } };

/** The sentences that the offline model understands. */
export const PAYMENT_SENTENCES: readonly SentenceRow[] = [
  ['create a wallet', 'payment_create_wallet'],
  ['what is my wallet address?', 'payment_wallet_info'],
  ['what is my USDC balance?', 'payment_balance'],
  ['what are my payment limits?', 'payment_limits'],
  ['show my payment history', 'payment_history'],
  ['send {amount} USDC to {to} for {purpose...}', 'payment_send'],
  ['what does {url} cost, at most {maxAmount} USDC?', 'payment_x402_fetch'],
  ['fetch {url} for at most {maxAmount} USDC', 'payment_x402_fetch'],
  ['fetch {url} and pay up to {maxAmount} USDC to {payTo}', 'payment_x402_fetch'],
  [
    'fetch {url} for at most {maxAmount} USDC with the secret {name} as the header {header}',
    'payment_x402_fetch',
    HEADER,
  ],
];
