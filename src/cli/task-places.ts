import type { TaskView } from '../a2a/client/task-view.js';
import { LangoError, isLangoError } from '../core/errors.js';
import { safeLine } from './safe-text.js';
import type { Connection } from './connection.js';
import { explain } from './explain.js';

export interface LocatedTask {
  /** Undefined when it belongs to the agent that stands at the server's own address. */
  readonly agent: string | undefined;
  readonly task: TaskView;
}

/** Finds out which agent a task belongs to. Throws `not-found` when it is none of them. */
export async function locateTask(
  connection: Connection,
  taskId: string,
  agent: string | undefined,
): Promise<LocatedTask> {
  const names = agent === undefined ? [undefined, ...(await agentNames(connection))] : [agent];
  for (const name of names) {
    try {
      return { agent: name, task: await connection.client.get(refTo(taskId, name)) };
    } catch (error) {
      const isElsewhere = isLangoError(error, 'not-found') && names.length > 1;
      if (!isElsewhere) throw await explain(error, connection, name);
    }
  }
  throw new LangoError('not-found', `There is no task ${safeLine(taskId)} of yours at ${connection.url}.`, {
    hint: 'See: lango tasks list',
  });
}

/** The agents of the server; none when it has no catalog. */
export async function agentNames(connection: Connection): Promise<readonly string[]> {
  try {
    return (await connection.client.catalog()).map(({ name }) => name);
  } catch (error) {
    if (isLangoError(error, 'not-found')) return [];
    throw await explain(error, connection);
  }
}

/** How the client names a task. */
export interface TaskPlace {
  readonly taskId: string;
  readonly agent?: string;
}

export function refTo(taskId: string, agent: string | undefined): TaskPlace {
  return { taskId, ...(agent === undefined ? {} : { agent }) };
}
