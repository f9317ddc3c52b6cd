import type { Agent } from '../../core/agent.js';
import { LangoError } from '../../core/errors.js';
import { discoveryUrl, type Caller } from '../../core/identity.js';
import type { JsonObject } from '../../core/json.js';
import type { CardAuth, LoginFlow } from './card.js';

/** The scopes that callers need: the same rules for the agent card, for requests and for the tools of a task. */
export type Access = ReturnType<typeof createAccess>;

/** A scope that callers of an agent need, or those who use one of its skills. */
interface ScopeRule {
  readonly agent: string;
  readonly skill?: string | undefined;
  readonly scope: string;
}

interface AccessOptions {
  readonly auth: {
    readonly mode: 'token' | 'mtls' | 'none' | 'jwt';
    readonly jwt: {
      readonly issuer?: string | undefined;
      readonly audience: readonly string[];
      readonly jwksUrl?: string | undefined;
      readonly jwksFile?: string | undefined;
      readonly scopes: readonly ScopeRule[];
    };
  };
  /** All agents of this node, by name. */
  readonly agents: ReadonlyMap<string, Agent>;
  /** The names of all tools. */
  readonly tools: readonly string[];
  /** Returns the id of the skill that a tool belongs to. */
  readonly skillOf: (tool: string) => string;
}

/** Throws `invalid-config` when a rule of `auth.jwt.scopes` names an unknown agent or skill. */
export function createAccess({ auth: { mode, jwt }, agents, tools, skillOf }: AccessOptions) {
  const rules = mode === 'jwt' ? jwt.scopes : [];
  for (const rule of rules) assertKnown(rule, agents.get(rule.agent));
  const ofSkills = rules.flatMap(({ skill, scope }) => (skill === undefined ? [] : [{ skill, scope }]));
  /** The scope that every request to this agent needs; undefined when any caller may use it. */
  const scopeOf = (agent: string): string | undefined =>
    rules.find((rule) => rule.agent === agent && rule.skill === undefined)?.scope;
  let flows: readonly LoginFlow[] = [];
  return {
    /** Whether callers are known. Only known callers get the extended cards. */
    identifiesCallers: mode !== 'none',
    scopeOf,
    /** Takes the metadata of the issuer: cards then name its flows. */
    learn: (facts: JsonObject): void => {
      flows = flowsIn(facts);
    },
    cardAuth(agent: string): CardAuth {
      if (mode !== 'jwt') return mode;
      const scope = scopeOf(agent);
      const own = rules.filter((rule) => rule.agent === agent && rule.skill !== undefined);
      const isDiscovered = jwt.jwksUrl === undefined && jwt.jwksFile === undefined;
      return {
        openIdConnectUrl: isDiscovered ? discoveryUrl(jwt.issuer ?? '') : undefined,
        flows,
        audience: jwt.audience,
        scopes: scope === undefined ? [] : [scope],
        skillScopes: new Map(own.map((rule) => [rule.skill ?? '', rule.scope])),
      };
    },
    /** The only tools that tasks of this caller may use; undefined for all. */
    toolsFor: ({ scopes }: Caller): readonly string[] | undefined => {
      if (scopes === undefined) return undefined;
      const missing = ofSkills.filter(({ scope }) => !scopes.has(scope)).map(({ skill }) => skill);
      if (missing.length === 0) return undefined;
      return tools.filter((name) => !missing.includes(skillOf(name)));
    },
  };
}

function assertKnown({ agent, skill }: ScopeRule, known: Agent | undefined): void {
  if (!known) throw wrongRule(`This node runs no agent named ${agent}.`);
  const ids = known.profile.skills.map(({ id }) => id);
  if (skill === undefined || ids.includes(skill)) return;
  throw wrongRule(`The agent ${agent} has no skill ${skill}; its skills: ${ids.join(', ') || 'none'}.`);
}

function wrongRule(message: string): LangoError {
  return new LangoError('invalid-config', message, { hint: 'Correct auth.jwt.scopes.' });
}

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
/** The grants of an issuer whose metadata has no list (OpenID Connect Discovery 1.0 section 3, RFC 8414). */
const DEFAULT_GRANTS = ['authorization_code'];

/** Reads from the metadata of an issuer the flows that it offers; it leaves out flows without a safe address. */
function flowsIn(facts: JsonObject): readonly LoginFlow[] {
  const grants = Array.isArray(facts['grant_types_supported'])
    ? facts['grant_types_supported']
    : DEFAULT_GRANTS;
  const methods = facts['code_challenge_methods_supported'];
  const address = (name: string): string | undefined => safeUrl(facts[name], facts['issuer']);
  const tokenUrl = address('token_endpoint');
  if (tokenUrl === undefined) return [];
  const authorizationUrl = address('authorization_endpoint');
  const deviceAuthorizationUrl = address('device_authorization_endpoint');
  const pkceRequired = Array.isArray(methods) && methods.includes('S256');
  const flows: LoginFlow[] = [];
  if (grants.includes('authorization_code') && authorizationUrl !== undefined)
    flows.push({ name: 'authorizationCode', members: { authorizationUrl, tokenUrl, pkceRequired } });
  if (grants.includes('client_credentials')) flows.push({ name: 'clientCredentials', members: { tokenUrl } });
  if (grants.includes(DEVICE_GRANT) && deviceAuthorizationUrl !== undefined)
    flows.push({ name: 'deviceCode', members: { deviceAuthorizationUrl, tokenUrl } });
  return flows;
}

/** An address with TLS, or at the issuer's own origin: an issuer on this machine has none. */
function safeUrl(value: unknown, issuer: unknown): string | undefined {
  const url = typeof value === 'string' ? URL.parse(value) : null;
  const isSafe = url && (url.protocol === 'https:' || url.origin === new URL(String(issuer)).origin);
  return isSafe ? url.href : undefined;
}
