import { join } from 'node:path';
import type { SettingsContext } from '../../core/capability.js';
import { BoundedCache } from '../../core/bounded-cache.js';
import { KeptCredential } from '../../core/credential.js';
import { errorText, LangoError } from '../../core/errors.js';
import { hashJson } from '../../core/canonical-json.js';
import { createOriginFetch } from '../../core/origin-fetch.js';
import { PROGRAMS, type Programs } from '../../core/program.js';
import { scopeKey, type Scope } from '../../core/task.js';
import type { ToolSource } from '../../core/tool.js';
import { LONGEST_TIMER_MS } from '../../core/time.js';
import { SIGN_INS, type Revocation } from '../../core/vault.js';
import { makeFolder } from '../../disk/private-file.js';
import { isInstalled } from '../../disk/programs.js';
import { createTokenRequest } from '../../http/oauth-client.js';
import type { McpReach, McpServerOptions } from './connection.js';
import type { LoginOptions } from './issuer.js';
import { ISSUER_TIMEOUT_MS, signedInFetch, signInIn } from './kept-sign-in.js';
import { revoke } from './login.js';
import { McpServer } from './server.js';
import { MISSING, PACKAGE, type MCP_SETTINGS, type ServerSettings } from './settings.js';

type Context = SettingsContext<typeof MCP_SETTINGS>;
type NamedServer = readonly [name: string, settings: ServerSettings];
/** The MCP servers of a node. */
type Mcp = ReturnType<typeof createServers>;

/** The most owners with a connection. For another owner, the connection that was used longest ago is closed. */
const MOST_OWNERS = 100;
const LARGEST_RESPONSE_BYTES = 2 * 1024 * 1024;
const TOKEN_MS = 10_000;

/** Opens the servers whose tools the agents of this node have. */
export function openServersHere(context: Context): Mcp {
  const { settings, node } = context;
  const here = Object.entries(settings['mcp.servers']).filter(([, { agent }]) => node.runsAgent(agent));
  const { apart = [], shared = [] } = Object.groupBy(here, ([, { login }]) =>
    login !== undefined && node.hasSeveralOwners ? 'apart' : 'shared',
  );
  return createServers(context, shared, apart);
}

/** Opens all servers for a command, without reaching them. Throws `unavailable` when their package is missing. */
export function openServers(context: Context): Mcp {
  const servers = Object.entries(context.settings['mcp.servers']);
  if (servers.length > 0) assertPackage();
  return createServers(context, servers);
}

function assertPackage(): void {
  if (!isInstalled(PACKAGE)) throw new LangoError('unavailable', MISSING.message, MISSING);
}

/** The way to sign in at a server. Throws `not-found` when no entry of this name has `login`. */
export function requireLogin(context: Context, name: string): LoginOptions {
  const entry = context.settings['mcp.servers'][name];
  if (!entry?.login) {
    const hint = `Set mcp.servers.${name}.url and mcp.servers.${name}.login, as docs/guides/use-mcp.md says.`;
    throw new LangoError('not-found', `Nobody signs in at an MCP server ${name}.`, { hint });
  }
  assertPackage();
  return loginOptionsOf([name, entry], context);
}

interface ServerParts extends Context {
  readonly programs: () => Promise<Programs>;
  /** The owner whose sign-in is used. */
  readonly scope: Scope;
}

/** Makes the servers that all owners share, and those at which each owner signs in. */
function createServers(context: Context, shared: readonly NamedServer[], apart: readonly NamedServer[] = []) {
  let opened: Promise<Programs> | undefined;
  const programs = () => (opened ??= context.services.require(PROGRAMS)());
  const serverOf = (entry: NamedServer, scope: Scope) =>
    new McpServer(optionsOf(entry, { ...context, programs, scope }));
  const servers: ReadonlyMap<string, McpServer> = new Map(
    shared.map((entry) => [entry[0], serverOf(entry, context.node.ownOwner)]),
  );
  const owned = apart.map((entry) => openOwnedServers(entry[0], (scope) => serverOf(entry, scope)));
  const sources = [...servers.values(), ...owned];
  return {
    /** The servers that all owners share. */
    servers,
    sources,
    findings: () => sources.map((server) => server.finding()),
    async [Symbol.asyncDispose]() {
      await Promise.all(sources.map((server) => server.close()));
      await (await opened)?.close();
    },
  };
}

