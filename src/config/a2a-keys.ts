import { z } from 'zod';
import type { KeptKind } from '../core/capability.js';
import {
  KIB,
  agentName,
  count,
  distinct,
  flag,
  group,
  httpUrl,
  list,
  optional,
  path,
  seconds,
  secret,
  subAgentName,
  text,
} from '../core/fields.js';
import { oauth2 } from '../core/oauth2-fields.js';

const push = group('Push notifications.', {
  enabled: flag(true, 'Send updates of a task to the URLs that clients registered (webhooks).'),
  perTask: count(10, 'The most push configs of one task.'),
  perOwner: count(1_000, 'The most push configs of one caller, over all tasks.'),
  tries: count(8, 'Attempts per delivery. After the last one fails, the config is given up.', { max: 100 }),
  timeoutSeconds: seconds(10, 'The time a receiver has to respond.'),
  retrySeconds: seconds(5, 'The pause after the first failed attempt. It doubles with each failure.'),
  maxRetrySeconds: seconds(300, 'The longest pause between two attempts.'),
  textSeconds: seconds(1, 'How long text is collected before it is sent.'),
  concurrent: count(32, 'Deliveries at once.'),
  perHost: count(4, 'Deliveries at once to one host.'),
});

const cardTrust = z
  .strictObject({
    jwks: optional(
      httpUrl(),
      'URL of a key set (JWKS). One signature of the card must be by one of its keys. Default: none.',
    ),
    keys: optional(path(), 'The same key set as a file. Default: none.'),
    hash: optional(
      z.string().regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hex digits'),
      'The hash that the card must have. `lango card URL --verify` shows it. Default: none.',
    ),
  })
  .refine(
    ({ jwks, keys, hash }) =>
      (jwks ?? keys ?? hash) !== undefined && (jwks === undefined || keys === undefined),
    'must hold hash, or one of jwks and keys, or hash and one of them',
  )
  .describe(
    'How the card is verified. An agent whose card fails is skipped with a warning. Default: not at all.',
  );

/** Unlike a token, a password may contain spaces. */
const password = z
  .string()
  .regex(/^[^\0\r\n]+$/, 'must be one line')
  .meta({ description: 'The password.', writeOnly: true });

const apiKey = z
  .strictObject({
    header: optional(
      z.string().regex(/^[A-Za-z0-9-]+$/, 'must be the name of a header'),
      'The header that carries the key. Default: none.',
    ),
    query: optional(
      z.string().regex(/^[\w.-]+$/, 'must be the name of a query parameter'),
      'The query parameter that carries the key. A gRPC interface cannot be used then. Default: none.',
    ),
    value: secret('The key. Default: none; it is required.'),
  })
  .refine(
    ({ header, query, value }) => (header === undefined) !== (query === undefined) && value !== undefined,
    'must have value, and one of header and query',
  );

/** A client of an OAuth2 issuer, which gets access tokens by client credentials. */
const peerAuth = z
  .strictObject({
    bearer: secret('A bearer token: the same as `token`. Default: none.'),
    apiKey: apiKey.optional(),
    basic: z
      .strictObject({ user: text().describe('The user name.'), password })
      .refine(({ user }) => !user.includes(':'), 'must have a user without ":"')
      .optional(),
    oauth2: oauth2.optional(),
    mtls: z
      .strictObject({
        certFile: path().describe(
          'The client certificate with its chain, PEM. It is read again when it changes.',
        ),
        keyFile: path().describe('Its private key, PEM.'),
        caFile: optional(
          path(),
          'A further authority to trust for the certificate of that server, PEM. Default: none.',
        ),
      })
      .optional(),
  })
  .refine(({ bearer, apiKey, basic, oauth2, mtls }) => {
    const kinds = [bearer, apiKey, basic, oauth2].filter((kind) => kind !== undefined);
    return kinds.length === 1 || (kinds.length === 0 && mtls !== undefined);
  }, 'must have one of bearer, apiKey, basic and oauth2, and may have mtls besides or alone')
  .describe('The credentials for this agent. They are sent to the origin of `url` only. Default: none.');

