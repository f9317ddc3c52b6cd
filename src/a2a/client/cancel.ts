import type { AskedTask } from '../../core/agent.js';
import type { Scope } from '../../core/task.js';
import { findAskedTask, inTime } from './asked-task.js';
import type { Link } from './link.js';
import { requestOptions } from './link.js';

/** Asks for the cancellation of a task: best effort, for two seconds at most. Never throws. */
export async function cancelTask(link: Link, scope: Scope | undefined, taskId: string): Promise<void> {
  const request = { tenant: '', id: taskId, metadata: undefined };
  await inTime((signal) => link.transport.cancelTask(request, requestOptions(link, { scope, signal })));
}

/** The same for a task that may not be known by its id: then the peer's list tells it, if it keeps one. */
export async function cancelAsked(link: Link, scope: Scope, task: AskedTask): Promise<void> {
  const taskId = 'taskId' in task ? task.taskId : await findAskedTask(link, scope, task);
  if (taskId !== undefined) await cancelTask(link, scope, taskId);
}
