import type { CardAuth } from '../a2a/server/card.js';
import { skillIdOf } from '../agents/capabilities.js';
import type { Config } from '../config/config.js';
import type { Agent } from '../core/agent.js';
import { LangoError } from '../core/errors.js';
import type { Caller } from '../core/identity.js';
import type { Tool } from '../core/tool.js';
import { discoveryUrl } from '../http/jwt-keys.js';

/** What callers need for what: the same rules for the card, the door and the tasks behind it. */
export interface Access {
  /** What the whole agent asks for. */
  readonly scopeOf: (agent: string) => string | undefined;
  readonly cardAuth: (agent: string) => CardAuth;
  /** The only tools that tasks of this caller may use; undefined does not bind them. */
  readonly toolsFor: (caller: Caller) => readonly string[] | undefined;
}

export interface AccessFacts {
  readonly agents: ReadonlyMap<string, Agent>;
  readonly tools: readonly Pick<Tool, 'name'>[];
}

/** Throws `invalid-config` when a rule names an agent or a skill that is not there. */
export function createAccess({ mode, jwt }: Config['auth'], { agents, tools }: AccessFacts): Access {
  const rules = mode === 'jwt' ? jwt.scopes : [];
  for (const rule of rules) assertKnown(rule, agents.get(rule.agent));
  const ofSkills = rules.flatMap(({ skill, scope }) => (skill === undefined ? [] : [{ skill, scope }]));
  const scopeOf = (agent: string): string | undefined =>
    rules.find((rule) => rule.agent === agent && rule.skill === undefined)?.scope;
  return {
    scopeOf,
    cardAuth(agent) {
      if (mode !== 'jwt') return mode;
      const scope = scopeOf(agent);
      const own = rules.filter((rule) => rule.agent === agent && rule.skill !== undefined);
      const isDiscovered = jwt.jwksUrl === undefined && jwt.jwksFile === undefined;
      return {
        openIdConnectUrl: isDiscovered ? discoveryUrl(jwt.issuer ?? '') : undefined,
        scopes: scope === undefined ? [] : [scope],
        skillScopes: new Map(own.map((rule) => [rule.skill ?? '', rule.scope])),
      };
    },
    toolsFor({ scopes }) {
      if (scopes === undefined) return undefined;
      const missing = ofSkills.filter(({ scope }) => !scopes.has(scope)).map(({ skill }) => skill);
      if (missing.length === 0) return undefined;
      return tools.map(({ name }) => name).filter((name) => !missing.includes(skillIdOf(name)));
    },
  };
}

type Rule = Config['auth']['jwt']['scopes'][number];

function assertKnown({ agent, skill }: Rule, known: Agent | undefined): void {
  if (!known) throw unknown(`This node runs no agent named ${agent}.`);
  const ids = known.profile.skills.map(({ id }) => id);
  if (skill === undefined || ids.includes(skill)) return;
  throw unknown(`The agent ${agent} has no skill ${skill}; its skills: ${ids.join(', ') || 'none'}.`);
}

function unknown(message: string): LangoError {
  return new LangoError('invalid-config', message, { hint: 'Correct auth.jwt.scopes.' });
}
