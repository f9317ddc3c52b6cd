import { OUTCOME_UNKNOWN } from '../a2a/client/watch.js';
import { FLAT_AGENT_NAME } from '../core/agent.js';
import { type ErrorCode, causesOf, codeOf, LangoError, isLangoError } from '../core/errors.js';
import { nearestOf } from '../core/text.js';
import { isLoopback } from '../core/addresses.js';
import type { AgentState, NodeStatus } from '../core/node-status.js';
import type { Connection } from './connection.js';
import { CommandError, EXIT } from '../terminal/exit.js';
import { safeLine } from '../terminal/safe-text.js';
import type { Terminal } from '../terminal/terminal.js';

/** The error codes of an address where no server listens. */
const NO_SERVER = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'ENETUNREACH', 'EAI_AGAIN']);

/** Turns an error of a call to the server into one for the person who typed the command, with a hint and an exit code. */
export async function explain(error: unknown, connection: Connection, agent?: string): Promise<unknown> {
  const { url, client } = connection;
  if (!isLangoError(error)) return error;
  const { code, message } = error;
  const details = { cause: error, exitCode: exitCodeOf(error), hint: error.hint };
  if (isNoServer(error)) {
    const hint = isLoopback(new URL(url).hostname)
      ? 'Start one with: lango serve'
      : 'Is the address right (--url, LANGO_URL), and does a server run there?';
    return new CommandError(code, `No server responds at ${url}.`, { ...details, hint });
  }
  if (code === 'unauthenticated') return new CommandError(code, message, { ...details, hint: GIVE_TOKEN });
  if (code === 'not-found' && agent !== undefined && !(await client.card(agent).catch(() => false))) {
    const { text, hint } = await missingAgent(agent, connection);
    return new CommandError(code, text, { ...details, hint });
  }
  return code === 'unavailable' || code === 'timeout' ? new CommandError(code, message, details) : error;
}

const GIVE_TOKEN =
  'Set LANGO_TOKEN to the token that "lango serve" printed, or to a token of its issuer; or name its data folder with --home.';

/** Says why nothing can be sent to an agent of this name, and what to do instead. */
export async function missingAgent(name: string, connection: Connection) {
  const { url, client } = connection;
  const status = await connection.owner.readStatus({}).catch(() => undefined);
  const remote = status?.peers.find((peer) => peer.kind === 'remote' && peer.name === name);
  if (remote?.url !== undefined) {
    const text = `${name} is a remote agent; requests to it do not go through ${url}.`;
    const hint = `Name its own address with --url ${remote.url} (and its token, if it asks for one), or let ${status?.root} ask it: lango send "ask ${name} to ..."`;
    return { text, hint };
  }
  const names = (await client.catalog().catch(() => [])).map((agent) => agent.name);
  const hint = names.length > 0 ? agentsHint(name, names) : 'See: lango agents';
  return { text: `There is no agent ${name} at ${url}.`, hint };
}

/** Suggests names for an agent's name that does not exist. */
export function agentsHint(wrong: string, names: readonly string[]): string {
  const nearest = nearestOf(wrong, names);
  const all = `Agents published there: ${names.join(', ')}.`;
  return nearest === undefined ? all : `Did you mean ${nearest}? ${all}`;
}

/** Awaits a call to the server. Rejects with the explained error when the call fails. */
export async function ask<T>(connection: Connection, call: Promise<T>, agent?: string): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw await explain(error, connection, agent);
  }
}

/** Reads what a Lango server says about itself. Resolves with undefined for other servers. */
export async function readStatus(connection: Connection): Promise<NodeStatus | undefined> {
  try {
    return await ask(connection, connection.owner.readStatus({}));
  } catch (error) {
    if (isLangoError(error, 'not-found') || isLangoError(error, 'invalid-agent-response')) return undefined;
    throw error;
  }
}

/** The states of agents that get work. */
export const USED_STATES: readonly AgentState['state'][] = ['ready', 'degraded'];

/** Notes the remote agents that a Lango server waits for: an output may lack what they know. Notes nothing without any. */
export async function noteAbsentAgents(connection: Connection, { note, typed }: Terminal): Promise<void> {
  const { root, peers = [] } = (await readStatus(connection).catch(() => undefined)) ?? {};
  // One agent alone asks no others.
  if (root === FLAT_AGENT_NAME) return;
  const absent = peers.filter(({ kind, state }) => kind === 'remote' && !USED_STATES.includes(state));
  if (absent.length === 0) return;
  const names = absent.map(
    ({ name, reason = 'no reason given' }) => `${name} (${reason.replace(/\.$/, '')})`,
  );
  note(typed(safeLine(`Not available at present: ${names.join(', ')}. See: lango agents`)));
}

/** Finds out why a request never became a task. `text` is the error text at the end of the stream. */
export async function refusal(connection: Connection, text: string, agent?: string): Promise<unknown> {
  const { client } = connection;
  if (text.endsWith(OUTCOME_UNKNOWN)) return new LangoError('outcome-unknown', text);
  try {
    await client.card(agent);
    await client.list({ pageSize: 1, agent });
  } catch (error) {
    if (isLangoError(error) && SAYS_WHY.has(error.code)) return explain(error, connection, agent);
  }
  // The list shows whether the server can be reached and takes the token. Else the first error says more.
  return new LangoError('invalid-input', text);
}

/** The errors of a second call that explain a refusal better than its own text. */
const SAYS_WHY = new Set<ErrorCode>(['unavailable', 'timeout', 'unauthenticated', 'forbidden', 'not-found']);

function exitCodeOf({ code }: LangoError): number {
  if (code === 'unavailable' || code === 'timeout') return EXIT.noServer;
  return code === 'unauthenticated' ? EXIT.noAccess : EXIT.failure;
}

export function isNoServer(error: unknown): boolean {
  return causesOf(error).some((cause) => NO_SERVER.has(codeOf(cause) ?? ''));
}
