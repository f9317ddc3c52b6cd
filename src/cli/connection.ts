import { readFile } from 'node:fs/promises';
import { createClient, type AgentClient } from '../a2a/client/client.js';
import type { Binding } from '../a2a/client/link.js';
import { CAPABILITIES } from '../capabilities/index.js';
import type { Capability } from '../core/capability.js';
import { tokenCredential } from '../core/credential.js';
import { createOriginFetch } from '../core/origin-fetch.js';
import type { Config } from '../config/config.js';
import { loadConfig, type LoadedConfig, type LoadOptions } from '../config/load.js';
import type { Env } from '../config/env.js';
import type { Terminal } from '../terminal/terminal.js';
import { loadToken } from '../config/node-credentials.js';
import { runningPort } from '../config/running-server.js';
import { hostInUrl, isLoopback } from '../core/addresses.js';
import { silentLogger } from '../core/logger.js';
import type { ServerTrust } from '../core/http.js';
import { createAddressCheck } from '../http/address-check.js';
import { createEgress } from '../http/egress.js';
import type { OperationClient, OperationTable } from '../core/operation.js';
import { createOwnerClient } from '../owners/client.js';
import { SERVER_OPERATIONS, type ServerOperations } from '../owners/operations.js';
import { usageError } from '../terminal/exit.js';

/** The settings that all commands of a process share. */
export type CommandContext = Readonly<{ env: Env; terminal: Terminal }>;

/** One call of a command: what it gets besides its arguments. */
export type Call<Flags> = CommandContext & { readonly flags: Flags };

/** The part of a call that says where it works. */
export type Where<Flags> = Pick<Call<Flags>, 'flags' | 'env'>;

/** The flags of all commands that work on a data folder. */
export type FolderFlags = Readonly<{ home?: string; config?: string }>;

/** The flags of all commands that talk to a server. */
export interface ConnectionFlags extends FolderFlags {
  readonly url?: string;
  readonly token?: string;
  /** The only transport that is used. */
  readonly transport?: keyof typeof TRANSPORTS;
}

/** The values of `--transport`, with their names on agent cards. */
export const TRANSPORTS = { jsonrpc: 'JSONRPC', http: 'HTTP+JSON', grpc: 'GRPC' } as const;

/** The clients of one server. */
export interface Connection {
  readonly url: string;
  readonly client: AgentClient;
  /** The data of the caller, on a Lango server. */
  readonly owner: OperationClient<ServerOperations>;
  /** The same, by the operations of a capability. */
  ownerOf<Table extends OperationTable>(table: Table): OperationClient<Table>;
  /** Sends requests to this server only, with its token. */
  readonly fetch: typeof fetch;
}

const TIMEOUT_MS = 60_000;
const WILDCARD = /^(0\.0\.0\.0|::|)$/;

/**
 * Connects to the server of `--url`, else of LANGO_URL, else the one that runs in the data folder, else the one that the
 * configuration describes. Sends nothing.
 */
export async function connect({ flags, env }: Where<ConnectionFlags>): Promise<Connection> {
  const given = flags.url ?? env.url;
  const address = given === undefined ? undefined : parseUrl(given);
  const token = flags.token ?? env.token;
  const binding = flags.transport && TRANSPORTS[flags.transport];
  // With address and token given the configuration is not read: it may be broken.
  if (address && token !== undefined) return open(address, { token, binding });
  const loaded = await loadConfigOf({ flags, env }, 'call');
  const url = address ?? new URL(configuredOrigin(loaded.config, await runningPort(loaded.config.home)));
  if (!(await isOwn(url, loaded.config))) return open(url, { token, binding });
  const trust = await ownTrust(url, loaded.config);
  return open(url, { token: token ?? (await ownToken(loaded)), binding, trust });
}

/** The authentication and transport of requests to a server. */
interface Access {
  readonly token: string | undefined;
  /** The only one that is spoken. */
  readonly binding?: Binding | undefined;
  /** Which certificates are accepted. Default: those that Node trusts. */
  readonly trust?: ServerTrust | undefined;
}

