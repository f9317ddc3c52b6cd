import { hash } from 'node:crypto';
import { StreamResponse } from '@a2a-js/sdk';
import { LangoError, isLangoError } from '../../core/errors.js';
import type { ReadKeys } from '../../core/card.js';
import type { PushSender, PushDelivery, Sealer } from '../../core/push.js';
import { retryAfterMs } from '../../core/retry.js';
import { continueTrace } from '../../core/trace.js';
import type { Journal } from '../../core/journal.js';
import type { TaskEvent } from '../../core/task.js';
import { toStreamResponse } from '../translate/events.js';
import type { PushSecrets } from './push-configs.js';
import { signJwt } from '../../core/card.js';
import { DEFAULT_HISTORY_LENGTH, TaskReading, readUpTo, type AuthorOf } from './task-reading.js';

interface PushSenderOptions {
  /** The egress client: it checks addresses, and bounds time and size. */
  readonly fetch: typeof fetch;
  readonly journal: Pick<Journal, 'read'>;
  readonly sealer: Sealer;
  readonly keys: ReadKeys;
  /** The address of this node; receivers find its keys below it. */
  readonly issuer: () => string;
  /** The author of events that name none (requirement A2). */
  readonly rootAgentName: string;
  readonly userAgent: string;
}

const PUSH_TYPE = 'application/a2a+json';
const LEGACY_TYPE = 'application/json';
const SIGNATURE_SECONDS = 300;
/** The status of a receiver that is gone for good: the only one that is not tried again. */
const GONE = 410;

/** Sends each event as one signed POST. */
export function createPushSender(options: PushSenderOptions): PushSender {
  return {
    // Whether an event is shown does not depend on the context of its task.
    shows: (event) => toStreamResponse(event, '', '') !== undefined,
    async send(delivery, event, signal) {
      const authorOf: AuthorOf = ({ author }) => author ?? options.rootAgentName;
      const response =
        event.seq === delivery.cursor
          ? await taskAtCursor(options.journal, delivery, authorOf)
          : toStreamResponse(event, delivery.contextId, authorOf(event));
      if (!response) return;
      const isCurrent = delivery.version === '1.0';
      const body = isCurrent ? JSON.stringify(StreamResponse.toJSON(response)) : await legacyBody(response);
      const headers = {
        ...authentication(delivery, options.sealer),
        ...(await signature({ delivery, event, body }, options)),
        'Content-Type': isCurrent ? PUSH_TYPE : LEGACY_TYPE,
        'A2A-Version': delivery.version,
        'User-Agent': options.userAgent,
        ...(delivery.trace && continueTrace({ id: delivery.taskId, grant: { trace: delivery.trace } })),
      };
      const received = await post(options.fetch, delivery.url, { headers, body, signal });
      await received.body?.cancel().catch(() => undefined);
      if (!received.ok) throw refusal(received);
    },
  };
}

/** The Task that a config begins with. It is the same on each attempt, whatever has happened since. */
async function taskAtCursor(
  journal: Pick<Journal, 'read'>,
  { taskId: id, contextId, cursor: head }: PushDelivery,
  authorOf: AuthorOf,
): Promise<StreamResponse> {
  const reading = new TaskReading({ id, contextId }, authorOf);
  await readUpTo(journal, reading, { id, head });
  const value = reading.toTask({ historyLength: DEFAULT_HISTORY_LENGTH, includeArtifacts: true });
  return { payload: { $case: 'task', value } };
}

/** Posts the notification. A timeout becomes retryable. */
async function post(send: typeof fetch, url: string, init: Pick<RequestInit, 'headers' | 'body' | 'signal'>) {
  try {
    return await send(url, { ...init, method: 'POST', redirect: 'error' });
  } catch (error) {
    if (!isLangoError(error, 'timeout')) throw error;
    throw new LangoError('timeout', error.message, { cause: error, retryable: true });
  }
}

/** Receivers of 0.3 expect the event without a wrapper. */
async function legacyBody(response: StreamResponse): Promise<string> {
  const { V03PushNotificationSerializer } = await import('@a2a-js/sdk/compat/v0_3/server');
  return new V03PushNotificationSerializer().serialize(response).body;
}

function authentication({ scheme, sealed }: PushDelivery, sealer: Sealer): Readonly<Record<string, string>> {
  const { token, credentials } = sealed === undefined ? {} : (JSON.parse(sealer.open(sealed)) as PushSecrets);
  const isAuthorized = scheme !== undefined && credentials !== undefined;
  return {
    ...(isAuthorized && { Authorization: `${scheme} ${credentials}` }),
    ...(token !== undefined && { 'X-A2A-Notification-Token': token }),
  };
}

/** The id belongs to the delivery and stays the same on each attempt; time and signature belong to the attempt. */
async function signature(
  { delivery, event, body }: { delivery: PushDelivery; event: TaskEvent; body: string },
  { keys, issuer }: PushSenderOptions,
): Promise<Readonly<Record<string, string>>> {
  const id = `${delivery.key}.${event.seq}`;
  const iat = Math.floor(Date.now() / 1_000);
  const { current } = await keys();
  const jwt = signJwt(current, {
    iss: issuer(),
    aud: new URL(delivery.url).origin,
    iat,
    exp: iat + SIGNATURE_SECONDS,
    jti: id,
    task_id: delivery.taskId,
    body_sha256: hash('sha256', body, 'base64url'),
  });
  return {
    'X-A2A-Notification-Id': id,
    'X-A2A-Notification-Timestamp': String(iat),
    'X-A2A-Notification-Signature': jwt,
  };
}

function refusal({ status, headers }: Response): LangoError {
  const askedMs = retryAfterMs(headers);
  return new LangoError('unavailable', `The receiver responded with status ${status}.`, {
    retryable: status !== GONE,
    ...(askedMs !== undefined && { retryAfterMs: askedMs }),
  });
}
