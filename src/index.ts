/**
 * Lango as a library: a server in your program, with your own agents, tools and model. Everything else is internal and
 * may change.
 */
import './config/require-node.js';
import { createRequire } from 'node:module';
import { createClient, type AgentClient } from './a2a/client/client.js';
import type { Binding } from './a2a/client/link.js';
import { type VerifyPush, createPushVerifier as pushVerifier } from './a2a/client/push-verifier.js';
import { assertDescribable } from './agents/arguments.js';
import type { DefinedAgent } from './agents/defined-agent.js';
import { createApp, type AppAddress, type MountOptions, type MountedAddress } from './app.js';
import type { MountedHandler } from './app/listeners.js';
import type { Config } from './config/config.js';
import { readEnv } from './config/env.js';
import { type LoadedConfig, resolveConfig } from './config/load.js';
import type { SettingsInput } from './config/schema.js';
import type { Agent } from './core/agent.js';
import type { DefinedCapability } from './core/capability.js';
import { loadPackage } from './core/errors.js';
import { silentLogger, type Logger } from './core/logger.js';
import type { ModelProvider } from './core/model.js';
import type { Run } from './core/run.js';
import type { Tool } from './core/tool.js';
import { evaluateCases, type Evaluation } from './evals/evaluate.js';
import { createAddressCheck } from './http/address-check.js';
import { createEgress } from './http/egress.js';

export interface ServerOptions {
  /** The data folder. Default: LANGO_HOME, else `~/.lango`. */
  readonly home?: string;
  /** The settings of a configuration file. No file is read. */
  readonly settings?: SettingsInput;
  /** Agents that are published besides those of the roster. The orchestrator delegates to them too. */
  readonly agents?: readonly (Agent | DefinedAgent)[];
  /** Tools for the agents of the roster. The prefix of a tool's name decides which agent gets it. */
  readonly tools?: readonly Tool[];
  /** Capabilities besides the shipped ones, made with `defineCapability`. */
  readonly capabilities?: readonly DefinedCapability[];
  /** Replaces the configured model. */
  readonly model?: ModelProvider;
  /**
   * Text for a run (memory, retrieved knowledge), which is added after the instruction in a labeled block. Undefined
   * adds nothing.
   */
  readonly additions?: (run: Run) => Promise<string | undefined>;
  /** Default: no log. */
  readonly logger?: Logger;
}

export interface Server {
  /** Resolves once the server serves requests. Rejects with a `LangoError` and leaves nothing open. Call it once. */
  start(): Promise<AppAddress>;
  /** Rejects with `invalid-config` when the settings ask for gRPC, which needs a port of its own. */
  start(options: MountOptions): Promise<MountedAddress>;
  /**
   * Makes a handler for `app.use(path, …)` of express. It handles the server's paths below that path, with 503 before
   * the start and after the stop, and leaves all other paths to the app.
   */
  router(): MountedHandler;
  /**
   * Applies the remote agents of new settings (`a2a.enabled`, `a2a.remoteAgents`) and reads the files of the TLS
   * certificate again. The log names other settings that differ. Without settings the agents stay. Resolves once the
   * cards of new agents were loaded. Rejects with `invalid-config` when anything is wrong, and then changes nothing.
   */
  reload(settings?: SettingsInput): Promise<void>;
  /** Ends open streams, refuses new work, gives running tasks back to the journal and closes everything. Never rejects. */
  stop(): Promise<void>;
}

/**
 * Makes the server that `lango serve` runs, in this program. Opens nothing before `start`. Throws
 * `LangoError` `invalid-config` that lists everything that is wrong with the settings, or names a tool that no
 * model could call.
 */
export function createServer(options: ServerOptions = {}): Server {
  const { home, settings = {}, capabilities, logger = silentLogger, ...own } = options;
  const overrides = home === undefined ? {} : { home };
  own.tools?.forEach(assertDescribable);
  const resolve = (input: SettingsInput): LoadedConfig =>
    resolveConfig({ env: readEnv(), overrides, settings: input, capabilities });
  const loaded = resolve(settings);
  const app = createApp({ ...loaded, ...own, logger });
  function start(): Promise<AppAddress>;
  function start(mount: MountOptions): Promise<MountedAddress>;
  async function start(mount?: MountOptions): Promise<MountedAddress> {
    const { model, agent } = loaded.config;
    const models = [...(own.model ? [] : [model]), ...Object.values(agent.models)];
    for (const { provider } of models.flatMap((each) => [each, ...each.fallbacks]))
      await assertVendorInstalled(provider);
    return mount ? app.start(mount) : app.start();
  }
  return {
    start,
    router: () => app.router(),
    stop: () => app.stop(),
    reload: (next) => app.reload(next && (async () => resolve(next))),
  };
}

const VENDOR_PACKAGES: Readonly<Partial<Record<Config['model']['provider'], string>>> = {
  anthropic: '@anthropic-ai/sdk',
  openai: 'openai',
};

/** The provider loads its package at the first request. The start reports a missing package to the author of the program. */
async function assertVendorInstalled(provider: Config['model']['provider']): Promise<void> {
  const name = VENDOR_PACKAGES[provider];
  if (name) await loadPackage(name, async () => createRequire(import.meta.url).resolve(name));
}

