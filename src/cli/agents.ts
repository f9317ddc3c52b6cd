import { readFile } from 'node:fs/promises';
import { isJsonObject, parseJson } from '../core/json.js';
import { silentLogger } from '../core/logger.js';
import { searchCatalogs } from '../a2a/client/catalog.js';
import { LangoError } from '../core/errors.js';
import { isPrivate } from '../http/address-check.js';
import { createEgress } from '../http/egress.js';
import { counted } from '../core/text.js';
import type { AgentStatus, NodeStatus } from '../core/node-status.js';
import { connect, loadConfigOf } from './connection.js';
import type { Call, Connection, ConnectionFlags, FolderFlags } from './connection.js';
import { usageError } from '../terminal/exit.js';
import { readPiped } from '../terminal/input.js';
import { USED_STATES, ask, readStatus } from './explain.js';
import type { Paint } from '../terminal/paint.js';
import { safeLine } from '../terminal/safe-text.js';
import type { Report } from '../terminal/terminal.js';

const DESCRIPTION_CHARACTERS = 200;
const SKILLS_CHARACTERS = 200;
const STATE_WIDTH = 'degraded'.length;

/** `lango agents`: lists all agents, with the reason for those that are skipped. */
export async function agents(call: Call<ConnectionFlags>): Promise<Report> {
  const connection = await connect(call);
  const { url } = connection;
  const status = await readStatus(connection);
  // The root and the model of servers that are not Lango's are unknown.
  const { root, model } = status ?? { root: null, model: null };
  const list = await listAgents(connection, status);
  const width = Math.max(...list.map(({ name }) => name.length), 0);
  return {
    json: { url, root, model, agents: list },
    lines: [
      `${counted(list.length, 'agent')} at ${safeLine(url)}${model === null ? '' : `, model ${safeLine(model)}`}`,
      ...list.flatMap((agent) => linesOf(agent, { isRoot: agent.name === root, width, ...call.terminal })),
    ],
  };
}

interface AddFlags extends ConnectionFlags {
  readonly name?: string;
  readonly description?: string;
  readonly agentToken?: string;
  readonly agentAuth?: string;
  readonly allowPrivate?: boolean;
  readonly relocate?: boolean;
  readonly owners?: 'forward' | 'shared';
  readonly hash?: string;
}

/** `lango agents add`: the running server keeps the agent and asks for its card. */
export async function addAgent(address: string, call: Call<AddFlags>): Promise<Report> {
  const { name = nameIn(address), agentToken, agentAuth, hash, ...flags } = call.flags;
  const { description, allowPrivate, relocate, owners } = flags;
  const token = agentToken === undefined ? undefined : (await readText(agentToken)).trim();
  const auth = agentAuth === undefined ? undefined : await readAuth(agentAuth);
  const verify = hash === undefined ? undefined : { hash };
  const connection = await connect(call);
  const added = { name, description, url: address, token, auth, allowPrivate, relocate, owners, verify };
  const { agent } = await ask(connection, connection.owner.addAgent(added));
  const isUsed = USED_STATES.includes(agent.state);
  return {
    json: { agent },
    lines: [
      isUsed ? `Added ${safeLine(name)}.` : `Added ${safeLine(name)}, which cannot be used yet.`,
      ...linesOf(agent, { isRoot: false, width: agent.name.length, ...call.terminal }),
    ],
  };
}

/** `lango agents remove` */
export async function removeAgent(name: string, call: Call<ConnectionFlags>): Promise<Report> {
  const connection = await connect(call);
  const { removed } = await ask(connection, connection.owner.removeAgent({ name }));
  return { json: { removed }, lines: [`Removed ${safeLine(removed)}.`] };
}

const SEARCH_TIMEOUT_MS = 30_000;

