import { counted } from '../core/text.js';
import type { AgentStatus, NodeStatus } from '../owners/operations.js';
import { connect, type Connection, type ConnectionFlags } from './connection.js';
import { USED_STATES, ask, readStatus } from './explain.js';
import type { Paint } from './paint.js';
import { safeLine } from './safe-text.js';
import type { Call, Report } from './terminal.js';

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

/** The published agents that no agent delegates to (the root), then all peers; without a status the catalog. */
async function listAgents(
  connection: Connection,
  status: NodeStatus | undefined,
): Promise<readonly AgentStatus[]> {
  const peers = status?.peers ?? [];
  const others = status?.published.filter((name) => peers.every((peer) => peer.name !== name));
  const catalog = others?.length === 0 ? [] : await ask(connection, connection.client.catalog());
  const own = (others ?? catalog.map(({ name }) => name)).map((name): AgentStatus => {
    const description = catalog.find((entry) => entry.name === name)?.description;
    return { name, kind: 'local', state: 'ready', description, skills: [] };
  });
  return [...own, ...peers];
}

interface LineOptions {
  readonly isRoot: boolean;
  readonly width: number;
  readonly paint: Paint;
}

function linesOf(agent: AgentStatus, { isRoot, width, paint }: LineOptions): readonly string[] {
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
    `${label}  ${mark}  ${place}${isRoot ? ', answers at the root' : ''}`,
    ...details.filter(Boolean).map((line) => `${' '.repeat(width)}  ${paint.dim(line)}`),
  ];
}
