import { join } from 'node:path';
import { KeptCredential } from '../a2a/client/credential.js';
import { createOriginFetch } from '../a2a/client/origin-fetch.js';
import type { Config, McpServerConfig } from '../config/config.js';
import { makeFolder } from '../config/private-file.js';
import type { Secrets } from '../config/secrets.js';
import { LangoError } from '../core/errors.js';
import { hashJson } from '../core/json.js';
import type { Logger } from '../core/logger.js';
import { noSecrets } from '../core/secrets.js';
import { createEgress } from '../http/egress.js';
import type { Programs } from '../tools/exec/index.js';
import type { Mcp, McpReach, McpServerOptions } from '../tools/mcp/index.js';
import { isInstalled } from '../tools/programs.js';
import { oauthLoader } from './identity.js';
import { missing, off, type ToolFamily } from '../tools/tool-family.js';

const NAME = 'mcp';
const PACKAGE = '@modelcontextprotocol/client';
const MISSING = { message: `the package ${PACKAGE} is not installed`, hint: `Run: npm install ${PACKAGE}` };
const LARGEST_ANSWER_BYTES = 2 * 1024 * 1024;
/** Streams wait for news of a server. A call has a time limit of its own. */
const STREAM_IDLE_MS = 2 ** 31 - 1;

export interface McpParts {
  readonly config: Config;
  readonly secrets: Secrets;
  readonly logger: Logger;
}

/** Reaches the configured servers in the background: one that is away does not delay the start. */
export async function openMcp(parts: McpParts): Promise<ToolFamily> {
  const servers = Object.entries(parts.config.mcp.servers);
  if (servers.length === 0)
    return { ...off(NAME), note: 'no server is named', hint: 'Name servers in mcp.servers.' };
  if (!isInstalled(PACKAGE)) return missing(NAME, MISSING);
  const mcp = await createServers(
    parts,
    servers.filter(([, { agent }]) => isHere(agent, parts.config)),
  );
  for (const server of mcp.servers.values()) void server.start();
  return {
    name: NAME,
    state: 'on',
    tools: [],
    sources: [...mcp.servers.values()],
    get findings() {
      return mcp.findings();
    },
    close: () => mcp.close(),
  };
}

/** Opens the servers for a command, without reaching them. Rejects with `unavailable` when their package is missing. */
export async function openMcpServers(parts: McpParts): Promise<Mcp> {
  if (!isInstalled(PACKAGE)) throw new LangoError('unavailable', MISSING.message, MISSING);
  return createServers(parts, Object.entries(parts.config.mcp.servers));
}

/** Whether this node runs the agent that has the tools. */
function isHere(agent: string, { agent: { multiAgent }, a2a: { publish } }: Config): boolean {
  return !multiAgent || (publish?.includes(agent) ?? true);
}

type Entry = readonly [string, McpServerConfig];

async function createServers(parts: McpParts, entries: readonly Entry[]): Promise<Mcp> {
  const { createMcp } = await import('../tools/mcp/index.js');
  const { Programs } = await import('../tools/exec/index.js');
  const programs = new Programs();
  const mcp = createMcp(entries.map((entry) => optionsOf(entry, parts, programs)));
  return {
    ...mcp,
    async close() {
      await mcp.close();
      await programs.close();
    },
  };
}

function optionsOf([name, entry]: Entry, parts: McpParts, programs: Programs): McpServerOptions {
  const { config, logger } = parts;
  const { include, exclude, approval, effect, timeoutSeconds, command, args, url } = entry;
  return {
    ...{ name, include, exclude, approval, effect },
    timeoutMs: timeoutSeconds * 1_000,
    reach: reachOf([name, entry], parts, programs),
    target: hashJson(url ?? [command, ...args]),
    acceptedFile: join(config.home, 'mcp', `${name}.json`),
    logger: logger.child({ family: NAME }),
  };
}

function reachOf([name, entry]: Entry, { config, secrets, logger }: McpParts, programs: Programs): McpReach {
  const { env = {}, headers = {}, clientSecret } = secrets.mcp.get(name) ?? {};
  const { url, oauth2, command, args, writable, readable, network, sandbox } = entry;
  if (url !== undefined) {
    const fetch = createEgress({
      ...config.egress,
      configuredUrl: url,
      timeoutMs: entry.timeoutSeconds * 1_000,
      idleMs: STREAM_IDLE_MS,
      maxBytes: LARGEST_ANSWER_BYTES,
      logger,
    });
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
