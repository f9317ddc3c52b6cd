import path from 'node:path';
import { signCard } from '../a2a/server/signing.js';
import { buildCard, buildExtendedCard, type CardParts } from '../a2a/server/card.js';
import { createGrant } from '../a2a/server/grant.js';
import { createAgentHandler } from '../a2a/server/handler.js';
import { PushConfigs } from '../a2a/server/push-configs.js';
import { createPushSender } from '../a2a/server/push-sender.js';
import type { PublishedAgent } from '../a2a/server/operations.js';
import { cardSkills } from '../agents/capabilities.js';
import { loadCardFiles } from '../config/cards.js';
import { agentLimits, type Config } from '../config/config.js';
import type { LoadedConfig } from '../config/load.js';
import type { NodeKeys } from '../config/node-credentials.js';
import { packageRoot, packageVersion } from '../config/package-root.js';
import { rootAgentName, type Agent, type Skill } from '../core/agent.js';
import type { ReadKeys } from '../core/card.js';
import { errorText } from '../core/errors.js';
import type { Audit, Caller } from '../core/identity.js';
import type { Journal } from '../core/journal.js';
import type { Logger } from '../core/logger.js';
import type { Storage } from '../stores/storage.js';
import { createTargetCheck } from '../http/address-check.js';
import { createEgress } from '../http/egress.js';
import { DeliveryWorker } from '../journal/delivery-worker.js';
import { createSealer } from '../core/sealing.js';
import type { Metrics } from '../telemetry/metrics.js';
import type { AgentOrigin } from './agents.js';
import { isOperator, type Access } from './identity.js';
import type { NodeAddress } from './listeners.js';

export interface PublishOptions {
  readonly config: Config;
  readonly agents: ReadonlyMap<string, Agent>;
  readonly origins: ReadonlyMap<string, AgentOrigin>;
  /** The name of the agent that answers at the root of the host. */
  readonly root: string;
  readonly journal: Journal;
  readonly nodeId: string;
  readonly access: Access;
  readonly audit: Audit;
  /** Read each time a card is made: the ports are known only once the listeners listen. */
  readonly address: NodeAddress;
  /** Undefined when this node sends no push notifications. */
  readonly push: PushConfigs | undefined;
  /** The keys that sign cards. */
  readonly keys: ReadKeys;
}

/** Makes a card and a request handler for each agent (requirement X1). */
export async function publish(options: PublishOptions): Promise<ReadonlyMap<string, PublishedAgent>> {
  const { config, agents, origins, root, journal, nodeId, access, audit, address, push, keys } = options;
  const files = await loadCardFiles(path.join(packageRoot(), 'agent-cards'));
  const reviewed = [...files.values()].flatMap((file) => file.skills);
  const version = packageVersion();
  const limits = agentLimits(config);
  const published = [...agents].map(([name, { profile }]): [string, PublishedAgent] => {
    const origin = origins.get(name);
    const file = origin === 'shipped' ? files.get(name) : undefined;
    const skills = (): readonly Skill[] =>
      origin === 'program' ? profile.skills : cardSkills(profile.skills, file?.skills ?? [], reviewed);
    const partsFor = (baseUrl = address.baseUrl): CardParts => ({
      file,
      profile: { ...profile, skills: skills() },
      version,
      baseUrl,
      grpc: address.grpcFor(baseUrl),
      isGrpcSecure: address.isTls,
      isRoot: name === root,
      auth: access.cardAuth(name),
      push: push !== undefined,
    });
    const card: PublishedAgent['card'] = (baseUrl) => buildCard(partsFor(baseUrl));
    const extendedCard = async (baseUrl?: string): Promise<ReturnType<typeof buildCard>> => {
      const extended = buildExtendedCard(partsFor(config.a2a.baseUrl ?? baseUrl));
      return config.a2a.signCards ? signCard(extended, (await keys()).current) : extended;
    };
    const handler = createAgentHandler({
      agent: profile,
      journal,
      push,
      card,
      extendedCard: config.auth.mode === 'none' ? undefined : extendedCard,
      rootAgentName: rootAgentName(config.agent.multiAgent),
      approver: config.approval.by,
      grant: createGrant({ limits, self: `${name}@${nodeId}`, toolsFor: access.toolsFor }),
    });
    return [name, { name, handler, card, scope: access.scopeOf(name), audit }];
  });
  return new Map(published);
}

export interface PushOptions {
  readonly config: Config;
  readonly storage: Storage;
  readonly keys: NodeKeys;
  /** The address that notifications name as their sender. */
  readonly address: NodeAddress;
  readonly logger: Logger;
}

export interface Push {
  readonly configs: PushConfigs;
  readonly deliveries: DeliveryWorker;
}

/** Room for the headers of a receiver's answer; its body is not read. */
const ANSWER_BYTES = 64 * 1024;

/** Makes the parts of push notifications; undefined when they are switched off. */
export function createPush({ config, storage, keys, address, logger }: PushOptions): Push | undefined {
  const { push } = config.a2a;
  if (!push.enabled) return undefined;
  const { allowPrivate } = config.egress;
  const sealer = createSealer(keys.seal);
  const sender = createPushSender({
    fetch: createEgress({
      allowPrivate,
      timeoutMs: 1_000 * push.timeoutSeconds,
      maxBytes: ANSWER_BYTES,
      logger,
    }),
    journal: storage.tasks,
    sealer,
    keys: keys.read,
    issuer: () => address.baseUrl,
    rootAgentName: rootAgentName(config.agent.multiAgent),
    userAgent: `lango/${packageVersion()}`,
  });
  const deliveries = new DeliveryWorker({
    pushes: storage.pushes,
    tasks: storage.tasks,
    sender,
    limits: {
      ...push,
      retryMs: 1_000 * push.retrySeconds,
      maxRetryMs: 1_000 * push.maxRetrySeconds,
      textMs: 1_000 * push.textSeconds,
    },
    logger,
  });
  const wake = (taskId: string): void => {
    deliveries.wake(taskId).catch((error: unknown) => {
      // The worker finds the config with its next poll.
      logger.warn('could not look for a push config', { task: taskId, error: errorText(error) });
    });
  };
  const assertTarget = createTargetCheck(allowPrivate);
  const configs = new PushConfigs({ store: storage.pushes, caps: push, sealer, assertTarget, wake });
  return { configs, deliveries };
}

/** The metrics of this node; undefined when they are off. Their code is loaded only when they are on. */
export async function openMetricsOf({ auth, metrics }: Config): Promise<Metrics | undefined> {
  if (!metrics.enabled) return undefined;
  const { openMetrics } = await import('../telemetry/metrics.js');
  const mayRead = ({ owner, scopes }: Caller): boolean => isOperator(auth, owner, scopes);
  return openMetrics({ allowFrom: metrics.allowFrom, mayRead });
}

interface TraceExportParts extends LoadedConfig {
  readonly storage: Storage;
  readonly logger: Logger;
}

/**
 * Exports spans when the configuration names a collector: only then its code is loaded. Returns the function that stops
 * it.
 */
export async function startTraceExportOf(
  parts: TraceExportParts,
): Promise<(() => Promise<void>) | undefined> {
  const { config, secrets, storage, logger } = parts;
  const { otlp, content } = config.telemetry;
  const { url, service: name } = otlp;
  if (url === undefined) return undefined;
  const { startTraceExport } = await import('../telemetry/exporter.js');
  const service = { name, version: packageVersion(), instance: storage.nodeId };
  return startTraceExport({ ...storage, ...{ url, headers: secrets.otlpHeaders, service, content, logger } });
}
