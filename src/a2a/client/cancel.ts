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
export function cancelTask(link: Link, scope: Scope | undefined, taskId: string): Promise<void> {
  return within(CANCEL_MS, async (signal) => {
    const options = requestOptions(link, { scope, signal });
    await link.transport.cancelTask({ tenant: '', id: taskId, metadata: undefined }, options);
  });
}

/** The same for a task that may not be known by its id: then the peer's list tells it, if it keeps one. */
export async function cancelAsked(link: Link, scope: Scope, task: AskedTask): Promise<void> {
  if ('taskId' in task) return cancelTask(link, scope, task.taskId);
  let found: string | undefined;
  await within(CANCEL_MS, async (signal) => {
    const query = {
      tenant: '',
      contextId: task.contextId,
      status: TaskState.TASK_STATE_UNSPECIFIED,
      pageSize: NEWEST_TASKS,
      pageToken: '',
      historyLength: NEWEST_MESSAGES,
      statusTimestampAfter: undefined,
    };
    const { tasks } = await link.transport.listTasks(query, requestOptions(link, { scope, signal }));
    found = tasks.find(({ history }) => history.some(({ messageId }) => messageId === task.messageId))?.id;
  });
  if (found !== undefined) await cancelTask(link, scope, found);
}

async function within(ms: number, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const over = new AbortController();
  await Promise.race([
    work(AbortSignal.timeout(ms)).catch(() => {}),
    delay(ms, undefined, { signal: over.signal }).catch(() => {}),
  ]);
  over.abort();
}