/** `lango agents search`: looks in the catalogs of the configuration. Adds nothing. */
export async function searchAgents(text: string, call: Call<FolderFlags>): Promise<Report> {
  const { catalogs } = (await loadConfigOf(call, 'call')).config.a2a;
  if (catalogs.length === 0) {
    const hint = 'Set a2a.catalogs to the addresses of catalogs (ARD or AI Catalog).';
    throw new LangoError('not-found', 'The configuration names no catalog.', { hint });
  }
  const rules = { allowPrivate: [], timeoutMs: SEARCH_TIMEOUT_MS, logger: silentLogger };
  const { agents, failed } = await searchCatalogs({
    ...{ catalogs, text },
    isPrivate: ({ hostname }) => isPrivate(hostname),
    fetchFor: (catalog) => createEgress({ ...rules, configuredUrl: catalog }),
  });
  const { paint } = call.terminal;
  const lines = [
    `${counted(agents.length, 'agent')} found`,
    ...agents.flatMap(({ name, description, url }) => [
      `${paint.author(safeLine(name))}  ${safeLine(url)}`,
      ...(description === '' ? [] : [`  ${paint.dim(safeLine(description, DESCRIPTION_CHARACTERS))}`]),
    ]),
    ...failed.map(({ catalog, reason }) => `${safeLine(catalog)}: ${safeLine(reason)}`),
    ...(agents.length === 0 ? [] : ['Add one with: lango agents add ADDRESS']),
  ];
  return { json: { agents, failed }, lines };
}

/** The last word of the path, else the first word of the host: "weather" for https://a.example/agents/weather. */
function nameIn(address: string): string {
  if (!URL.canParse(address)) throw usageError(`"${address}" is not an address.`, 'Write https://HOST/PATH.');
  const { pathname, hostname } = new URL(address);
  const words = pathname
    .split('/')
    .filter((word) => word !== '' && !word.startsWith('.') && !word.endsWith('.json'));
  return (words.at(-1) ?? hostname.split('.')[0]!).toLowerCase().replace(/[^a-z0-9]+/g, '-');
}

/** The fields of `a2a.remoteAgents[].auth`, as JSON. */
async function readAuth(file: string): Promise<Record<string, unknown>> {
  const auth = parseJson(await readText(file));
  if (isJsonObject(auth)) return auth;
  throw usageError(`${file} holds no JSON object.`, 'Write the fields of auth, as {"basic": {"user": …}}.');
}

/** Reads a file, or standard input for "-". */
async function readText(file: string): Promise<string> {
  return file === '-' ? readPiped() : readFile(file, 'utf8');
}

/** The published agents that no agent delegates to (the root), then all peers; without a status the catalog. */
async function listAgents(connection: Connection, status: NodeStatus | undefined) {
  const peers = status?.peers ?? [];
  const others = status?.published.filter((name) => peers.every((peer) => peer.name !== name));
  const catalog = others?.length === 0 ? [] : await ask(connection, connection.client.catalog());
  const own = (others ?? catalog.map(({ name }) => name)).map((name): AgentStatus => {
    const description = catalog.find((one) => one.name === name)?.description;
    return { name, kind: 'local', state: 'ready', description, skills: [] };
  });
  return [...own, ...peers];
}

function linesOf(
  agent: AgentStatus,
  { isRoot, width, paint }: { isRoot: boolean; width: number; paint: Paint },
): readonly string[] {
  const { name, kind, state, since, reason, hint = '', description = '', skills } = agent;
  const label = paint.author(safeLine(name).padEnd(width));
  const mark = (USED_STATES.includes(state) ? paint.green : paint.red)(state.padEnd(STATE_WIDTH));
  const place = kind === 'remote' ? `remote ${safeLine(agent.url ?? '')}` : 'local';
  const names = skills.map((skill) => skill.name).join(', ');
  const details = [
    reason === undefined ? '' : `why: ${safeLine(reason)}`,
    safeLine(hint),
    reason === undefined || since === undefined ? '' : `since: ${safeLine(since)}`,
    safeLine(description, DESCRIPTION_CHARACTERS),
    names === '' ? '' : `skills: ${safeLine(names, SKILLS_CHARACTERS)}`,
  ];
  return [
    `${label}  ${mark}  ${place}${isRoot ? ', at the root' : ''}`,
    ...details.filter(Boolean).map((line) => `${' '.repeat(width)}  ${paint.dim(line)}`),
  ];
}
