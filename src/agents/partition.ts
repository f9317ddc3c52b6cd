import { LangoError } from '../core/errors.js';
import { FLAT_AGENT_NAME, ORCHESTRATOR_NAME, type AgentSpec, type Roster } from '../core/agent.js';
import type { ToolAssignment } from '../core/capability.js';
import type { Tool } from '../core/tool.js';

const UNMATCHED = 'unmatched';

/** The tools of each role, and the tools that no role owns. */
type RoleToolSet = Readonly<Record<string, readonly Tool[]> & Record<typeof UNMATCHED, readonly Tool[]>>;

/** Assigns each tool to the first role with a prefix of its name, else to the role that takes unmatched tools. Keeps the order. */
export function partitionTools(tools: readonly Tool[], roster: Roster): RoleToolSet {
  const owners = Map.groupBy(tools, ({ name }) => roleOf(name, roster) ?? UNMATCHED);
  return {
    ...Object.fromEntries(roster.map(({ name }) => [name, owners.get(name) ?? []])),
    [UNMATCHED]: owners.get(UNMATCHED) ?? [],
  };
}

/** Returns the name of the role that owns a tool of this name; undefined when no role does. */
export function roleOf(toolName: string, roster: Roster): string | undefined {
  const isOwner = ({ prefixes }: AgentSpec) => prefixes.some((prefix) => toolName.startsWith(prefix));
  const role = roster.find(isOwner) ?? roster.find(({ takesUnmatched }) => takesUnmatched);
  return role?.name;
}

/** Gives each agent that `assigned` names its tools, whatever the prefixes of its spec say. */
export function withAssignedTools(roster: Roster, assigned: readonly ToolAssignment[]): Roster {
  return roster.map((spec) => {
    const own = assigned.filter(({ agent }) => agent === spec.name).map(({ prefix }) => prefix);
    return own.length === 0 ? spec : { ...spec, prefixes: [...own, ...spec.prefixes] };
  });
}

/** Throws `invalid-config` when two roles clash or a name is reserved. */
export function assertRoster(roster: Roster): void {
  const names = roster.map(({ name }) => name);
  const wrong = (text: string, hint: string) => new LangoError('invalid-config', text, { hint });
  const taken = [UNMATCHED, ORCHESTRATOR_NAME, FLAT_AGENT_NAME].find((name) => names.includes(name));
  const hint = 'The server uses this name itself. Choose another in agent.roster.';
  if (taken) throw wrong(`A sub-agent cannot be named ${taken}.`, hint);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice) throw wrong(`Two sub-agents are named ${twice}.`, 'Rename one of them.');
  if (roster.filter(({ takesUnmatched }) => takesUnmatched).length > 1)
    throw wrong(
      'More than one sub-agent takes the unmatched tools.',
      'Set takesUnmatched on one of them only.',
    );
}
