import { hashJson } from '../core/canonical-json.js';
import { errorText, LangoError } from '../core/errors.js';
import { newId } from '../core/ids.js';
import type { Message } from '../core/message.js';
import { NO_USAGE } from '../core/model.js';
import type { SecretGuard } from '../core/secrets.js';
import { isTerminal, type EventBody, type NewEvent, type Scope, type TaskEvent } from '../core/task.js';
import { wellFormed } from '../core/text.js';
import { Replay } from '../journal/replay.js';
import { scrubEvent, scrubMessage } from '../scrub/data.js';
import type { NewTask, TaskStore } from '../stores/tasks.js';
import { parseTaskFile, type RecordedTask } from './task-file.js';

interface ImportParts {
  readonly store: Pick<TaskStore, 'accept'>;
  readonly secrets: Pick<SecretGuard, 'scrubber'>;
  /** The names of the agents of this node. */
  readonly agents: { has(name: string): boolean };
  /** The agent that shows the tasks of agents that this node does not run. */
  readonly root: string;
  readonly nodeId: string;
  /** Whether this is a server for one evaluation: the tasks keep their grants and the numbers of their events, for a fork. */
  readonly isTrial?: boolean | undefined;
  /** The most events of a task, and the largest one in bytes of JSON. */
  readonly limits: { readonly events: number; readonly eventBytes: number };
}

/** The author of the event that says where an imported task is from. */
export const IMPORT_AUTHOR = 'import';

/**
 * Returns a function that stores the tasks of a file as ended tasks of an owner, for people to look at. They are never run,
 * are on no bill, and belong to no conversation of this server. All that is in them counts as text from outside. Importing
 * a file again stores nothing. Resolves with the id of the first task; rejects with `invalid-input` for any other file.
 */
export function createTaskImport(parts: ImportParts) {
  const worker = newId();
  return async (
    scope: Scope,
    given: unknown,
  ): Promise<{ readonly taskId: string; readonly tasks: number }> => {
    const { tasks } = parseTaskFile(given);
    for (const task of tasks) assertTask(task, parts);
    /** The ids of the tasks here, by their ids in the file. */
    const ids = new Map(tasks.map(({ id }) => [id, newId()]));
    // A task below is stored first, so that its parent names it by its id here. An import that was cut off begins again.
    for (const task of tasks.toReversed()) {
      // A parent is before its children, so that none is below itself.
      const isParent = ({ id }: RecordedTask) => id === task.parentTaskId;
      const parent = tasks.slice(0, tasks.indexOf(task)).find(isParent);
      const parentTaskId = parent && ids.get(parent.id);
      const entry = { ...entryOf(task, scope, parts), id: ids.get(task.id)!, parentTaskId };
      const firstEvents = eventsOf(task, ids, parts).map((event) => ({
        ...event,
        body: scrubEvent(wellFormed(event.body), parts.secrets.scrubber(scope)),
      }));
      const outcome = await parts.store.accept(entry, { worker, firstEvents });
      if (outcome.kind === 'conflict') throw wrong(task, 'its message is here already');
      ids.set(task.id, outcome.task.id);
    }
    return { taskId: ids.get(tasks[0]!.id)!, tasks: tasks.length };
  };
}

/** Throws `invalid-input` for a task that no server could have written. */
function assertTask(task: RecordedTask, { limits }: ImportParts): void {
  const { events } = task;
  if (events.length + 3 > limits.events)
    throw wrong(task, `it has more than ${limits.events} events (tasks.events)`);
  if (events[0]!.body.type !== 'message') throw wrong(task, 'its first event is no message');
  const end = events.findIndex(({ body }) => body.type === 'run-end' && isTerminal(body.state));
  if (end >= 0 && end < events.length - 1) throw wrong(task, 'it has events after its end');
  const replay = new Replay();
  try {
    for (const event of events) replay.add({ ...event, author: event.author, taskId: task.id });
  } catch (error) {
    throw wrong(task, errorText(error));
  }
  const isLarge = ({ body }: (typeof events)[number]) =>
    Buffer.byteLength(JSON.stringify(body)) > limits.eventBytes;
  const large = events.find(isLarge);
  if (large)
    throw wrong(task, `its event ${large.seq} has more than ${limits.eventBytes} bytes (tasks.eventBytes)`);
}

function wrong({ id }: RecordedTask, why: string): LangoError {
  return new LangoError('invalid-input', `The task ${id} cannot be imported: ${why}.`);
}

function entryOf(
  task: RecordedTask,
  scope: Scope,
  { agents, root, nodeId, secrets, isTrial }: ImportParts,
): Omit<NewTask, 'id' | 'parentTaskId'> {
  const { message } = task.events[0]!.body as Extract<EventBody, { type: 'message' }>;
  // A context of its own: no conversation here reads these tasks, and the same file finds them again.
  const contextId = `imported-${hashJson(task).slice(0, 32)}`;
  return {
    ...{ scope, contextId, givenContextId: contextId },
    agent: agents.has(task.agent) ? task.agent : root,
    // A task with a chain is on the bill of the one that delegated it, and there is none here.
    grant: {
      ...(isTrial ? task.grant : { depth: 0, fromOutside: true }),
      chain: [`${IMPORT_AUTHOR}@${nodeId}`],
    },
    message: scrubMessage(wellFormed(plainMessage(message)), secrets.scrubber(scope)),
    isSame: () => true,
  };
}

/** References to other tasks mean nothing here. */
function plainMessage({ referenceTaskIds: _, ...message }: Message): Message {
  return message;
}

/** All events but the first message, with one that says where they are from, and an end if they have none. */
function eventsOf(
  task: RecordedTask,
  ids: ReadonlyMap<string, string>,
  { isTrial }: ImportParts,
): readonly NewEvent[] {
  const { agent, node, id } = task;
  const text = `Imported: task ${id} of ${agent}, which ran on node ${node.id} (Lango ${node.version}).\n`;
  const mark = {
    author: IMPORT_AUTHOR,
    body: { type: 'activity', activity: { type: 'text', text } },
  } as const;
  const marks = isTrial ? [] : [mark];
  const events = task.events.slice(1).map(({ author, body }) => ({ author, body: localBody(body, ids) }));
  const last = task.events.at(-1)!.body;
  if (last.type === 'run-end' && isTerminal(last.state)) return [...marks, ...events];
  const message = {
    ...({ id: `${id}:end:import`, role: 'agent' } as const),
    parts: [{ kind: 'text', text: 'It had not ended when it was exported.' } as const],
  };
  const end = { type: 'run-end', state: 'canceled', message, usage: NO_USAGE, fromOutside: true } as const;
  return [...marks, ...events, { author: agent, body: end }];
}

/** A file may name any task of this server: a reference is left out, and delegations and forks name imported tasks. */
function localBody(given: TaskEvent['body'], ids: ReadonlyMap<string, string>): EventBody {
  const { from: _, ...rest } = given as EventBody & { readonly from?: unknown };
  const body = rest as EventBody;
  switch (body.type) {
    case 'message':
      return { ...body, message: plainMessage(body.message) };
    case 'delegation-task':
    case 'fork':
      return { ...body, taskId: ids.get(body.taskId) ?? `elsewhere-${hashJson(body.taskId).slice(0, 32)}` };
    case 'run-end':
      return { ...body, fromOutside: true };
    default:
      return body;
  }
}
