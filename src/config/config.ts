import { DEFAULT_ANTHROPIC_MODEL, DEFAULT_LIMITS } from './agent-keys.js';
import type { AgentLimits, Roster } from '../core/agent.js';
import { DEFAULT_OPENAI_EMBEDDING, DEFAULT_VOYAGE_EMBEDDING } from './knowledge-keys.js';
import type { Places } from './paths.js';
import type { Settings } from './schema.js';

/** The resolved configuration: every default applied, every path absolute. Fit for a log: it holds no secret. */
export interface Config {
  /** The data folder, absolute. It may not exist yet. */
  readonly home: string;
  /** The file that was read; undefined when there is none. */
  readonly file: string | undefined;
  readonly agent: AgentConfig;
  readonly model: ModelConfig;
  readonly server: Readonly<Settings['server']>;
  readonly auth: Readonly<Omit<Settings['auth'], 'token'>>;
  readonly a2a: A2aConfig;
  readonly storage: Readonly<Settings['storage']>;
  readonly tasks: Readonly<Settings['tasks']>;
  readonly workspace: readonly string[];
  readonly vault: { readonly keyFile: string };
  readonly tools: Readonly<Settings['tools']>;
  readonly graph: Readonly<Settings['graph']>;
  readonly observationalMemory: Readonly<Settings['observationalMemory']>;
  readonly payment: Readonly<Settings['payment']>;
  readonly embedding: EmbeddingConfig;
  readonly ingest: Readonly<Settings['ingest']>;
  readonly webSearch: Readonly<Omit<Settings['webSearch'], 'apiKey'>>;
  readonly approval: Readonly<Settings['approval']>;
  readonly egress: { readonly allowPrivate: readonly string[] };
  readonly logging: Readonly<Settings['logging']>;
}

interface AgentConfig extends Readonly<Omit<Settings['agent'], 'roster' | 'ownAgents' | 'limits'>> {
  readonly roster: 'standard' | 'classic' | Roster;
  readonly ownAgents: Roster;
  readonly limits: Omit<AgentLimits, 'delegationRounds' | 'approvalSeconds'>;
}

interface ModelConfig extends Readonly<Omit<Settings['model'], 'apiKey' | 'provider'>> {
  /** `auto` is decided here. */
  readonly provider: 'offline' | 'anthropic' | 'openai';
}

type EmbeddingConfig = Readonly<Omit<Settings['embedding'], 'apiKey'>>;

interface A2aConfig extends Readonly<Omit<Settings['a2a'], 'remoteAgents'>> {
  readonly remoteAgents: readonly RemoteAgentConfig[];
}

/** Its token, when it has one, is in `Secrets.remoteTokens`. */
interface RemoteAgentConfig {
  readonly name: string;
  readonly url: string;
  readonly allowPrivate: boolean;
  /** What its card has to prove. */
  readonly verify?: Settings['a2a']['remoteAgents'][number]['verify'];
}

/** The limits of a run as the agents take them. */
export function agentLimits({ agent, approval }: Pick<Config, 'agent' | 'approval'>): AgentLimits {
  const { limits, maxDelegationRounds: delegationRounds } = agent;
  return { ...limits, delegationRounds, approvalSeconds: approval.expirySeconds };
}

/** What checked settings mean: the choices made, the secrets left out. */
export function configOf(settings: Settings, places: Places): Config {
  const { auth, a2a, server, storage, workspace, vault, tools, approval, egress, logging } = settings;
  return {
    home: places.home,
    file: places.configFile,
    agent: {
      ...settings.agent,
      maxDelegationRounds: settings.agent.maxDelegationRounds || DEFAULT_LIMITS.delegationRounds,
    },
    model: modelOf(settings.model),
    server: { ...server, allowedOrigins: server.allowedOrigins.map((url) => new URL(url).origin) },
    auth: { mode: auth.mode, jwt: auth.jwt, mtls: auth.mtls },
    a2a: {
      ...a2a,
      ...(a2a.baseUrl === undefined ? {} : { baseUrl: a2a.baseUrl.replace(/\/+$/, '') }),
      remoteAgents: a2a.remoteAgents.map(({ token: _, ...peer }) => peer),
    },
    storage,
    tasks: settings.tasks,
    workspace,
    vault: { keyFile: vault.keyFile },
    tools,
    graph: settings.graph,
    observationalMemory: settings.observationalMemory,
    payment: settings.payment,
    embedding: embeddingOf(settings.embedding),
    ingest: settings.ingest,
    webSearch: webSearchOf(settings.webSearch),
    approval,
    egress,
    logging,
  };
}

function modelOf({ apiKey, provider, name, ...others }: Settings['model']): ModelConfig {
  const chosen = provider !== 'auto' ? provider : apiKey === undefined ? 'offline' : 'anthropic';
  const model = name ?? (chosen === 'anthropic' ? DEFAULT_ANTHROPIC_MODEL : undefined);
  return { ...others, provider: chosen, ...(model === undefined ? {} : { name: model }) };
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

function webSearchOf({ apiKey: _secret, ...webSearch }: Settings['webSearch']): Config['webSearch'] {
  return webSearch;
}
