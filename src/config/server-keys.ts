import { z } from 'zod';
import type { Kinds } from './a2a-keys.js';
import {
  KIB,
  MIB,
  agentName,
  choice,
  count,
  distinct,
  flag,
  group,
  host,
  httpUrl,
  list,
  optional,
  path,
  port,
  seconds,
  secret,
  text,
} from '../core/fields.js';
import { RISKS, type Risk } from './risks.js';
import { SIGNATURE_ALGORITHMS } from '../core/card.js';

const serverLimits = group('Limits of requests, streams and runs.', {
  bodyBytes: count(MIB, 'The largest request body, in bytes.'),
  bytesInFlight: optional(
    z.number().int().min(MIB),
    'The most bytes of request bodies and answers that the server holds at once. One caller gets at most half of it, less beside others; what does not fit waits, or gets 503 with Retry-After. Default: a sixteenth of the memory that the process may use, and at most an eighth of its heap.',
  ),
  jsonDepth: count(64, 'The deepest nesting of JSON in a request.', { max: 1000 }),
  jsonKeys: count(1000, 'The most members of one JSON object in a request.'),
  headerBytes: count(16 * KIB, 'The largest size of all headers of a request, in bytes.'),
  headerSeconds: seconds(
    10,
    'The time a client has to send its headers. With TLS it includes the handshake.',
  ),
  keepAliveSeconds: seconds(
    65,
    'The time an idle HTTP connection stays open. Keep it above that of a load balancer in front (60 s for many), which would send a request on a connection that is just closed.',
  ),
  bodySeconds: seconds(
    30,
    'The time a client has to send the body of a request, or the message of a gRPC call.',
  ),
  connections: count(4000, 'Open connections at once, on the HTTP port and on the gRPC port each.'),
  callsPerConnection: count(
    1000,
    'Calls at once on one gRPC connection. An HTTP connection carries one at a time.',
  ),
  answerBytesPerConnection: count(
    64 * MIB,
    'The most bytes of responses that may wait on one gRPC connection for its client to read them.',
  ),
  requestsPerSecond: count(
    5_000,
    'The average request rate of one caller. Beyond it, requests get 429 and the time to wait.',
  ),
  requestBurst: count(10_000, 'Requests of one caller in a burst.'),
  anonymousPerSecond: count(
    200,
    'The average rate from one address for unauthenticated paths: cards, health, unknown paths.',
  ),
  anonymousBurst: count(1_000, 'Unauthenticated requests from one address in a burst.'),
  streams: count(1000, 'Open event streams at once.'),
  streamsPerCaller: count(500, 'Open event streams of one caller.'),
  streamBufferBytes: count(
    MIB,
    'The most bytes that may wait for a slow reader of a stream. Beyond it the stream is closed; the client can resume it.',
  ),
  heartbeatSeconds: seconds(15, 'An idle stream sends a heartbeat after this time.'),
  drainSeconds: seconds(20, 'The time that open requests get when the server stops.'),
  noticeSeconds: optional(
    z.number().min(0).max(600),
    'The time between the signal to stop and the end of serving. Meanwhile `/readyz` is 503, so that a load balancer removes the node, requests are served, and each response closes its connection. Default: 5, or 0 when `server.host` is a loopback address.',
  ),
  concurrentRuns: count(
    64,
    'Tasks that run at once. Others wait. Tasks below them (delegations) have as many slots of their own at each level.',
  ),
  runsPerCaller: optional(
    z.number().int().min(1),
    'The most tasks of one caller that run at once, and as many at each level of delegation. Default: as many as leave some free for others: from 8 `concurrentRuns` on, seven times as many as are free.',
  ),
  queuedTasks: count(
    1000,
    'The most unfinished tasks of one caller when a further one would have to wait. Beyond it the caller gets 429 with Retry-After.',
  ),
});

