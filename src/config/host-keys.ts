import { z } from 'zod';
import {
  HOME_MARK,
  KIB,
  MIB,
  choice,
  count,
  flag,
  group,
  httpUrl,
  list,
  optional,
  path,
  seconds,
  secret,
  secretHeaders,
  text,
  toolName,
} from '../core/fields.js';
import { MAX_NODE_NAME } from '../core/agent.js';

export const storage = group('The database of tasks, documents, secrets and all other stored data.', {
  url: secret(
    'A PostgreSQL database, as `postgres://USER:PASSWORD@HOST:PORT/DATABASE`; see [Use PostgreSQL](../guides/use-postgres.md). Without it the embedded database is used. Default: `LANGO_DATABASE_URL`, if it is set.',
  ),
  caFile: optional(
    path(),
    'With `storage.url`: the authorities that certify the server, PEM, like `sslrootcert` in the address. An address without `sslmode` then has `verify-full`. Default: `LANGO_DATABASE_CA`, if it is set; otherwise the authorities of Node.',
  ),
  connections: count(
    10,
    'With `storage.url`: the most connections of this server, plus one for notifications.',
    { min: 2, max: 1_000 },
  ),
  statementSeconds: seconds(30, 'With `storage.url`: how long one statement may take.'),
  pooling: choice(
    ['session', 'transaction'],
    'session',
    'With `storage.url`: `transaction` is for a pooler such as PgBouncer that lends a connection for one transaction. Servers then notice changes of other servers by polling, and take over the tasks of a crashed server when its leases expire.',
  ),
  sqlite: group('The embedded database.', {
    file: path()
      .default(`${HOME_MARK}/lango.db`)
      .describe('The database file. `:memory:` keeps nothing after the server stops.'),
    synchronous: choice(
      ['normal', 'full'],
      'normal',
      '`normal`: commits survive a crash of the program. `full`: they also survive a loss of power.',
    ),
    waitSeconds: count(
      0,
      'The most seconds that a start waits for another server that still uses the database. 0: it refuses to start.',
      { min: 0 },
    ),
  }),
});

export const node = group('This node, among those that it works with.', {
  name: optional(
    text().max(MAX_NODE_NAME),
    'The name of this node, as people read it in the console beside its agents, its bill and its tasks, also on other nodes: the cards of its agents have it. Default: the name of the host, which stays off the cards.',
  ),
});

export const webConsole = group('The web console; see [Use the console](../guides/console.md).', {
  enabled: optional(
    z.boolean(),
    'Serve the console at `/console/`. Default: `true` when `server.host` is a loopback address.',
  ),
  oidc: group('Sign-in at the issuer of `auth.jwt`, by the code flow with PKCE. It needs mode `jwt`.', {
    clientId: optional(
      text(),
      'The id of a public client (one without a secret) at the issuer, whose redirect address is `/console/oidc/callback` of this server. Default: none; people sign in with a token.',
    ),
    scope: text().default('openid').describe('The scopes to ask for, separated by spaces.'),
  }),
});

export const metrics = group('Metrics for Prometheus at `/metrics`; see [Watch it](../guides/watch-it.md).', {
  enabled: flag(
    false,
    'Serve metrics to callers with a token; in mode `jwt` one with `auth.jwt.operatorScope`. A program that uses Lango as a library installs the package `prom-client`.',
  ),
  token: secret(
    'A bearer token that reads the metrics, and nothing else. Default: `LANGO_METRICS_TOKEN`, if it is set.',
  ),
  allowFrom: list(
    z.array(text()),
    'Addresses (`10.0.0.7`) and networks (`10.0.0.0/8`) that read the metrics without a token.',
  ),
});

export const telemetry = group(
  'Traces for OpenTelemetry; see [Watch it](../guides/watch-it.md#send-traces-to-a-collector).',
  {
    otlp: group(
      'The collector that gets the spans of all tasks, over OTLP: HTTP with protobuf. One server of a database sends them.',
      {
        url: optional(
          httpUrl(),
          'The whole address, such as `http://127.0.0.1:4318/v1/traces`. Default: none; no spans are sent. As a library it needs the package `@opentelemetry/exporter-trace-otlp-proto`.',
        ),
        headers: secretHeaders('Headers of each request, such as `authorization`.'),
        service: text().default('lango').describe('The name of this server in traces: `service.name`.'),
      },
    ),
    content: flag(false, 'Also send the texts of people, models and tools, up to 16,384 characters each.'),
  },
);

const MAX_DAYS = 36_500;

export const evaluations = group(
  'A nightly comparison of tasks with the prompts of now, which asks no model.',
  {
    sample: z
      .number()
      .min(0)
      .max(1)
      .default(0)
      .describe(
        'The share of the tasks of the last seven days that is compared each night at 3:00 UTC. The log, and `lango eval drift`, say how many would be asked something else. 0: none.',
      ),
    owners: list(
      z.array(text()),
      'The owners who agreed that their tasks are read for this. Default: the only owner of a server with one token; with `auth.mode` `jwt` or `mtls` nobody.',
    ),
  },
);

