import { LangoError } from '../core/errors.js';
import type { Journal } from '../core/journal.js';
import type { TaskStore } from '../stores/tasks.js';
import type { OwnerParts } from './service.js';

/** The operations that need a server. Each rejects with `unavailable`. */
export const NEEDS_SERVER: Pick<OwnerParts, 'card' | 'status' | 'operators'> = {
  card: noServer,
  status: noServer,
  operators: { addAgent: noServer, removeAgent: noServer, listOwners: noServer },
};

async function noServer(): Promise<never> {
  const hint = 'Start one with: lango serve';
  throw new LangoError('unavailable', 'No server runs with this data folder.', { hint });
}

/** The tasks of a node that does not run: all can be read, none can be canceled. */
export function storedTasks(tasks: TaskStore): Pick<Journal, 'get' | 'read' | 'cancel'> {
  return {
    get: (scope, taskId) => tasks.get(scope, taskId),
    read: (taskId, after, limit) => tasks.read(taskId, after, limit),
    async cancel(_scope, taskId) {
      const text = `Task ${taskId} has not ended, and no server runs that could cancel it.`;
      const hint = 'Start the server with "lango serve" and run the command again.';
      throw new LangoError('unavailable', text, { hint });
    },
  };
}
