import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { AgentLimits, Roster } from '../core/agent.js';
import { DEFAULT_ROUNDS } from './agent-keys.js';
import { HOME_MARK, IN_MEMORY, mapPaths } from '../core/fields.js';
import { DEFAULT_OPENAI_EMBEDDING, DEFAULT_VOYAGE_EMBEDDING } from './knowledge-keys.js';
import { agentModelsOf, modelOf, type ModelChoice, type ModelConfig } from './models.js';
import type { Path, Settings } from './schema.js';
import { settingsSchema } from './schema.js';

/** The resolved configuration: every default applied, every path absolute. It holds no secret, so it may be logged. */
export interface Config extends Readonly<Omit<Settings, Resolved>> {
  /** The data folder, absolute. It may not exist yet. */
  readonly home: string;
  /** The configuration file; undefined if there is none. */
  readonly file: string | undefined;
  readonly agent: AgentConfig;
  readonly model: ModelConfig;
  readonly auth: AuthConfig;
  readonly a2a: A2aConfig;
  readonly mcp: McpConfig;
  readonly workspace: readonly string[];
  readonly vault: Readonly<Omit<Settings['vault'], 'passphrase'>>;
  readonly storage: Readonly<Omit<Settings['storage'], 'url'>>;
  readonly embedding: EmbeddingConfig;
  readonly webSearch: Readonly<Omit<Settings['webSearch'], 'apiKey'>>;
  readonly telemetry: Readonly<{ content: boolean; otlp: Omit<Settings['telemetry']['otlp'], 'headers'> }>;
}

/** The keys that have another form in `Config`: read-only, without secrets, or with automatic choices made. */
type Resolved =
  | 'agent'
  | 'model'
  | 'auth'
  | 'a2a'
  | 'mcp'
  | 'workspace'
  | 'vault'
  | 'storage'
  | 'embedding'
  | 'webSearch'
  | 'telemetry';

type IntrospectionSettings = Settings['auth']['introspection'];

