import { setTimeout as delay } from 'node:timers/promises';
import { TaskState } from '@a2a-js/sdk';
import type { AskedTask } from '../../core/agent.js';
import type { Scope } from '../../core/task.js';
import type { Link } from './link.js';
import { requestOptions } from './link.js';

/** How long a peer is given for what the caller can do without. */
export const BRIEF_MS = 2_000;

/** A task that was just asked for is among the newest of its context, and has said little. */
const NEWEST_TASKS = 20;
const NEWEST_MESSAGES = 50;

/** The task that began with this message, when the peer keeps a list of its tasks. Never rejects. */
export async function findAskedTask(
  link: Link,
  scope: Scope,
  { contextId, messageId }: Exclude<AskedTask, { readonly taskId: string }>,
): Promise<string | undefined> {
  const query = {
    tenant: '',
    contextId,
    status: TaskState.TASK_STATE_UNSPECIFIED,
    pageSize: NEWEST_TASKS,
    pageToken: '',
    historyLength: NEWEST_MESSAGES,
    statusTimestampAfter: undefined,
  };
  const page = await inTime((signal) =>
    link.transport.listTasks(query, requestOptions(link, { scope, signal })),
  );
  return page?.tasks.find(({ history }) => history.some((message) => message.messageId === messageId))?.id;
}

/** What `work` gives; undefined when it fails or takes too long. */
export async function inTime<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
  const over = new AbortController();
  const result = await Promise.race([
    work(AbortSignal.timeout(BRIEF_MS)).catch(() => undefined),
    delay(BRIEF_MS, undefined, { signal: over.signal }).catch(() => undefined),
  ]);
  over.abort();
  return result;
}
