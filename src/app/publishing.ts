import path from 'node:path';
import { buildCard, buildExtendedCard, type CardParts } from '../a2a/server/card.js';
import { createGrant } from '../a2a/server/grant.js';
import { createAgentHandler } from '../a2a/server/handler.js';
import type { PublishedAgent } from '../a2a/server/operations.js';
import { PushConfigs } from '../a2a/server/push-configs.js';
import { createPushSender } from '../a2a/server/push-sender.js';
import { signCard } from '../a2a/server/signing.js';
import { describeOnCard } from '../agents/node-agents.js';
import { loadCardFiles } from '../config/cards.js';
import { agentLimits } from '../config/config.js';
import { packageRoot, packageVersion } from '../config/package-root.js';
import { rootAgentName } from '../core/agent.js';
import { errorText } from '../core/errors.js';
import type { Caller } from '../core/identity.js';
import { defined } from '../core/json.js';
import { createSealer } from '../core/sealing.js';
import { createTargetCheck } from '../http/address-check.js';
import { isOperator } from '../http/identity.js';
import { constantTimeEquals } from '../http/verifiers.js';
import { DeliveryWorker } from '../journal/delivery-worker.js';
import { egressOf, type Parts } from './node.js';

type PublishParts = Parts<'config' | 'agents' | 'agentOrigins' | 'root' | 'journal' | 'storage'> &
  Parts<'access' | 'audit' | 'address' | 'keys'>;

/** Makes a card and a request handler for each agent (requirement X1). `push`: undefined when the node sends no pushes. */
export async function publish(node: PublishParts, push: PushConfigs | undefined) {
  const { config, agents, agentOrigins, root, journal, access, audit, address, keys } = node;
  const { nodeId } = node.storage;
  const files = await loadCardFiles(path.join(packageRoot(), 'agent-cards'));
  const version = packageVersion();
  const limits = agentLimits(config);
  const published = [...agents].map(([name, agent]): [string, PublishedAgent] => {
    const { profile } = agent;
    const { file, skills } = describeOnCard(agent, agentOrigins.get(name), files);
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
      node: { id: nodeId, ...defined({ name: config.node.name }) },
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
      extendedCard: access.identifiesCallers ? extendedCard : undefined,
      rootAgentName: rootAgentName(config.agent.multiAgent),
      approver: config.approval.by,
      grant: createGrant({ limits, self: `${name}@${nodeId}`, toolsFor: access.toolsFor }),
    });
    return [name, { name, handler, card, scope: access.scopeOf(name), audit }];
  });
  return new Map(published);
}

export interface Push {
  readonly configs: PushConfigs;
  readonly deliveries: DeliveryWorker;
}

/** Room for the headers of a receiver's response; its body is not read. */
const RESPONSE_BYTES = 64 * 1024;

type PushParts = Parts<'config' | 'settings' | 'storage' | 'keys' | 'seal' | 'address' | 'logger'>;

/** Makes the parts of push notifications, which name the node's address as their sender; undefined when they are off. */
export function createPush(node: PushParts): Push | undefined {
  const { config, storage, keys, address, logger } = node;
  const { push } = config.a2a;
  if (!push.enabled) return undefined;
  const sealer = createSealer(node.seal);
  const sender = createPushSender({
    fetch: egressOf(node)({ timeoutMs: 1_000 * push.timeoutSeconds, maxBytes: RESPONSE_BYTES }),
    journal: storage.tasks,
    sealer,
    keys,
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
  const assertTarget = createTargetCheck(config.egress.allowPrivate);
  const configs = new PushConfigs({ store: storage.pushes, caps: push, sealer, assertTarget, wake });
  return { configs, deliveries };
}

/** The metrics of this node; undefined when they are off. Their code is loaded only when they are on. */
export async function openMetricsOf({ config, secrets }: Parts<'config' | 'secrets'>) {
  const { auth, metrics } = config;
  const { metricsToken } = secrets;
  if (!metrics.enabled) return undefined;
  const { openMetrics } = await import('../telemetry/metrics.js');
  const mayRead = (caller: Caller): boolean => isOperator(auth, caller);
  const isToken = metricsToken === undefined ? () => false : constantTimeEquals(metricsToken);
  return openMetrics({ allowFrom: metrics.allowFrom, isToken, mayRead });
}

/** Exports spans to the collector of the configuration, and loads its code only then. Returns the function that stops it. */
export async function startTraceExportOf(node: Parts<'config' | 'secrets' | 'storage' | 'logger'>) {
  const { config, secrets, storage, logger } = node;
  const { otlp, content } = config.telemetry;
  const { url, service: name } = otlp;
  if (url === undefined) return undefined;
  const { startTraceExport } = await import('../telemetry/exporter.js');
  const service = { name, version: packageVersion(), instance: storage.nodeId };
  return startTraceExport({ ...storage, ...{ url, headers: secrets.otlpHeaders, service, content, logger } });
}