export const tasks = group('Limits of tasks, and how long they are kept.', {
  retentionDays: count(
    90,
    'Days after its end that a task is kept. Then it is removed with its events, artifacts and push configs; a sub-task goes with its parent or after it. 0 keeps tasks forever.',
    { min: 0, max: MAX_DAYS },
  ),
  messageIdHours: count(
    24,
    'Hours for which a message without a context is recognized by its id: within this time, the same message returns the task of the first one. A message with a context is recognized as long as the task is kept. 0: not at all.',
    { min: 0, max: MAX_DAYS * 24 },
  ),
  events: count(100_000, 'The most journal entries of one task. A task that needs more fails.', { min: 100 }),
  eventBytes: count(
    KIB * KIB,
    'The largest journal entry, in bytes: a message with its files or an artifact, for example. Larger ones are refused.',
    { min: KIB, max: 16 * KIB * KIB },
  ),
});

export const workspace = z
  .array(path())
  .min(1)
  .default([`${HOME_MARK}/workspace`])
  .describe('Folders that the file and command tools may work in. They cannot reach anything outside.');

export const disk = group('How owners share the disk, and what agents may write to it.', {
  workspaces: choice(
    ['apart', 'shared'],
    'apart',
    '`apart`: with `auth.mode` `jwt` or `mtls`, or with `auth.nodes`, each owner works in a folder of its own below each folder of `workspace`, and no tool reaches the others; commands need a sandbox. `shared`: all owners work in the folders of `workspace` themselves, as the only owner does in the other modes.',
  ),
  ownerMb: optional(
    z.int().min(0),
    'The most that the files of one owner take, saved skills included, in megabytes. 0: no limit. Default: 4096 for owners with separate folders, and no limit for others.',
  ),
  tasksMb: optional(
    z.int().min(0),
    'The most that the tasks of one owner take in the database, in megabytes. 0: no limit. Default: 4096 with `auth.mode` `jwt` or `mtls` or with `auth.nodes`, and no limit for others. Tasks from before the limit was set do not count.',
  ),
  taskMb: count(
    2048,
    'The most that one task adds to the files of its owner, in megabytes. 0: no limit. What a command deletes does not count against it.',
    { min: 0 },
  ),
});

export const mcp = group(
  'MCP: servers whose tools agents can call, which needs the package @modelcontextprotocol/client; and agents as tools.',
  {
    serve: flag(
      false,
      'Offer each published agent as an MCP tool at `/mcp`, to the callers of A2A. Needs the package @modelcontextprotocol/server.',
    ),
  },
);

export const parsing = group(
  'Reading HTML, PDF and archives from outside, in processes apart from the server.',
  {
    timeoutSeconds: seconds(20, 'The longest time to read one file or page.'),
    maxMemoryBytes: count(512 * MIB, 'The most memory of one process, in bytes.', { min: 128 * MIB }),
    processes: count(2, 'The most processes at once. Each owner has one at most; the other files wait.'),
  },
);

export const approval = group('When a person is asked for approval.', {
  policy: z
    .union([z.enum(['dangerous', 'all', 'none']), z.array(toolName())])
    .default('dangerous')
    .describe(
      'The tool calls that need approval: `dangerous` ones, `all`, `none`, or the calls of the listed tools.',
    ),
  by: optional(
    text(),
    'With `auth.mode: jwt`: the scope that a caller needs to approve or decline a call. Default: none; every caller who may use the agent can.',
  ),
  expirySeconds: seconds(
    24 * 60 * 60,
    'How long a call waits for approval, in seconds. After that, the call is not made, and the model gets an error result.',
  ),
});

/** Its password is a secret. */
function proxyAddress(description: string) {
  const form = /^(direct|(https?:\/\/)?[^\s/]+\/?)$/;
  return z
    .string()
    .regex(form, 'must be direct, or the http:// or https:// address of a proxy')
    .optional()
    .meta({ description, writeOnly: true });
}

export const egress = group('Outgoing requests.', {
  allowPrivate: list(
    z.array(text()),
    'Hosts that may have a private or loopback address, as `name` or `name:port`.',
  ),
  proxy: proxyAddress(
    'The HTTP proxy for requests to models, MCP servers, remote agents and webhooks, as `http://user:password@proxy:3128`, or `direct` for none. Programs on this machine are reached directly. Default: the variable `HTTPS_PROXY` for https addresses.',
  ),
  httpProxy: proxyAddress(
    'The proxy for http addresses, when it is another one. Default: `proxy`, or the variable `HTTP_PROXY`.',
  ),
  noProxy: optional(
    z.array(text()),
    'Hosts that are reached without the proxy: names, with their subdomains, addresses, ranges such as `10.0.0.0/8`, or `*`. Default: the variable `NO_PROXY`.',
  ),
});

export const logging = group('The log, on standard error.', {
  level: choice(
    ['debug', 'info', 'warn', 'error'],
    'info',
    'The lowest level that is logged. `LANGO_LOG_LEVEL` overrides it.',
  ),
  format: choice(
    ['auto', 'pretty', 'json'],
    'auto',
    '`auto`: readable lines on a terminal, JSON lines elsewhere.',
  ),
  auditFile: optional(
    path(),
    'The file for the audit log, as JSON lines. Default: none; audit records go to the log at level `info`.',
  ),
});
