import type { Path } from '../core/findings.js';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { AgentLimits, Roster } from '../core/agent.js';
import { DEFAULT_ROUNDS } from './agent-keys.js';
import type { Capability, SettingsGroups, SettingsOf } from '../core/capability.js';
import { LangoError } from '../core/errors.js';
import { mapMembers } from '../core/json.js';
import { HOME_MARK, IN_MEMORY, LEFT_OUT, mapSettings } from '../core/fields.js';
import { agentModelsOf, modelOf, type ModelChoice, type ModelConfig } from './models.js';
import type { Settings, SettingsSchema } from './schema.js';

/** The resolved configuration: every default applied, every path absolute, no secret. May be logged. */
export interface Config extends Readonly<Omit<Settings, Resolved>> {
  /** The data folder, absolute; may not exist yet. */
  readonly home: string;
  /** The configuration file; undefined if there is none. */
  readonly file: string | undefined;
  readonly agent: AgentConfig;
  readonly model: ModelConfig;
  readonly auth: AuthConfig;
  readonly a2a: A2aConfig;
  readonly workspace: readonly string[];
  readonly storage: Readonly<Omit<Settings['storage'], 'url'>>;
  readonly telemetry: Readonly<{ content: boolean; otlp: Omit<Settings['telemetry']['otlp'], 'headers'> }>;
}

/** The keys that have another form in `Config`: read-only, without secrets, or with automatic choices made. */
type Resolved = 'agent' | 'model' | 'auth' | 'a2a' | 'workspace' | 'storage' | 'telemetry';

type AuthConfig = Readonly<Omit<Settings['auth'], 'token' | 'introspection'>> & {
  readonly introspection: Readonly<Omit<Settings['auth']['introspection'], 'clientSecret'>>;
};

interface AgentConfig extends Readonly<
  Omit<Settings['agent'], 'roster' | 'ownAgents' | 'limits' | 'models'>
> {
  readonly roster: 'standard' | 'classic' | Roster;
  readonly ownAgents: Roster;
  readonly limits: Settings['agent']['limits'];
  /** By the names of the agents. */
  readonly models: Readonly<Record<string, ModelChoice>>;
}

interface A2aConfig extends Readonly<Omit<Settings['a2a'], 'remoteAgents'>> {
  readonly remoteAgents: readonly RemoteAgentConfig[];
}

type PeerSettings = Settings['a2a']['remoteAgents'][number];
type PeerAuth = NonNullable<PeerSettings['auth']>;

/** A remote agent. The values of its credential are in `Secrets.remotes`. */
export type RemoteAgentConfig = Readonly<Omit<PeerSettings, 'token' | 'auth'>> & {
  readonly auth?: RemoteAuthConfig | undefined;
};

/** The authentication of requests to a remote agent, without the values. */
interface RemoteAuthConfig {
  readonly apiKey?: Omit<NonNullable<PeerAuth['apiKey']>, 'value'> | undefined;
  readonly basic?: Omit<NonNullable<PeerAuth['basic']>, 'password'> | undefined;
  readonly oauth2?: Omit<NonNullable<PeerAuth['oauth2']>, 'clientSecret'> | undefined;
  readonly mtls?: PeerAuth['mtls'];
}

/** Whether requests may come from more than one owner. */
export function hasSeveralOwners({ mode, nodes }: Pick<Settings['auth'], 'mode' | 'nodes'>): boolean {
  return mode === 'jwt' || mode === 'mtls' || nodes.length > 0;
}

/** The limit of the tasks of an owner among several, unless the settings name another. */
const OWNER_TASKS_MB = 4096;

/** The most bytes that the tasks of one owner take in the database; undefined without a limit. */
export function ownerTaskBytes({ auth, disk }: Config): number | undefined {
  const megabytes = disk.tasksMb ?? (hasSeveralOwners(auth) ? OWNER_TASKS_MB : 0);
  return megabytes === 0 ? undefined : megabytes * 1024 * 1024;
}

/** Throws `invalid-config` for a configuration that does not work without listeners of its own. */
export function assertMountable({ server }: Config): void {
  if (!server.grpc.enabled) return;
  const text = 'gRPC needs a port of its own, and start({ listen: false }) opens none.';
  const hint = 'Set server.grpc.enabled to false, or start the server without listen: false.';
  throw new LangoError('invalid-config', text, { hint });
}

