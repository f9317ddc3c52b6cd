import type { RefreshingDirectory } from '../a2a/client/directory.js';
import { grpcAddress, type CardAuth } from '../a2a/server/card.js';
import type { PublishedAgent } from '../a2a/server/operations.js';
import type { Config } from '../config/config.js';
import type { LoadedConfig } from '../config/load.js';
import { hostInUrl } from '../core/addresses.js';
import type { Agent } from '../core/agent.js';
import type { ReadKeys } from '../core/card.js';
import type { Audit, Caller } from '../core/identity.js';
import type { JsonObject } from '../core/json.js';
import type { Logger } from '../core/logger.js';
import type { ModelProvider } from '../core/model.js';
import type { SecretGuard } from '../core/secrets.js';
import type { Scope } from '../core/task.js';
import type { ToolFamily } from '../core/tool-family.js';
import type { Tool } from '../core/tool.js';
import { createEgress, type EgressOptions } from '../http/egress.js';
import { ONLY_OWNER } from '../http/identity.js';
import type { TlsMaterial } from '../http/tls.js';
import type { RunningJournal } from '../journal/journal.js';
import type { Parsers } from '../parsing/parsers.js';
import type { Storage } from '../stores/storage.js';
import type { Metrics } from '../telemetry/metrics.js';

/** The parts of a running node, about in the order in which they are opened. Each function here takes what it needs. */
interface NodeParts extends LoadedConfig {
  readonly logger: Logger;
  /** The values that the log hides: gets new secrets before they are used. */
  readonly hidden: Set<string>;
  /** The bearer token of mode `token`; undefined in other modes. */
  readonly token: string | undefined;
  /** Undefined for plain HTTP, and gRPC in the clear. */
  readonly tls: TlsMaterial | undefined;
  readonly audit: Audit;
  /** Undefined when metrics are off. */
  readonly metrics: Metrics | undefined;
  /** Reads the keys that sign cards, and requests on behalf of an owner. */
  readonly keys: ReadKeys;
  /** The key that encrypts secrets in the database. */
  readonly seal: Buffer;
  readonly storage: Storage;
  readonly parsers: Parsers;
  readonly families: readonly ToolFamily[];
  readonly guard: SecretGuard;
  /** The model of all agents that have none of their own. */
  readonly model: ModelProvider;
  /** The models of `agent.models`, by the names of the agents. */
  readonly models: ReadonlyMap<string, ModelProvider>;
  readonly peers: RefreshingDirectory;
  /** All agents that this node runs, by name. */
  readonly agents: ReadonlyMap<string, Agent>;
  readonly subAgents: readonly Agent[];
  readonly agentOrigins: ReadonlyMap<string, AgentOrigin>;
  /** The name of the agent that answers at the root of the host. */
  readonly root: string;
  /** All tools of these agents, except those of a source. */
  readonly tools: readonly Tool[];
  readonly journal: RunningJournal;
  /** Read each time a card is made: the ports are known only once the listeners listen. */
  readonly address: NodeAddress;
  readonly access: Access;
  readonly published: ReadonlyMap<string, PublishedAgent>;
  /** Aborts when the node stops. */
  readonly stopping: AbortSignal;
}

export type Parts<Name extends keyof NodeParts> = Pick<NodeParts, Name>;

/** Registers a function that gives a part back when the server stops. The last one registered runs first. */
export type OnStop = (close: () => Promise<void> | void) => void;

/** The source of an agent's description: agent-cards/, the roster of the configuration, or the program itself. */
export type AgentOrigin = 'shipped' | 'configured' | 'program';

/** The scopes that callers need: the same rules for the agent card, for requests and for the tools of a task. */
export interface Access {
  /** The scope that every request to this agent needs; undefined when any caller may use it. */
  readonly scopeOf: (agent: string) => string | undefined;
  readonly cardAuth: (agent: string) => CardAuth;
  /** Takes the metadata of the issuer: cards then name its flows. */
  readonly learn: (facts: JsonObject) => void;
  /** The only tools that tasks of this caller may use; undefined for all. */
  readonly toolsFor: (caller: Caller) => readonly string[] | undefined;
}

/** The addresses at which clients reach this node. Until it listens, the port is the configured one, without gRPC. */
export class NodeAddress {
  readonly #config: Config;
  /** Whether both listeners use TLS. */
  readonly isTls: boolean;
  #origin: string;
  #grpcPort: number | undefined;

  constructor(config: Config, isTls: boolean) {
    this.#config = config;
    this.isTls = isTls;
    this.#origin = `${isTls ? 'https' : 'http'}://${hostInUrl(config.server.host)}:${config.server.port}`;
  }

  /** `a2a.baseUrl`, or without it the origin at which a client on this machine reaches the node. */
  get baseUrl(): string {
    return this.#config.a2a.baseUrl ?? this.#origin;
  }

  /** The gRPC address on a card for clients that use `baseUrl`; undefined without gRPC. */
  grpcFor(baseUrl: string): string | undefined {
    if (this.#grpcPort === undefined) return undefined;
    return this.#config.server.grpc.advertise ?? grpcAddress(baseUrl, this.#grpcPort);
  }

  /** `url` has the mount path too, when the node is mounted in another app. */
  httpAnswersAt(url: string): void {
    this.#origin = url;
  }

  grpcListens(port: number): void {
    this.#grpcPort = port;
  }
}

/** Makes a way out of the node, which may reach the private addresses that the configuration allows. */
export function egressOf(
  { config, logger }: Parts<'config' | 'logger'>,
  { allowPrivate = [], ...options }: Partial<EgressOptions> & Pick<EgressOptions, 'timeoutMs'>,
): typeof fetch {
  return createEgress({ ...options, allowPrivate: [...config.egress.allowPrivate, ...allowPrivate], logger });
}

/** The owner of the server's own token, or of everything where nobody needs one. */
export function ownOwner({ auth }: Config): Scope {
  return { tenant: '', owner: auth.mode === 'none' ? ONLY_OWNER.none : ONLY_OWNER.token };
}
