import { agentLimits } from '../../src/config/config.js';
import { readEnv } from '../../src/config/env.js';
import { resolveConfig } from '../../src/config/load.js';
import type { AgentLimits } from '../../src/core/agent.js';
import type { Scope, TaskRecord } from '../../src/core/task.js';
import { createTaskRecords } from '../../src/replay/collect.js';
import { replayTask } from '../../src/replay/replay.js';
import type { RecordedTask } from '../../src/replay/task-file.js';
import type { TaskStore } from '../../src/stores/tasks.js';

const { config } = resolveConfig({ env: readEnv(), overrides: { home: '/nowhere' }, settings: {} });

/** The limits of a server without settings. */
const DEFAULT_LIMITS: AgentLimits = agentLimits(config);

/** The rows that a database holds of a task, as an export of it alone. */
export async function recordOf(
  store: Pick<TaskStore, 'get' | 'read'>,
  { id, ...scope }: Scope & Pick<TaskRecord, 'id'>,
  limits = DEFAULT_LIMITS,
): Promise<RecordedTask> {
  const node = { id: 'here', version: 'test' };
  const read = createTaskRecords(store, limits, node);
  let { task, next } = await read(scope, id, 0);
  while (next !== undefined) {
    const more = await read(scope, id, next);
    task = { ...task, events: [...task.events, ...more.task.events] };
    next = more.next;
  }
  return task;
}

/** Replays tasks, and names each that is not as it was, with the first difference. */
export async function differences(
  tasks: readonly RecordedTask[],
): Promise<{ readonly replayed: number; readonly found: readonly unknown[] }> {
  let replayed = 0;
  const found: unknown[] = [];
  for (const task of tasks) {
    const report = await replayTask({
      format: 'lango-task',
      version: 1,
      content: true,
      tasks: [task],
      elsewhere: [],
      cards: {},
    });
    replayed += report.tasks;
    const types = task.events.map(({ body }) => body.type).join(' ');
    if (report.divergence) found.push({ ...report.divergence, types });
  }
  return { replayed, found };
}
