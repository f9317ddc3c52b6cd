import { LangoError } from '../core/errors.js';
import { FLAT_AGENT_NAME, ORCHESTRATOR_NAME } from '../core/roster.js';
import type { AgentSpec, Roster } from '../core/roster.js';
import type { Tool } from '../core/tool.js';
import { STANDARD_ROSTER } from './standard-roster.js';
import type { StandardRole } from './standard-roster.js';

const UNMATCHED = 'unmatched';

/** Who owns which tools: one field per role, and one for the tools that nobody owns. */
export type RoleToolSet<Role extends string = StandardRole> = Readonly<Record<Role, readonly Tool[]>> & {
  readonly [UNMATCHED]: readonly Tool[];
};

/**
 * Gives each tool to exactly one role: the first of the roster with a prefix of its name, else the one
 * that takes unmatched tools, else nobody. Keeps the order of the tools.
 */
export function partitionTools(tools: readonly Tool[]): RoleToolSet;
export function partitionTools(tools: readonly Tool[], roster: Roster): RoleToolSet<string>;
export function partitionTools(
  tools: readonly Tool[],
  roster: Roster = STANDARD_ROSTER,
): RoleToolSet<string> {
  const owners = Map.groupBy(tools, ({ name }) => roleOf(name, roster) ?? UNMATCHED);
  return {
    ...Object.fromEntries(roster.map(({ name }) => [name, owners.get(name) ?? []])),
    [UNMATCHED]: owners.get(UNMATCHED) ?? [],
  };
}

/** The name of the one role that a tool of this name goes to; undefined when it goes to nobody. */
export function roleOf(toolName: string, roster: Roster): string | undefined {
  const isOwner = ({ prefixes }: AgentSpec) => prefixes.some((prefix) => toolName.startsWith(prefix));
  const role = roster.find(isOwner) ?? roster.find(({ takesUnmatched }) => takesUnmatched);
  return role?.name;
}

/** Throws `invalid-config` when a roster cannot work. */
export function assertRoster(roster: Roster): void {
  const names = roster.map(({ name }) => name);
  for (const taken of [UNMATCHED, ORCHESTRATOR_NAME, FLAT_AGENT_NAME]) {
    if (names.includes(taken)) throw new LangoError('invalid-config', `a sub-agent cannot be named ${taken}`);
  }
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice) throw new LangoError('invalid-config', `two sub-agents are named ${twice}`);
  if (roster.filter(({ takesUnmatched }) => takesUnmatched).length > 1) {
    throw new LangoError('invalid-config', 'only one sub-agent can take the unmatched tools');
  }
}
