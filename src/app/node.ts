import type { RefreshingDirectory } from '../a2a/client/directory.js';
import type { Access } from '../a2a/server/access.js';
import type { NodeAddress } from '../a2a/server/node-address.js';
import type { PublishedAgent } from '../a2a/server/operations.js';
import type { NodeAgents } from '../agents/node-agents.js';
import type { LoadedConfig } from '../config/load.js';
import type { ReadKeys } from '../core/card.js';
import type { CreateFetch, TlsMaterial } from '../core/http.js';
import type { Audit } from '../core/identity.js';
import type { Logger } from '../core/logger.js';
import type { ModelProvider } from '../core/model.js';
import type { SecretGuard } from '../core/secrets.js';
import type { ToolFamily } from '../core/tool-family.js';
import type { Tool } from '../core/tool.js';
import { createEgress } from '../http/egress.js';
import { createProxyChoice } from '../http/proxy.js';
import type { RunningJournal } from '../journal/journal.js';
import type { Parsers } from '../parsing/parsers.js';
import type { Storage } from '../stores/storage.js';
import type { Metrics } from '../telemetry/metrics.js';

/** The parts of a running node, about in the order in which they are opened. Each function here takes what it needs. */
interface NodeParts extends LoadedConfig, NodeAgents {
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
  /** All tools of the agents, except those of a source. */
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

/** Makes ways out of the node, which may reach the private addresses that the configuration allows. */
export function egressOf({ config, settings, logger }: Parts<'config' | 'settings' | 'logger'>): CreateFetch {
  const proxyFor = createProxyChoice(settings.egress);
  return ({ allowPrivate = [], ...options }) =>
    createEgress({
      ...{ ...options, proxyFor, logger },
      allowPrivate: [...config.egress.allowPrivate, ...allowPrivate],
    });
}
