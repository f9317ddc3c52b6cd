import { Task } from '@a2a-js/sdk';
import type { Journal } from '../../core/journal.js';
import type { TaskRecord } from '../../core/task.js';
import { readTask } from './task-reading.js';

/** A task as GetTask tells it, with all its messages and artifacts, and whose it was. */
export async function exportTask(journal: Journal, record: TaskRecord, rootAgentName: string) {
  const view = { historyLength: undefined, includeArtifacts: true };
  const task = await readTask(journal, record, {
    view,
    authorOf: ({ author }) => author ?? rootAgentName,
  });
  return { agent: record.agent, ...(Task.toJSON(task) as object) };
}
