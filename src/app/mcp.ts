import { join } from 'node:path';
import { KeptCredential, type LoadedValues, type PeerCredential } from '../a2a/client/credential.js';
import { createOriginFetch } from '../a2a/client/origin-fetch.js';
import { hasSeveralOwners, type Config, type McpServerConfig } from '../config/config.js';
import { makeFolder } from '../config/private-file.js';
import type { Secrets } from '../config/secrets.js';
import { isLangoError, LangoError } from '../core/errors.js';
import { hashJson } from '../core/json.js';
import type { Logger } from '../core/logger.js';
import { noSecrets } from '../core/secrets.js';
import type { Scope } from '../core/task.js';
import { createEgress } from '../http/egress.js';
import { basicAuth } from '../http/oauth-client.js';
import { ONLY_OWNER } from '../http/identity.js';
import type { Programs } from '../capabilities/workspace/exec/index.js';
import type { Mcp, McpReach, McpServerOptions } from '../capabilities/mcp/servers.js';
import {
  currentSignIn,
  endSignIn,
  ISSUER_ANSWER_MS,
  signInName,
  type OwnSecrets,
  type Revocation,
} from '../capabilities/mcp/kept-sign-in.js';
import { assertScope, type IssuerReach, type LoginOptions } from '../capabilities/mcp/issuer.js';
import { notSignedIn, signInByBrowser, signInByDevice } from '../capabilities/mcp/login.js';
import { isInstalled } from '../disk/programs.js';
import { SIGN_INS } from '../core/vault-fields.js';
import { oauthLoader } from './identity.js';
import type { VaultAccess } from './stores.js';
import { missing, off, type ToolFamily } from '../core/tool-family.js';

const NAME = 'mcp';
const PACKAGE = '@modelcontextprotocol/client';
const MISSING = { message: `the package ${PACKAGE} is not installed`, hint: `Run: npm install ${PACKAGE}` };
const LARGEST_ANSWER_BYTES = 2 * 1024 * 1024;
/** Streams wait for news of a server. A call has a time limit of its own. */
const STREAM_IDLE_MS = 2 ** 31 - 1;

export interface McpParts {
  readonly config: Config;
  readonly secrets: Secrets;
  /** The sign-ins of people. A command has none. */
  readonly vault?: VaultAccess;
  readonly logger: Logger;
}

/** Reaches the configured servers in the background: one that is away does not delay the start. */
export async function openMcp(parts: McpParts): Promise<ToolFamily> {
  const servers = Object.entries(parts.config.mcp.servers);
  if (servers.length === 0)
    return { ...off(NAME), note: 'no server is named', hint: 'Name servers in mcp.servers.' };
  if (!isInstalled(PACKAGE)) return missing(NAME, MISSING);
  const here = servers.filter(([, { agent }]) => isHere(agent, parts.config));
  const isApart = ([, { login }]: Entry) => login !== undefined && hasSeveralOwners(parts.config.auth);
  const mcp = await createServers(
    parts,
    here.filter((entry) => !isApart(entry)),
    here.filter(isApart),
  );
  for (const server of mcp.servers.values()) void server.start();
  return {
    name: NAME,
    state: 'on',
    tools: [],
    sources: mcp.sources,
    get findings() {
      return mcp.findings();
    },
    close: () => mcp.close(),
  };
}

/** Opens the servers for a command, without reaching them. Rejects with `unavailable` when their package is missing. */
export async function openMcpServers(parts: McpParts): Promise<Mcp> {
  const servers = Object.entries(parts.config.mcp.servers);
  if (servers.length > 0 && !isInstalled(PACKAGE))
    throw new LangoError('unavailable', MISSING.message, MISSING);
  return createServers(parts, servers);
}