const grpc = group('The gRPC binding of all agents.', {
  enabled: flag(false, 'Also serve gRPC, on its own port.'),
  port: port(4101, 'The port for gRPC, on the address of `server.host`. 0 takes a free one.'),
  advertise: optional(
    text().regex(/^[^\s/]+:\d{1,5}$/, 'must be host:port'),
    'The gRPC address in agent cards, as `host:port`. Default: the host that the client used for the card, with the gRPC port.',
  ),
});

const tls = group('TLS. SIGHUP reloads the files.', {
  certFile: optional(
    path(),
    'The certificate of the server with its chain, PEM. Default: none; the server uses plain HTTP.',
  ),
  keyFile: optional(path(), 'The private key of the certificate, PEM. Default: none.'),
  clientCaFile: optional(
    path(),
    'The certificate authorities to trust for client certificates, PEM. Default: none; clients are not asked for a certificate.',
  ),
  crlFile: optional(path(), 'The certificates that those authorities revoked (CRL), PEM. Default: none.'),
  minVersion: choice(['TLSv1.2', 'TLSv1.3'], 'TLSv1.2', 'The oldest accepted version of TLS.'),
});

export const server = group('The HTTP server.', {
  host: host().default('127.0.0.1').describe('The address to listen on.'),
  port: port(4100, 'The port to listen on. 0 takes a free one.'),
  trustProxy: flag(false, 'Trust the X-Forwarded headers. Only behind a proxy that sets them itself.'),
  allowedHosts: list(
    z.array(text()),
    "Further Host headers to accept, as `name` or `name:port`. The server's own address is always accepted.",
  ),
  allowedOrigins: list(
    z.array(httpUrl()),
    'Web origins whose pages may call this server, such as `https://app.example`.',
  ),
  allowRisks: list(
    z.array(z.enum(Object.keys(RISKS) as [Risk, ...Risk[]])),
    'Risks that you accept. The server does not start with a risk that is not listed here: `weakToken`, a token under 20 characters or easy to guess; `plainHttp`, no TLS on an address that other machines reach; `trustProxy` on such an address; `readableSecrets`, a file with secrets that other users can read; `plainHttpToken`, a token or key sent to another machine without TLS.',
  ),
  grpc,
  tls,
  limits: serverLimits,
});

/** A time of 0 to 300 seconds. */
const fewMinutes = (fallback: number, description: string) =>
  z.number().min(0).max(300).default(fallback).describe(description);

const scopeRule = z.strictObject({
  agent: agentName().describe('The agent that the scope is for.'),
  skill: optional(
    text(),
    'A skill of that agent, by its id on the card. Its tools then run only for callers with the scope. Default: the whole agent.',
  ),
  scope: z
    .string()
    .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be a scope: printable ASCII without spaces and quotes')
    .describe('The scope that a token must have.'),
});

const jwt = group('Signed tokens, for mode `jwt`.', {
  issuer: optional(
    httpUrl(),
    'The issuer of the tokens, exactly as in the claim `iss`. Default: none; mode `jwt` needs one.',
  ),
  audience: list(
    z.array(text()),
    'The accepted audiences: the claim `aud` of a token must name one of them. Mode `jwt` needs one.',
  ),
  jwksUrl: optional(
    httpUrl(),
    'The URL of the public keys of the issuer. Default: the one in its OpenID configuration.',
  ),
  jwksFile: optional(path(), 'A file with the public keys (a JWK set), instead of a URL. Default: none.'),
  algorithms: z
    .array(z.enum(SIGNATURE_ALGORITHMS))
    .min(1)
    .default(['RS256', 'PS256', 'ES256', 'EdDSA'])
    .describe('The accepted signature algorithms.'),
  clockSkewSeconds: fewMinutes(
    30,
    'The largest accepted difference between the clocks of issuer and server.',
  ),
  requiredClaims: list(
    z.array(text()),
    'Claims that a token must have, besides `exp`, `iss`, `aud` and the owner.',
  ),
  ownerClaim: text().default('sub').describe('The claim that names the owner of the tasks.'),
  tenantClaim: optional(
    text(),
    'The claim that names the tenant of the owner. Default: none; all owners are of one tenant.',
  ),
  scopeClaim: text().default('scope').describe('The claim with the scopes, as a string or a list.'),
  operatorScope: text()
    .default('lango:operator')
    .describe(
      "The scope of people who operate this server. When a model call fails, they see the vendor's error text; others see the kind of failure.",
    ),
  scopes: list(
    distinct(scopeRule, ({ agent, skill = '' }) => `${agent} ${skill}`, ['agent']),
    'Scopes that agents, or single skills of them, require. Agents that are not listed require none.',
  ),
  refreshSeconds: seconds(600, 'The age at which the keys are fetched again.'),
  cooldownSeconds: seconds(
    30,
    'The shortest time between two fetches of the keys, also when tokens name unknown keys.',
  ),
});