type AuthConfig = Readonly<Omit<Settings['auth'], 'token' | 'introspection'>> & {
  readonly introspection: Readonly<Omit<IntrospectionSettings, 'clientSecret'>>;
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

type EmbeddingConfig = Readonly<Omit<Settings['embedding'], 'apiKey'>>;

interface A2aConfig extends Readonly<Omit<Settings['a2a'], 'remoteAgents'>> {
  readonly remoteAgents: readonly RemoteAgentConfig[];
}

type PeerSettings = Settings['a2a']['remoteAgents'][number];
type PeerAuth = NonNullable<PeerSettings['auth']>;

/** A remote agent. The values of its credential are in `Secrets.remotes`. */
export type RemoteAgentConfig = Readonly<Omit<PeerSettings, 'token' | 'auth'>> & {
  readonly auth?: RemoteAuthConfig | undefined;
};

type OAuth2Settings = NonNullable<PeerAuth['oauth2']>;
export type OAuth2Config = Omit<OAuth2Settings, 'clientSecret'>;

/** The authentication of requests to a remote agent, without the values. */
interface RemoteAuthConfig {
  readonly apiKey?: Omit<NonNullable<PeerAuth['apiKey']>, 'value'> | undefined;
  readonly basic?: Omit<NonNullable<PeerAuth['basic']>, 'password'> | undefined;
  readonly oauth2?: OAuth2Config | undefined;
  readonly mtls?: PeerAuth['mtls'];
}

interface McpConfig {
  readonly serve: boolean;
  readonly servers: Readonly<Record<string, McpServerConfig>>;
}

/** An MCP server. Its variables, headers and token are in `Secrets.mcp`. */
export type McpServerConfig = Readonly<
  Omit<Settings['mcp']['servers'][string], 'env' | 'headers' | 'token' | 'oauth2' | 'login'>
> & { readonly oauth2?: OAuth2Config | undefined; readonly login?: LoginConfig | undefined };

type LoginSettings = NonNullable<Settings['mcp']['servers'][string]['login']>;
type LoginConfig = Readonly<Omit<LoginSettings, 'clientSecret'>>;

/** Whether requests may come from more than one owner. */
export function hasSeveralOwners({ mode, nodes }: Pick<Settings['auth'], 'mode' | 'nodes'>): boolean {
  return mode === 'jwt' || mode === 'mtls' || nodes.length > 0;
}

/** The limits of a run, in the form that the agents expect. */
export function agentLimits({
  agent,
  approval,
  tasks,
  bill,
}: Pick<Config, 'agent' | 'approval' | 'tasks' | 'bill'>): AgentLimits {
  const { cost, ownerCostPerDay, ...limits } = agent.limits;
  const { maxDelegationRounds: delegationRounds } = agent;
  const { expirySeconds: approvalSeconds } = approval;
  const { currency } = bill;
  const money = {
    ...(cost !== undefined && { cost: { amount: cost, currency } }),
    ...(ownerCostPerDay !== undefined && { ownerCostPerDay: { amount: ownerCostPerDay, currency } }),
  };
  return { ...limits, ...money, delegationRounds, approvalSeconds, entryBytes: tasks.eventBytes };
}

/**
 * Resolves checked settings: makes the automatic choices and leaves the secrets out. `keyVariable` is the environment
 * variable that filled `model.apiKey`.
 */
export function configOf(settings: Settings, base: BasePaths, keyVariable?: string): Config {
  const { agent, a2a, server } = settings;
  const model = modelOf(settings.model, keyVariable);
  const { token: _token, introspection, ...auth } = settings.auth;
  const { clientSecret: _clientSecret, ...introspectionConfig } = introspection;
  const { passphrase: _passphrase, ...vault } = settings.vault;
  const { url: _url, ...storage } = settings.storage;
  const { apiKey: _apiKey, ...webSearch } = settings.webSearch;
  const { headers: _headers, ...otlp } = settings.telemetry.otlp;
  return {
    ...settings,
    home: base.home,
    file: base.configFile,
    agent: {
      ...agent,
      models: agentModelsOf(agent, model),
      maxDelegationRounds: agent.maxDelegationRounds || DEFAULT_ROUNDS,
    },
    model,
    server: { ...server, allowedOrigins: server.allowedOrigins.map((url) => new URL(url).origin) },
    auth: { ...auth, introspection: introspectionConfig },
    a2a: {
      ...a2a,
      ...(a2a.baseUrl === undefined ? {} : { baseUrl: a2a.baseUrl.replace(/\/+$/, '') }),
      remoteAgents: a2a.remoteAgents.map(remoteAgentOf),
    },
    mcp: { serve: settings.mcp.serve, servers: mcpServersOf(settings) },
    vault,
    storage,
    embedding: embeddingOf(settings.embedding),
    webSearch,
    telemetry: { ...settings.telemetry, otlp },
  };
}

function remoteAgentOf({ token: _, auth, ...peer }: PeerSettings): RemoteAgentConfig {
  if (auth === undefined) return peer;
  const { apiKey, basic, oauth2, mtls } = auth;
  const apiKeyPlace = apiKey && { header: apiKey.header, query: apiKey.query };
  return {
    ...peer,
    auth: {
      apiKey: apiKeyPlace,
      basic: basic && { user: basic.user },
      oauth2: oauth2 && clientOf(oauth2),
      mtls,
    },
  };
}

function clientOf({ clientSecret: _, ...client }: OAuth2Settings): OAuth2Config {
  return client;
}

function mcpServersOf({ mcp }: Settings): McpConfig['servers'] {
  const entries = Object.entries(mcp.servers);
  return Object.fromEntries(
    entries.map(([name, { env: _e, headers: _h, token: _t, oauth2, login, ...rest }]) => {
      const { clientSecret: _s, ...person } = login ?? {};
      return [name, { ...rest, oauth2: oauth2 && clientOf(oauth2), login: login && (person as LoginConfig) }];
    }),
  );
}

function embeddingOf({ apiKey: _secret, ...embedding }: Settings['embedding']): EmbeddingConfig {
  const fallback = {
    openai: DEFAULT_OPENAI_EMBEDDING,
    voyage: DEFAULT_VOYAGE_EMBEDDING,
    local: undefined,
    none: undefined,
  };
  const model = embedding.model ?? fallback[embedding.provider];
  return { ...embedding, ...(model === undefined ? {} : { model }) };
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
export function withPaths(settings: Settings, base: BasePaths): Settings {
  const start = base.configFile === undefined ? base.home : dirname(base.configFile);
  return mapPaths(settingsSchema, settings, (path) => {
    if (path === IN_MEMORY) return path;
    if (path.startsWith(HOME_MARK)) return join(base.home, path.slice(HOME_MARK.length));
    if (path === '~' || path.startsWith('~/')) return join(homedir(), path.slice(1));
    return resolve(start, path);
  }) as Settings;
}
