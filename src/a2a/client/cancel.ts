import { setTimeout as delay } from 'node:timers/promises';
import { TaskState } from '@a2a-js/sdk';
import type { AskedTask } from '../../core/agent.js';
import type { Scope } from '../../core/task.js';
import type { Link } from './link.js';
import { requestOptions } from './link.js';

/** How long a peer is given to hear of it. */
export const CANCEL_MS = 2_000;

/** A task that was just asked for is among the newest of its context, and has said little. */
const NEWEST_TASKS = 20;
const NEWEST_MESSAGES = 50;

/** Asks for the cancellation of a task: best effort, for two seconds at most. Never throws. */
export async function cancelTask(link: Link, scope: Scope | undefined, taskId: string): Promise<void> {
  const request = { tenant: '', id: taskId, metadata: undefined };
  await inTime((signal) => link.transport.cancelTask(request, requestOptions(link, { scope, signal })));
}

/** The same for a task that may not be known by its id: then the peer's list tells it, if it keeps one. */
export async function cancelAsked(link: Link, scope: Scope, task: AskedTask): Promise<void> {
  const taskId = 'taskId' in task ? task.taskId : await findTask(link, scope, task);
  if (taskId !== undefined) await cancelTask(link, scope, taskId);
}

async function findTask(
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
async function inTime<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
  const over = new AbortController();
  const result = await Promise.race([
    work(AbortSignal.timeout(CANCEL_MS)).catch(() => undefined),
    delay(CANCEL_MS, undefined, { signal: over.signal }).catch(() => undefined),
  ]);
  over.abort();
  return result;
}