/** A server at which each owner signs in: it has a connection, and so tools, for each of them. */
function openOwnedServers(name: string, make: (scope: Scope) => McpServer) {
  const servers = new BoundedCache<string, McpServer>(MOST_OWNERS, {
    onDropped: (_, server) => void server.close(),
  });
  const refresh = async (scope: Scope | undefined): Promise<void> => {
    if (!scope) return;
    const key = scopeKey(scope);
    const server = servers.get(key) ?? make(scope);
    servers.set(key, server);
    await server.refresh();
  };
  return {
    kind: { name: `mcp_${name}_` },
    refresh,
    prepare: refresh,
    list: (scope: Scope | undefined) => (scope && servers.get(scopeKey(scope))?.list()) ?? [],
    finding(): ReturnType<McpServer['finding']> {
      const text = `${servers.size} owners use it; each signs in: lango mcp login ${name}`;
      return { code: 'mcp', subject: `mcp ${name}`, state: 'ok', text };
    },
    async close() {
      await Promise.all([...servers].map(([, server]) => server.close()));
    },
  } satisfies ToolSource & Pick<McpServer, 'finding' | 'close'>;
}

function optionsOf([name, entry]: NamedServer, parts: ServerParts): McpServerOptions {
  const { node, logger } = parts;
  const { include, exclude, approval, effect, timeoutSeconds, command, args, url } = entry;
  return {
    ...{ name, include, exclude, approval, effect },
    timeoutMs: timeoutSeconds * 1_000,
    reach: reachOf([name, entry], parts),
    target: hashJson(url ?? [command, ...args]),
    acceptedFile: join(node.home, 'mcp', `${name}.json`),
    logger: logger.child({ family: 'mcp' }),
  };
}

function reachOf([name, entry]: NamedServer, parts: ServerParts): McpReach {
  const { node, createFetch, programs, scope } = parts;
  const { url, oauth2, command, args, env, writable, readable, network, sandbox, token } = entry;
  if (url !== undefined) {
    const headers = { ...entry.headers, ...(token && { authorization: `Bearer ${token}` }) };
    const fetch = createFetch({
      configuredUrl: url,
      timeoutMs: entry.timeoutSeconds * 1_000,
      // Streams wait for news of a server. A call has a time limit of its own.
      idleMs: LONGEST_TIMER_MS,
      maxBytes: LARGEST_RESPONSE_BYTES,
      isBoundedJson: true,
    });
    if (entry.login !== undefined) {
      const options = loginOptionsOf([name, entry], parts);
      const signedIn = signedInFetch({ options, services: parts.services, scope }, fetch);
      return { kind: 'http', url, headers, fetch: signedIn };
    }
    if (oauth2 === undefined) return { kind: 'http', url, headers, fetch };
    const kinds = [{ type: 'oauth2' as const, scopes: oauth2.scopes }];
    const { clientSecret } = oauth2;
    const request = createTokenRequest({
      ...{ ...oauth2, createFetch, timeoutMs: TOKEN_MS },
      clientSecret: clientSecret === undefined ? undefined : async () => clientSecret,
    });
    const credential = new KeptCredential(kinds, request);
    const bound = createOriginFetch({ fetch, origin: new URL(url).origin, credential });
    return { kind: 'http', url, headers, fetch: bound };
  }
  const folder = join(node.home, 'mcp', name);
  return {
    kind: 'process',
    async start() {
      await makeFolder(folder);
      return (await programs()).start({
        ...{ command: command!, args, env, folder, writable, readable, network },
        isSandboxed: sandbox,
      });
    },
  };
}

const ISSUER_RESPONSE_BYTES = 64 * 1024;

/** Lets the issuer end the tokens of a deleted sign-in, where the configuration says how it is reached. Never rejects. */
export async function signOut(
  context: Context,
  secretName: string,
  value: Uint8Array | undefined,
): Promise<Revocation> {
  const name = secretName.slice(SIGN_INS.length);
  const entry = context.settings['mcp.servers'][name];
  if (!entry?.login)
    return { isRevoked: false, why: `This node has no entry mcp.servers.${name} with login.` };
  const kept = signInIn(value);
  if (!kept) return { isRevoked: false, why: 'The kept tokens cannot be read.' };
  try {
    await revoke(loginOptionsOf([name, entry], context), kept);
    return { isRevoked: true };
  } catch (error) {
    return { isRevoked: false, why: errorText(error) };
  }
}

function loginOptionsOf(
  [name, { url = '', login = { scopes: [] } }]: NamedServer,
  { createFetch }: Context,
): LoginOptions {
  return {
    ...{ ...login, name, url },
    // An issuer that only the server names may not have a private address.
    fetch: createFetch({
      configuredUrl: [url, login.issuer, login.tokenUrl].filter((address) => address !== undefined),
      timeoutMs: ISSUER_TIMEOUT_MS,
      maxBytes: ISSUER_RESPONSE_BYTES,
      privateHint: `If it is the right issuer, set mcp.servers.${name}.login.issuer to it.`,
    }),
  };
}