/** The ways to sign in at a server. Rejects with `not-found` when no entry of this name has `login`. */
export async function openMcpLogin(
  parts: Omit<McpParts, 'vault'>,
  name: string,
  furtherScopes: readonly string[] = [],
) {
  const entry = parts.config.mcp.servers[name];
  if (!entry?.login) {
    throw new LangoError('not-found', `Nobody signs in at an MCP server ${name}.`, {
      hint: `Set mcp.servers.${name}.url and mcp.servers.${name}.login, as docs/guides/use-mcp.md says.`,
    });
  }
  if (!isInstalled(PACKAGE)) throw new LangoError('unavailable', MISSING.message, MISSING);
  const options = { ...loginOptionsOf([name, entry], parts), furtherScopes };
  return {
    secretName: signInName(name),
    byBrowser: (flow: Parameters<typeof signInByBrowser>[1]) => signInByBrowser(options, flow),
    byDevice: (flow: Parameters<typeof signInByDevice>[1]) => signInByDevice(options, flow),
  };
}

/** Whether this node runs the agent that has the tools. */
function isHere(agent: string, { agent: { multiAgent }, a2a: { publish } }: Config): boolean {
  return !multiAgent || (publish?.includes(agent) ?? true);
}

/** `scope`: whose sign-in is used. */
interface ServerParts extends McpParts {
  readonly programs: Programs;
  readonly scope: Scope;
}

type Entry = readonly [string, McpServerConfig];

async function createServers(
  parts: McpParts,
  entries: readonly Entry[],
  apart: readonly Entry[] = [],
): Promise<Mcp> {
  const { createMcp } = await import('../capabilities/mcp/servers.js');
  const { Programs } = await import('../capabilities/workspace/exec/index.js');
  const programs = new Programs();
  const own = { tenant: '', owner: parts.config.auth.mode === 'none' ? ONLY_OWNER.none : ONLY_OWNER.token };
  const mcp = createMcp(
    entries.map((entry) => optionsOf(entry, { ...parts, programs, scope: own })),
    apart.map((entry) => [entry[0], (scope) => optionsOf(entry, { ...parts, programs, scope })]),
  );
  return {
    ...mcp,
    async close() {
      await mcp.close();
      await programs.close();
    },
  };
}

function optionsOf([name, entry]: Entry, parts: ServerParts): McpServerOptions {
  const { config, logger } = parts;
  const { include, exclude, approval, effect, timeoutSeconds, command, args, url } = entry;
  return {
    ...{ name, include, exclude, approval, effect },
    timeoutMs: timeoutSeconds * 1_000,
    reach: reachOf([name, entry], parts),
    target: hashJson(url ?? [command, ...args]),
    acceptedFile: join(config.home, 'mcp', `${name}.json`),
    logger: logger.child({ family: NAME }),
  };
}

function reachOf([name, entry]: Entry, parts: ServerParts): McpReach {
  const { config, secrets, logger, programs, scope, vault } = parts;
  const { env = {}, headers = {}, clientSecret } = secrets.mcp.get(name) ?? {};
  const { url, oauth2, command, args, writable, readable, network, sandbox } = entry;
  if (url !== undefined) {
    const fetch = createEgress({
      ...config.egress,
      configuredUrl: url,
      timeoutMs: entry.timeoutSeconds * 1_000,
      idleMs: STREAM_IDLE_MS,
      maxBytes: LARGEST_ANSWER_BYTES,
      isBoundedJson: true,
      logger,
    });
    if (entry.login !== undefined) {
      const options = loginOptionsOf([name, entry], parts);
      const signedIn = signedInFetch({ options, vault, scope, send: fetch });
      return { kind: 'http', url, headers, fetch: signedIn };
    }
    if (oauth2 === undefined) return { kind: 'http', url, headers, fetch };
    const tokens = { guard: noSecrets, hidden: new Set<string>() };
    const load = oauthLoader({ ...tokens, config, oauth2, clientSecret, logger });
    const credential = new KeptCredential([{ type: 'oauth2', scopes: oauth2.scopes }], load);
    const bound = createOriginFetch({ fetch, origin: new URL(url).origin, credential });
    return { kind: 'http', url, headers, fetch: bound };
  }
  const { memoryMb, processes } = config.tools.exec;
  const folder = join(config.home, 'mcp', name);
  return {
    kind: 'process',
    async start() {
      await makeFolder(folder);
      return programs.start({
        ...{ command: command!, args, env, folder, writable, readable, network },
        isSandboxed: sandbox,
        limits: { memoryMb, processes },
      });
    },
  };
}