/** Connects to a server whose address and token are known. */
export function open(url: URL, { token, binding, trust }: Access): Connection {
  const allowPrivate = [`${url.hostname}:${portOf(url)}`];
  const egress = createEgress({ allowPrivate, timeoutMs: TIMEOUT_MS, trust, logger: silentLogger });
  // gRPC listens on a port of its own, but the card must name the same host.
  const grpc = { addressOf: createAddressCheck([url.hostname]), trust };
  const fetch = createOriginFetch({ fetch: egress, origin: url.origin, credential: tokenCredential(token) });
  return {
    url: url.href.replace(/\/$/, ''),
    client: createClient({ url: url.href, fetch: egress, grpc, binding, token }),
    owner: createOwnerClient(SERVER_OPERATIONS, { url: url.href, fetch }),
    ownerOf: (table) => createOwnerClient(table, { url: url.href, fetch }),
    fetch,
  };
}

/** The origin of a server with this configuration on this machine. Throws when none runs and its port is not fixed. */
function configuredOrigin({ server }: Config, running?: number): string {
  const scheme = server.tls.certFile === undefined ? 'http' : 'https';
  const port = running ?? server.port;
  if (port === 0) {
    const hint = 'Start it with "lango serve", or give the address of another with --url or LANGO_URL.';
    throw usageError('No server runs in this data folder, and server.port is 0.', hint);
  }
  const host = WILDCARD.test(server.host) ? 'localhost' : hostInUrl(server.host);
  return `${scheme}://${host}:${port}`;
}

export function overridesOf({ home, config: configFile }: FolderFlags) {
  return { home, configFile };
}

/** Loads the configuration that the flags of a command name, for this purpose. Throws `invalid-config`. */
export function loadConfigOf({ flags, env }: Where<FolderFlags>, purpose: LoadOptions['purpose'] = 'data') {
  return loadConfig({ env, overrides: overridesOf(flags), purpose });
}

/** The capabilities of this configuration; the shipped ones when it cannot be read. Most commands say what is wrong. */
export async function capabilitiesOf(where: Where<FolderFlags>): Promise<readonly Capability[]> {
  return loadConfigOf(where, 'show').then(
    ({ schema }) => schema.capabilities,
    () => CAPABILITIES,
  );
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') return url;
  const withScheme = text.includes('//') ? '' : `http://${text}`;
  throw usageError(
    'The address of the server must be an http or https URL without credentials.',
    `For instance: ${URL.canParse(withScheme) ? withScheme : 'http://127.0.0.1:4100'}`,
  );
}

/**
 * Whether the server is the one of this data folder. On this machine it must be running, because any program may listen on
 * a loopback port; elsewhere its address must be the one of the configuration.
 */
async function isOwn(url: URL, config: Config): Promise<boolean> {
  const { home, server } = config;
  const { baseUrl } = config.a2a;
  if (isLoopback(url.hostname)) return (await runningPort(home)) === portOf(url);
  const isBound = server.port !== 0 && url.origin === new URL(configuredOrigin(config)).origin;
  return isBound || (baseUrl !== undefined && url.origin === new URL(baseUrl).origin);
}

const portOf = ({ port, protocol }: URL): number => Number(port) || (protocol === 'https:' ? 443 : 80);

/** The token of this node's own server. Other servers never get it. */
async function ownToken({ config, secrets }: LoadedConfig): Promise<string | undefined> {
  return config.auth.mode === 'token' ? (secrets.token ?? loadToken(config.home)) : undefined;
}

/** Trusts the node's own certificate without an authority. When this user cannot read its file, what Node trusts counts. */
async function ownTrust(url: URL, { server }: Config): Promise<ServerTrust | undefined> {
  const { certFile } = server.tls;
  if (url.protocol !== 'https:' || certFile === undefined) return undefined;
  try {
    const { trustCertificate } = await import('../http/tls.js');
    return trustCertificate(await readFile(certFile, 'utf8'));
  } catch {
    return undefined;
  }
}
