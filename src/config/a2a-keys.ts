import { z } from 'zod';
import {
  agentName,
  count,
  httpUrl,
  path,
  refuseDuplicates,
  seconds,
  secret,
  subAgentName,
  KIB,
} from './fields.js';

const push = z
  .strictObject({
    enabled: z
      .boolean()
      .default(true)
      .describe('Send updates of a task to the URLs that clients registered (webhooks).'),
    perTask: count().default(10).describe('The most push configs of one task.'),
    perOwner: count().default(1_000).describe('The most push configs of one caller, over all tasks.'),
    tries: count(100)
      .default(8)
      .describe('Attempts per delivery. After the last one fails, the config is given up.'),
    timeoutSeconds: seconds().default(10).describe('The time a receiver has to answer.'),
    retrySeconds: seconds()
      .default(5)
      .describe('The pause after the first failed attempt. It doubles with each failure.'),
    maxRetrySeconds: seconds().default(300).describe('The longest pause between two attempts.'),
    textSeconds: seconds().default(1).describe('How long text is collected before it is sent.'),
    concurrent: count().default(32).describe('Deliveries at once.'),
    perHost: count().default(4).describe('Deliveries at once to one host.'),
  })
  .prefault({})
  .describe('Push notifications.');

const cardTrust = z
  .strictObject({
    jwks: httpUrl()
      .optional()
      .describe(
        'URL of a key set (JWKS). One signature of the card must be by one of its keys. Default: none.',
      ),
    keys: path().optional().describe('The same key set as a file. Default: none.'),
    hash: z
      .string()
      .regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hex digits')
      .optional()
      .describe('The hash that the card must have. `lango card URL --verify` shows it. Default: none.'),
  })
  .refine(
    ({ jwks, keys, hash }) =>
      (jwks ?? keys ?? hash) !== undefined && (jwks === undefined || keys === undefined),
    'must hold hash, or one of jwks and keys, or hash and one of them',
  )
  .describe('What the card must prove. An agent that does not is skipped with a warning. Default: nothing.');

const remoteAgent = z.strictObject({
  name: subAgentName().describe('Its name on this server, for delegations.'),
  url: httpUrl().describe('The address of its agent card, or of the agent itself.'),
  token: secret('The bearer token to send to it.'),
  allowPrivate: z.boolean().default(false).describe('Allow a private or loopback address.'),
  verify: cardTrust.optional(),
});

export const a2a = z
  .strictObject({
    enabled: z
      .boolean()
      .default(false)
      .describe('Use the agents of `a2a.remoteAgents` as sub-agents. SIGHUP reloads it.'),
    baseUrl: httpUrl()
      .optional()
      .describe(
        'The address in agent cards, such as `https://agents.example`. Default: the address that the client used.',
      ),
    publish: z
      .array(agentName())
      .min(1)
      .superRefine(refuseDuplicates((name) => name, []))
      .optional()
      .describe('The agents that this node runs, by name. Default: all.'),
    push,
    signCards: z
      .boolean()
      .default(true)
      .describe('Sign agent cards with the key of this node, which `/.well-known/jwks.json` publishes.'),
    remoteAgents: z
      .array(remoteAgent)
      .superRefine(refuseDuplicates((peer) => peer.name, ['name']))
      .default([])
      .describe('Agents on other servers. SIGHUP reloads the list.'),
    cardBytes: count()
      .default(256 * KIB)
      .describe('The largest card of a remote agent, in bytes.'),
    connectSeconds: seconds().default(10).describe('The time a remote agent has to answer with its card.'),
    refreshSeconds: seconds()
      .default(15)
      .describe('The pause between two checks of which remote agents can be reached.'),
  })
  .prefault({})
  .describe('Remote agents, and what this server publishes.');
