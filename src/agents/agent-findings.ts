import type { Roster } from '../core/agent.js';
import { LangoError } from '../core/errors.js';
import { finding, type Finding, type Path } from '../core/findings.js';
import { nearestOf } from '../core/text.js';
import { agentNames, unknownPublished } from './agent-tree.js';
import { capabilityMap } from './capabilities.js';
import type { NodeAgentsOptions } from './node-agents.js';

/** The settings that name agents. */
interface AgentNaming extends Pick<NodeAgentsOptions, 'multiAgent' | 'roster' | 'publish' | 'assigned'> {
  /** The agents with a model of their own. */
  readonly modelNames: readonly string[];
}

/** Finds wrong names of agents. A start with them fails, or leaves out agents of `remotes`. */
export function agentFindings(naming: AgentNaming, remotes: readonly string[]): readonly Finding[] {
  const { publish } = naming;
  const known = agentNames(naming);
  const unknown = unknownPublished(naming).flatMap((name) =>
    unknownAgent(['a2a', 'publish', publish!.indexOf(name)], name, { known, verb: 'hold' }),
  );
  const runsHere = (name: string): boolean => (publish ?? known).includes(name) && known.includes(name);
  const taken = remotes.flatMap((name, index) => {
    const text = `is the name of an agent of this node, which hides the remote one; choose another, or leave ${name} out of a2a.publish`;
    return runsHere(name) ? finding(['a2a', 'remoteAgents', index, 'name'], text) : [];
  });
  return [...unknown, ...modelNameFindings(naming), ...taken, ...assignmentFindings(naming)];
}

/** Throws `invalid-config` for a model or tools of an agent that does not exist. `own`: the agents of the program. */
export function assertAgentNames(naming: AgentNaming, own: readonly string[]): void {
  const [first] = [...modelNameFindings(naming, own), ...assignmentFindings(naming)];
  if (first) throw new LangoError('invalid-config', `${first.path.join('.')} ${first.text}.`);
}

/** Finds models of unknown agents, which would silently have no effect. */
function modelNameFindings(naming: AgentNaming, own: readonly string[] = []): readonly Finding[] {
  const known = [...agentNames(naming), ...own];
  return naming.modelNames.flatMap((name) =>
    known.includes(name) ? [] : unknownAgent(['agent', 'models', name], name, { known, verb: 'be' }),
  );
}

function unknownAgent(
  path: Path,
  name: string,
  { known, verb }: { readonly known: readonly string[]; readonly verb: string },
): readonly Finding[] {
  const nearest = nearestOf(name, known);
  const advice = nearest ? `did you mean "${nearest}"?` : `it can ${verb}: ${known.join(', ')}`;
  return finding(path, `names no agent of this server; ${advice}`);
}

/** Finds agents of `agent.ownAgents` that a start leaves out, as Lango has no tool whose name begins with their prefixes. */
export function prefixFindings(ownAgents: Roster): readonly Finding[] {
  const known = [...Object.keys(capabilityMap), 'mcp_'];
  const mayMatch = (prefix: string) => known.some((one) => one.startsWith(prefix) || prefix.startsWith(one));
  return ownAgents.flatMap(({ name, prefixes, alwaysInclude, takesUnmatched }, index) => {
    const isThere = alwaysInclude || takesUnmatched || prefixes.length === 0 || prefixes.some(mayMatch);
    if (isThere) return [];
    const text = `begin the name of no tool that Lango brings, so ${name} is left out unless a program adds one; correct them, or set alwaysInclude`;
    return finding(['agent', 'ownAgents', index, 'prefixes'], text);
  });
}

function assignmentFindings({ multiAgent, roster, assigned }: AgentNaming): readonly Finding[] {
  if (!multiAgent) return [];
  const names = roster.map(({ name }) => name);
  return assigned.flatMap(({ agent, path }) => {
    if (names.includes(agent)) return [];
    return finding(path, `names no agent of the roster; it can be: ${names.join(', ')}`);
  });
}