/** How long tokens stay in memory: after a logout they are used for no longer than that. */
const KEPT_SECONDS = 60;
const ISSUER_ANSWER_BYTES = 64 * 1024;

/** Lets the issuer end the tokens of a deleted sign-in, where the configuration says how it is reached. Never rejects. */
export async function signOut(
  parts: Pick<McpParts, 'config' | 'logger'>,
  secretName: string,
  value: Uint8Array | undefined,
): Promise<Revocation> {
  const name = secretName.slice(SIGN_INS.length);
  const entry = parts.config.mcp.servers[name];
  if (!entry?.login)
    return { isRevoked: false, why: `This node has no entry mcp.servers.${name} with login.` };
  return endSignIn(issuerReachOf([name, entry], parts), value);
}

function loginOptionsOf(entry: Entry, parts: Pick<McpParts, 'config' | 'secrets' | 'logger'>): LoginOptions {
  const [name, { login }] = entry;
  return {
    ...issuerReachOf(entry, parts),
    clientId: login?.clientId,
    clientSecret: parts.secrets.mcp.get(name)?.clientSecret,
    scopes: login?.scopes ?? [],
    furtherScopes: [],
  };
}

function issuerReachOf(
  [name, { url = '', login }]: Entry,
  { config, logger }: Pick<McpParts, 'config' | 'logger'>,
): IssuerReach {
  const chosen = [url, login?.issuer, login?.tokenUrl].flatMap((address) =>
    address === undefined ? [] : [new URL(address).host],
  );
  return {
    ...{ name, url, issuer: login?.issuer, tokenUrl: login?.tokenUrl, basicAuth },
    // An issuer that only the server names may not have a private address.
    fetch: createEgress({
      allowPrivate: [...config.egress.allowPrivate, ...chosen],
      timeoutMs: ISSUER_ANSWER_MS,
      maxBytes: ISSUER_ANSWER_BYTES,
      privateHint: `If it is the right issuer, set mcp.servers.${name}.login.issuer to it.`,
      logger,
    }),
  };
}

interface SignedInParts {
  readonly options: LoginOptions;
  readonly vault: VaultAccess | undefined;
  /** Whose sign-in it is. */
  readonly scope: Scope;
  readonly send: typeof fetch;
}

/** A `fetch` that shows the access token of the person who signed in, to the origin of the server only. */
export function signedInFetch({ options, vault, scope, send }: SignedInParts): typeof fetch {
  let refusedToken: string | undefined;
  const inner = new KeptCredential([{ type: 'bearer' }], async (): Promise<LoadedValues> => {
    const secrets = secretsOf(vault, options);
    const { accessToken, expiresAt } = await currentSignIn({ options, secrets, scope, refusedToken });
    const seconds = Math.max(1, Math.min(KEPT_SECONDS, (expiresAt - Date.now()) / 1_000));
    return { shown: { headers: { authorization: `Bearer ${accessToken}` } }, seconds };
  });
  const credential: PeerCredential = {
    kinds: inner.kinds,
    present: () => inner.present(),
    mask: (text) => inner.mask(text),
    refused(shown) {
      refusedToken = shown.headers['authorization']?.replace('Bearer ', '');
      return inner.refused(shown);
    },
  };
  const scoped: typeof fetch = async (input, init) => {
    const response = await send(input, init);
    if (response.status === 403) await assertScope(response, options);
    return response;
  };
  const bound = createOriginFetch({ fetch: scoped, origin: new URL(options.url).origin, credential });
  return async (input, init) => {
    try {
      return await bound(input, init);
    } catch (error) {
      throw isLangoError(error, 'unauthenticated') ? notSignedIn(options) : error;
    }
  };
}

function secretsOf(vault: VaultAccess | undefined, { name }: LoginOptions): OwnSecrets {
  if (!vault)
    throw new LangoError('unavailable', `Only the server uses the sign-in at ${name}.`, {
      hint: 'Ask an agent that has its tools: lango send --agent operator "…"',
    });
  if (vault.problem) throw vault.problem;
  return vault.secrets;
}
