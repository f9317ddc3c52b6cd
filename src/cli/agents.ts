import { counted } from '../core/text.js';
import type { AgentStatus, NodeStatus } from '../owners/operations.js';
import type { Connection, ConnectionFlags } from './connection.js';
import { connect } from './connection.js';
import { EXIT } from './exit.js';
import { ask, readStatus } from './explain.js';
import { createPaint } from './render.js';
import { jsonLine, safeLine } from './safe-text.js';
import type { CommandContext } from './terminal.js';

export interface AgentsFlags extends ConnectionFlags {
  readonly json?: boolean;
}

interface AgentList {
  readonly url: string;
  /** Null for servers that are not Lango's. */
  readonly root: string | null;
  readonly model: string | null;
  readonly agents: readonly AgentStatus[];
}

const DESCRIPTION_CHARACTERS = 200;
const SKILLS_CHARACTERS = 200;

/** `lango agents`: lists all agents, with the reason for those that are skipped. */
export async function agents(flags: AgentsFlags, { env, terminal }: CommandContext): Promise<number> {
  const connection = await connect(flags, env);
  const status = await readStatus(connection);
  const list = status ? await ofNode(status, connection) : await ofCatalog(connection);
  if (flags.json) terminal.print(jsonLine(list));
  else for (const line of linesOf(list, terminal.color)) terminal.print(line);
  return EXIT.ok;
}

/** The published agents that no agent delegates to (the root), then all peers. */
async function ofNode(status: NodeStatus, connection: Connection): Promise<AgentList> {
  const { root, model, published, peers } = status;
  const names = new Set(peers.map(({ name }) => name));
  const others = published.filter((name) => !names.has(name));
  const catalog = others.length > 0 ? await ask(connection, connection.client.catalog()) : [];
  const own = others.map((name): AgentStatus => {
    const description = catalog.find((entry) => entry.name === name)?.description;
    return { name, kind: 'local', state: 'ready', ...(description ? { description } : {}), skills: [] };
  });
  return { url: connection.url, root, model, agents: [...own, ...peers] };
}

async function ofCatalog(connection: Connection): Promise<AgentList> {
  const catalog = await ask(connection, connection.client.catalog());
  const list = catalog.map(({ name, description }): AgentStatus => {
    return { name, kind: 'local', state: 'ready', description, skills: [] };
  });
  return { url: connection.url, root: null, model: null, agents: list };
}

function linesOf({ url, root, model, agents: list }: AgentList, color: boolean): readonly string[] {
  const paint = createPaint(color);
  const width = Math.max(...list.map(({ name }) => name.length), 0);
  return [
    `${counted(list.length, 'agent')} at ${safeLine(url)}${model === null ? '' : `, model ${safeLine(model)}`}`,
    ...list.flatMap((agent) => {
      const { name, kind, state, reason, hint, description = '', skills } = agent;
      const label = paint.author(safeLine(name).padEnd(width));
      const mark = state === 'ready' ? paint.green('ready  ') : paint.red('skipped');
      const role = name === root ? ', answers at the root' : '';
      const place = kind === 'remote' ? `remote ${safeLine(agent.url ?? '')}` : 'local';
      const details = [
        ...(reason === undefined ? [] : [`why: ${safeLine(reason)}`]),
        ...(hint === undefined ? [] : [safeLine(hint)]),
        ...(description === '' ? [] : [safeLine(description, DESCRIPTION_CHARACTERS)]),
        ...(skills.length === 0
          ? []
          : [`skills: ${safeLine(skills.map((skill) => skill.name).join(', '), SKILLS_CHARACTERS)}`]),
      ];
      return [
        `${label}  ${mark}  ${place}${role}`,
        ...details.map((line) => `${' '.repeat(width)}  ${paint.dim(line)}`),
      ];
    }),
  ];
}