const introspection = group('Token introspection (RFC 7662), for mode `jwt`.', {
  url: optional(
    httpUrl(),
    'The introspection endpoint of the issuer. It is asked about tokens that are not signed. Default: none; only signed tokens are accepted.',
  ),
  clientId: optional(text(), 'The id of this server at the issuer. Default: none; `url` needs it.'),
  clientSecret: secret('Its secret. Default: none; `url` needs it.'),
  cacheSeconds: fewMinutes(
    30,
    'How long a response is used, at most until the token ends. A token that is revoked meanwhile is still accepted.',
  ),
  always: flag(
    false,
    'Ask about signed tokens too, once their signature is verified: revoked ones are refused.',
  ),
});

const mtls = group('Client certificates, for mode `mtls`.', {
  owner: choice(
    ['cn', 'dns', 'email', 'uri'],
    'cn',
    'The name in the certificate that is the owner of the tasks: the common name (`cn`), or a subject alternative name.',
  ),
});

/** The right to do everything that an owner may do. */
export const EVERY_RIGHT = 'act';
/** The right to do what an operator may do, for an owner who is one. */
export const OPERATE = 'operate';

const trustedNode = (kinds: Kinds) =>
  z
    .strictObject({
      name: text().describe('The name of that server in messages.'),
      jwks: optional(httpUrl(), 'URL of its keys: `/.well-known/jwks.json` of that server. Default: none.'),
      keys: optional(path(), 'The same keys as a file. Default: none.'),
      may: distinct(
        z.enum([
          EVERY_RIGHT,
          OPERATE,
          ...kinds.flatMap(([kind, { right }]) => (right === undefined ? [] : kind)),
        ]),
        (right) => right,
      )
        .min(1)
        .default([EVERY_RIGHT])
        .describe(
          [
            'The rights of that server for every owner. `act`: everything that the owner may do.',
            '`operate`: with `act`, also what an operator may do, for the operators of that server.',
            ...kinds.flatMap(([kind, { right }]) => (right === undefined ? [] : `\`${kind}\`: ${right}.`)),
          ].join(' '),
        ),
    })
    .refine(
      ({ jwks, keys }) => (jwks === undefined) !== (keys === undefined),
      'must hold one of jwks and keys',
    );

/** The keys of `auth`, with a right for each kind of data that a capability keeps. */
export const authKeys = (kinds: Kinds) =>
  group('Authentication of callers.', {
    mode: choice(
      ['token', 'jwt', 'mtls', 'none'],
      'token',
      '`token`: every request carries the bearer token. `jwt`: every request carries a signed token of an issuer. `mtls`: every client has a certificate. `none`: no authentication; loopback addresses only.',
    ),
    token: secret(
      'The bearer token. Default: `LANGO_TOKEN`, or a random one, created at first start in `${LANGO_HOME}/token`.',
    ),
    jwt,
    introspection,
    mtls,
    nodes: list(
      distinct(trustedNode(kinds), (node) => node.name, ['name']),
      'The servers that may name the owner of a request: those that list agents of this one in `a2a.remoteAgents` with `owners: forward`. They are trusted for every owner.',
    ),
    audience: optional(
      text(),
      'The audience that the tokens of `auth.nodes` have for this server. Default: `a2a.baseUrl`.',
    ),
  });
