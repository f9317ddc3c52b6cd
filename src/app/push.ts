import { PushConfigs } from '../a2a/server/push-configs.js';
import { createPushSender } from '../a2a/server/push-sender.js';
import type { Config } from '../config/config.js';
import type { NodeKeys } from '../config/node-credentials.js';
import { packageVersion } from '../config/package-root.js';
import { errorText } from '../core/errors.js';
import type { Logger } from '../core/logger.js';
import { rootAgentName } from '../core/agent.js';
import type { Storage } from '../core/store.js';
import { createEgress } from '../http/egress.js';
import { createTargetCheck } from '../http/address-check.js';
import { DeliveryWorker } from '../journal/delivery-worker.js';
import { createSealer } from '../vault/sealing.js';

export interface PushParts {
  readonly config: Config;
  readonly storage: Storage;
  readonly keys: NodeKeys;
  /** The address of this node. */
  readonly baseUrl: () => string;
  readonly logger: Logger;
}

export interface Push {
  readonly configs: PushConfigs;
  readonly deliveries: DeliveryWorker;
}

/** What a receiver answers is not read; this is for its head. */
const ANSWER_BYTES = 64 * 1024;

/** Push notifications: undefined when they are switched off. */
export function createPush({ config, storage, keys, baseUrl, logger }: PushParts): Push | undefined {
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
    sealer,
    keys: keys.read,
    issuer: baseUrl,
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
      // It is found at the next look.
      logger.warn('could not look for a push config', { task: taskId, error: errorText(error) });
    });
  };
  const assertTarget = createTargetCheck(allowPrivate);
  const configs = new PushConfigs({ store: storage.pushes, caps: push, sealer, assertTarget, wake });
  return { configs, deliveries };
}