const remoteAgent = z.strictObject({
  name: subAgentName().describe('Its name on this server, for delegations.'),
  description: optional(
    text(),
    'What it is for, which the orchestrator reads before what its card says: it tells two agents with similar cards apart. Default: only its card says it.',
  ),
  url: httpUrl().describe('The address of its agent card, or of the agent itself.'),
  token: secret('The bearer token to send to it: the short form of `auth.bearer`.'),
  auth: peerAuth.optional(),
  allowPrivate: flag(false, 'Allow a private or loopback address.'),
  relocate: flag(
    false,
    'Call the agent where its card was found, even if the card names another host, such as `localhost` in a container.',
  ),
  owners: optional(
    z.enum(['forward', 'shared']),
    'The owner of delegated tasks on that server. `forward`: the same owner as here, named in a token that the key of this server signs; that server must list this one in `auth.nodes`. `shared`: one owner for all, the one of `token`. Default: none; required if this server has several owners.',
  ),
  audience: optional(
    text(),
    'With `owners: forward`, the `auth.audience` of that server. Default: its address in `url`.',
  ),
  verify: cardTrust.optional(),
});

const keptAt = (kind: string, { what, right }: KeptKind) => {
  const alsoForTools = right === undefined ? '' : `, and with \`${kind}\` for the tools of this server`;
  return optional(
    z.strictObject({
      url: httpUrl().describe('The address of that server.'),
      audience: optional(text(), 'The `auth.audience` of that server. Default: its address in `url`.'),
      allowPrivate: flag(false, 'Allow a private or loopback address.'),
    }),
    `The server that stores ${what}. It must list this server in \`auth.nodes\`, with \`may: [act]\` for the requests of owners${alsoForTools}. The address of this server itself means that it stores them. Default: none; this server stores them if its own agents use them.`,
  );
};

/** The kinds of data that capabilities keep, with their names. */
export type Kinds = readonly (readonly [name: string, KeptKind])[];

/** The keys of `a2a`, with one of `keptAt` for each kind of data that a capability keeps. */
export const a2aKeys = (kinds: Kinds) =>
  group('Remote agents, and what this server publishes.', {
    enabled: flag(false, 'Use the agents of `a2a.remoteAgents` as sub-agents. SIGHUP reloads it.'),
    baseUrl: optional(
      httpUrl(),
      'The address in agent cards, such as `https://agents.example` or `https://example.com/agents`; its path may be left in requests. Default: the address that the client used.',
    ),
    publish: optional(
      distinct(agentName(), (name) => name).min(1),
      'The names of the agents that this node runs. The agents of a program that uses the library count too. Default: all.',
    ),
    push,
    signCards: flag(
      true,
      'Sign agent cards with the key of this node, which `/.well-known/jwks.json` publishes.',
    ),
    remoteAgents: list(
      distinct(remoteAgent, (peer) => peer.name, ['name']),
      'Agents on other servers. SIGHUP reloads the list.',
    ),
    keptAt: group(
      'The servers that store the data of owners for the tools of this server.',
      Object.fromEntries(kinds.map(([kind, kept]) => [kind, keptAt(kind, kept)])),
    ),
    catalogs: list(
      z.array(httpUrl()),
      'Catalogs (ARD or AI Catalog), or their servers, that `lango agents search` searches. Their agents are added only on request.',
    ),
    cardBytes: count(256 * KIB, 'The largest card of a remote agent, in bytes.'),
    connectSeconds: seconds(10, 'The time a remote agent has to respond with its card.'),
    refreshSeconds: seconds(
      15,
      'The pause between two checks of which remote agents can be reached. At most 16 are checked in a second, so checks of more than 240 take longer than the default.',
    ),
    awaySeconds: count(
      60,
      'The seconds that a remote agent which cannot be reached stays in the list, such as one that is being replaced. Work for it waits that long.',
      { min: 0 },
    ),
    idleSeconds: seconds(
      600,
      'When a remote agent sends nothing new for this time, the delegation fails and its task is canceled.',
    ),
  });
