import { z } from 'zod';
import { count, httpUrl, path, seconds } from './fields.js';

export const push = z
  .strictObject({
    enabled: z
      .boolean()
      .default(true)
      .describe('Send news of a task to the addresses that clients name (webhooks).'),
    perTask: count().default(10).describe('Configs of one task.'),
    perOwner: count().default(1_000).describe('Configs of one caller, over all tasks.'),
    tries: count(100).default(8).describe('Attempts of one delivery; after the last the config is given up.'),
    timeoutSeconds: seconds().default(10).describe('Time a receiver has to answer.'),
    retrySeconds: seconds()
      .default(5)
      .describe('Pause after the first failed attempt; each later one is twice as long.'),
    maxRetrySeconds: seconds().default(300).describe('Longest pause between two attempts.'),
    textSeconds: seconds().default(1).describe('Text is gathered for so long before it is sent.'),
    concurrent: count().default(32).describe('Deliveries at once.'),
    perHost: count().default(4).describe('Deliveries at once to one host.'),
  })
  .prefault({})
  .describe('Push notifications.');

export const signCards = z
  .boolean()
  .default(true)
  .describe('Sign agent cards with the key of this node, which `/.well-known/jwks.json` shows.');

export const cardTrust = z
  .strictObject({
    jwks: httpUrl()
      .optional()
      .describe('The key set (JWKS) that one signature of its card has to be by. Default: none.'),
    keys: path().optional().describe('The same as a file. Default: none.'),
    hash: z
      .string()
      .regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hex digits')
      .optional()
      .describe('Only the card with this hash is used; `lango card URL --verify` shows it. Default: none.'),
  })
  .refine(
    ({ jwks, keys, hash }) =>
      (jwks ?? keys ?? hash) !== undefined && (jwks === undefined || keys === undefined),
    'must hold hash, or one of jwks and keys, or hash and one of them',
  )
  .describe('What its card has to prove; one that does not is skipped with a warning. Default: nothing.');