export interface ConnectOptions {
  /** The address of a Lango server, or of any A2A agent. */
  readonly url: string;
  readonly token?: string;
  /** The only binding to use. Default: the first interface of the card that both sides support, HTTP before gRPC. */
  readonly binding?: Binding;
}

/** Makes a client of one server, which may have a private or loopback address. Sends nothing yet. */
export function connect({ url, token, binding }: ConnectOptions): AgentClient {
  const { host, hostname } = new URL(url);
  const rules = { allowPrivate: [host], timeoutMs: REQUEST_TIMEOUT_MS, logger: silentLogger };
  return createClient({
    ...{ url, binding, fetch: createEgress(rules) },
    grpc: { addressOf: createAddressCheck([hostname]) },
    ...(token === undefined ? {} : { token }),
  });
}

export interface PushSource {
  /** The address of the server that sends, as its cards name it. */
  readonly issuer: string;
  /** The origin that the receiver was registered under. */
  readonly audience: string;
  /** The token of the push config, when it has one. */
  readonly token?: string;
}

/** Makes a check of a server's push notifications. The server may have a private or loopback address. Sends nothing yet. */
export function createPushVerifier(source: PushSource): VerifyPush {
  const { host } = new URL(source.issuer);
  const rules = { allowPrivate: [host], timeoutMs: REQUEST_TIMEOUT_MS, logger: silentLogger };
  return pushVerifier({ ...source, fetch: createEgress(rules) });
}

const REQUEST_TIMEOUT_MS = 60_000;

export interface EvaluateOptions {
  /** Sends the messages of the cases to live agents: servers with these options, each with a data folder of its own. */
  readonly live?: Omit<ServerOptions, 'home' | 'additions' | 'logger'> & {
    /** The folder of the tasks of the run. A run that was interrupted goes on in the same folder, and repeats nothing. */
    readonly folder: string;
    /** The most money of the whole run, in the currency of the bill. Default: no limit. */
    readonly budget?: number;
    /** The most cases at the same time. Default: 4. */
    readonly parallel?: number;
    /** Whether the task of each case that passes becomes its record. Default: false. */
    readonly writesRecords?: boolean;
    /** Whether the records are replayed, and only judges that have not answered yet are asked. Default: false. */
    readonly judgesOnly?: boolean;
  };
}

/**
 * Evaluates the cases of a YAML file, or of all below a folder. Without `live` it replays their records, without models,
 * tools and network. Rejects with `invalid-input` when a file of cases is wrong.
 */
export function evaluate(path: string, { live }: EvaluateOptions = {}): Promise<Evaluation> {
  if (!live) return evaluateCases(path);
  const { folder, parallel = 4, settings = {}, capabilities, agents, tools, model, ...run } = live;
  return evaluateCases(path, {
    ...{ ...run, folder, parallel },
    load: async (models) =>
      resolveConfig({ env: readEnv(), overrides: { home: folder, models }, settings, capabilities }),
    createApp: (options) => createApp({ ...options, agents: options.agents ?? agents, tools, model }),
  });
}

export type { AppAddress, MountOptions, MountedAddress, SettingsInput };
export type { AgentClient, SendRequest } from './a2a/client/client.js';
export type { PushNotification, PushRequest, VerifyPush } from './a2a/client/push-verifier.js';
export type { ClientEvent } from './a2a/client/reader.js';
export { defineAgent } from './agents/defined-agent.js';
export type { AgentDefinition, DefinedAgent } from './agents/defined-agent.js';
export { fromAgentExecutor } from './a2a/server/executor-adapter.js';
export type { Agent, AgentProfile, CardDetails, Skill } from './core/agent.js';
export { defineCapability } from './core/capability.js';
export type { Capability, CapabilityContext, DefinedCapability, OpenCapability } from './core/capability.js';
export { fields } from './core/fields.js';
export { sql } from './core/sql.js';
export { LangoError } from './core/errors.js';
export { silentLogger } from './core/logger.js';
export type { Logger } from './core/logger.js';
export { textOf, textPart } from './core/message.js';
export type { Artifact, Message, Part } from './core/message.js';
export type { ModelEvent, ModelProvider, ModelRequest } from './core/model.js';
export { fromAiSdk, type FromAiSdkOptions } from './models/ai-sdk/provider.js';
export type { AiSdkModel } from './models/ai-sdk/language-model.js';
export type { Run, RunEnd } from './core/run.js';
export { replyPart } from './core/questions.js';
export type { Reply, Question, TaskState } from './core/task.js';
export { defineTool } from './core/tool.js';
export type { Tool, ToolContext, ToolDefinition, ToolOutput } from './core/tool.js';
export { createLogger } from './logging.js';
export type { CaseResult } from './core/evaluations.js';
export type { Evaluation } from './evals/evaluate.js';
export { replayTask } from './replay/replay.js';
export type { ReplayReport } from './replay/replay.js';
export { scriptedModel } from './models/scripted/provider.js';
export type { ModelScript, ScriptedAnswer, ScriptedModel } from './models/scripted/provider.js';