/** The limits of a run, in the form that the agents expect. */
export function agentLimits(config: Pick<Config, 'agent' | 'approval' | 'tasks' | 'bill'>): AgentLimits {
  const { agent, approval, tasks } = config;
  const { currency } = config.bill;
  const { cost, ownerCostPerDay, ...limits } = agent.limits;
  return {
    ...limits,
    ...(cost !== undefined && { cost: { amount: cost, currency } }),
    ...(ownerCostPerDay !== undefined && { ownerCostPerDay: { amount: ownerCostPerDay, currency } }),
    delegationRounds: agent.maxDelegationRounds,
    approvalSeconds: approval.expirySeconds,
    entryBytes: tasks.eventBytes,
  };
}

/** Resolves checked settings, without secrets. `sources`: the environment variables that filled keys. */
export function configOf(
  schema: SettingsSchema,
  settings: Settings,
  { base, sources }: { readonly base: BasePaths; readonly sources?: ReadonlyMap<string, string> },
): Config {
  const own = mapSettings(schema.zod, settings, (value, kind) =>
    kind === 'secret' ? LEFT_OUT : value,
  ) as Omit<Config, 'home' | 'file'>;
  const { agent, a2a, server } = own;
  const model = modelOf(settings.model, sources);
  return {
    ...own,
    home: base.home,
    file: base.configFile,
    agent: {
      ...agent,
      models: agentModelsOf(settings.agent, model),
      maxDelegationRounds: agent.maxDelegationRounds || DEFAULT_ROUNDS,
    },
    model,
    server: { ...server, allowedOrigins: server.allowedOrigins.map((url) => new URL(url).origin) },
    a2a: { ...a2a, ...(a2a.baseUrl === undefined ? {} : { baseUrl: a2a.baseUrl.replace(/\/+$/, '') }) },
  };
}

/** The settings of a capability, by their places. They hold its secrets. */
export function groupsOf(
  { settings: groups = {} }: Pick<Capability, 'settings'>,
  settings: Readonly<Record<string, unknown>>,
): SettingsOf<SettingsGroups> {
  return mapMembers<unknown, unknown>(groups, (_, place) => valueAt(settings, place));
}

/** The settings with those of a capability replaced. */
export function withGroups(settings: Settings, groups: SettingsOf<SettingsGroups>): Settings {
  const copy: Record<string, unknown> = { ...settings };
  for (const [place, value] of Object.entries(groups)) {
    const [name = '', member] = place.split('.');
    copy[name] = member === undefined ? value : { ...(copy[name] as object), [member]: value };
  }
  return copy as Settings;
}

/** The value at a key such as "server.port" or "a2a.remoteAgents[0].url"; undefined if there is none. */
export function valueAt(value: unknown, key: string): unknown {
  const steps = key.split(/[.[\]]+/).filter((step) => step !== '');
  return steps.reduce<unknown>(
    (inner, step) => (inner as Record<string, unknown> | undefined)?.[step],
    value,
  );
}

/** The files from which the paths of the settings are resolved. */
export interface BasePaths {
  /** The data folder, absolute. */
  readonly home: string;
  /** The configuration file, absolute; undefined if there is none. */
  readonly configFile: string | undefined;
  /** The key of a secret that is written out in the file, when other users can read the file. */
  readonly exposedSecret?: Path | undefined;
}

/** The settings with absolute paths. Relative paths start at the folder of the configuration file. */
export function withPaths(schema: SettingsSchema, settings: unknown, base: BasePaths): Settings {
  const start = base.configFile === undefined ? base.home : dirname(base.configFile);
  const absolute = (path: string): string => {
    if (path === IN_MEMORY) return path;
    if (path.startsWith(HOME_MARK)) return join(base.home, path.slice(HOME_MARK.length));
    if (path === '~' || path.startsWith('~/')) return join(homedir(), path.slice(1));
    return resolve(start, path);
  };
  return mapSettings(schema.zod, settings, (value, kind) =>
    kind === 'path' ? absolute(value as string) : value,
  ) as Settings;
}
