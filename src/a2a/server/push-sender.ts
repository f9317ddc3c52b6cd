import { hash } from 'node:crypto';
import { StreamResponse } from '@a2a-js/sdk';
import { LangoError, isLangoError } from '../../core/errors.js';
import { signJwt, type ReadKeys } from '../../core/card.js';
import type { PushSender, PushDelivery, Sealer } from '../../core/push.js';
import { retryAfterMs } from '../../core/retry.js';
import { continueTrace } from '../../core/trace.js';
import type { Journal } from '../../core/journal.js';
import type { JsonObject } from '../../core/json.js';
import type { TaskEvent } from '../../core/task.js';
import { Changes } from '../translate/generation.js';
import { replyIn, type AgentTasksOptions } from './agent-tasks.js';
import type { SealedPush } from './push-configs.js';
import { DEFAULT_HISTORY_LENGTH, TaskReading, readUpTo, type AuthorOf } from './task-reading.js';
import { WireView } from './task-stream.js';
import { SCHEMA_DIALECT } from './v03/dialect.js';

interface PushSenderOptions extends Pick<AgentTasksOptions, 'rootAgentName'> {
  /** The egress client: it checks addresses, and bounds time and size. */
  readonly fetch: typeof fetch;
  readonly journal: Pick<Journal, 'read'>;
  readonly sealer: Sealer;
  readonly keys: ReadKeys;
  /** The address of this node; receivers find its keys below it. */
  readonly issuer: () => string;
  readonly userAgent: string;
}

const PUSH_TYPE = 'application/a2a+json';
const LEGACY_TYPE = 'application/json';
const SIGNATURE_SECONDS = 300;
/** The status of a receiver that is gone for good: the only one that is not tried again. */
const GONE = 410;

/** Sends each event as one signed POST. */
export function createPushSender(options: PushSenderOptions): PushSender {
  const authorOf: AuthorOf = ({ author }) => author ?? options.rootAgentName;
  /** The choices of a stream for a client that asked for the same extensions. */
  const viewFor = ({ extensions = [] }: SealedPush): WireView => {
    const asked = new Set(extensions);
    return new WireView({ historyLength: DEFAULT_HISTORY_LENGTH, includeArtifacts: true, asked }, authorOf);
  };
  /** The Task as it stood after the event `head`. It is the same on each attempt, whatever has happened since. */
  const readingAt = ({ taskId: id, contextId }: PushDelivery, head: number): Promise<TaskReading> =>
    readUpTo(options.journal, new TaskReading({ id, contextId }, authorOf), { id, head });
  return {
    shown(delivery, events) {
      const changes = new Changes();
      const view = viewFor(openIfPossible(delivery, options.sealer));
      return events.filter((event) => changes.add(event) && shownBy(view, event, delivery) !== undefined);
    },
    async send(delivery, event, signal) {
      const isCurrent = delivery.version === '1.0';
      const sealed = openSealed(delivery, options.sealer);
      const view = viewFor(sealed);
      // A webhook of 0.3 gets the Task each time (0.3, section 9.5).
      const response =
        event.seq === delivery.cursor || !isCurrent
          ? view.snapshot(await readingAt(delivery, event.seq))
          : shownBy(view, event, delivery);
      if (!response) return;
      const json = StreamResponse.toJSON(response) as JsonObject;
      const body = JSON.stringify(isCurrent ? json : SCHEMA_DIALECT.event('SubscribeToTask', json));
      const headers = {
        ...authentication(delivery, sealed),
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

function shownBy(view: WireView, event: TaskEvent, { contextId }: PushDelivery) {
  const reply = replyIn(event);
  return reply ? view.reply(...reply) : view.event(event, contextId);
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

function openSealed({ sealed }: PushDelivery, sealer: Sealer): SealedPush {
  if (sealed === undefined) return {};
  const isPlain = sealed.startsWith('{');
  return JSON.parse(isPlain ? sealed : sealer.open(sealed)) as SealedPush;
}

/** A config that cannot be opened fails when it is sent. */
function openIfPossible(delivery: PushDelivery, sealer: Sealer): SealedPush {
  try {
    return openSealed(delivery, sealer);
  } catch {
    return {};
  }
}

function authentication({ scheme }: PushDelivery, { token, credentials }: SealedPush) {
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
