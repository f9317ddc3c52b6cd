import { hashJson } from '../core/canonical-json.js';
import { errorText, LangoError } from '../core/errors.js';
import { newId } from '../core/ids.js';
import { textPart } from '../core/message.js';
import { NO_USAGE } from '../core/model.js';
import type { SecretGuard } from '../core/secrets.js';
import { isTerminal, type BodyOf, type EventBody, type NewEvent, type Scope } from '../core/task.js';
import { wellFormed } from '../core/text.js';
import { Replay } from '../journal/replay.js';
import { scrubEvent } from '../scrub/data.js';
import type { TaskStore } from '../stores/tasks.js';
import { without } from './comparison.js';
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
  const { agents, root, isTrial } = parts;
  const worker = newId();
  const chain = [`${IMPORT_AUTHOR}@${parts.nodeId}`];
  return async (scope: Scope, given: unknown) => {
    const { tasks } = parseTaskFile(given);
    for (const task of tasks) assertTask(task, parts);
    const scrubber = parts.secrets.scrubber(scope);
    /** The ids of the tasks here, by their ids in the file. */
    const ids = new Map(tasks.map(({ id }) => [id, newId()]));
    // A task below is stored first, so that its parent names it by its id here. An import that was cut off begins again.
    for (const [index, task] of [...tasks.entries()].toReversed()) {
      // A parent is before its children, so that none is below itself.
      const parent = tasks.slice(0, index).find(({ id }) => id === task.parentTaskId);
      const [first, ...firstEvents] = eventsOf(task, parts).map(({ author, body }) => ({
        author,
        body: scrubEvent(wellFormed(localBody(body, ids)), scrubber),
      }));
      // A context of its own: no conversation here reads these tasks, and the same file finds them again.
      const contextId = `imported-${hashJson(task).slice(0, 32)}`;
      const { message } = first!.body as BodyOf<'message'>;
      const entry = {
        ...{ scope, contextId, givenContextId: contextId, message, isSame: () => true },
        ...{ id: ids.get(task.id)!, parentTaskId: parent && ids.get(parent.id) },
        agent: agents.has(task.agent) ? task.agent : root,
        // A task with a chain is on the bill of the one that delegated it, and there is none here.
        grant: { ...(isTrial ? task.grant : { depth: 0, fromOutside: true }), chain },
      };
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
  const large = events.find(({ body }) => Buffer.byteLength(JSON.stringify(body)) > limits.eventBytes);
  if (large)
    throw wrong(task, `its event ${large.seq} has more than ${limits.eventBytes} bytes (tasks.eventBytes)`);
}

function wrong({ id }: RecordedTask, why: string): LangoError {
  return new LangoError('invalid-input', `The task ${id} cannot be imported: ${why}.`);
}

/** The events, with one that says where they are from, and an end if they have none. */
function eventsOf(task: RecordedTask, { isTrial }: ImportParts): readonly NewEvent[] {
  const { agent, node, id } = task;
  const [first, ...events] = task.events.map(({ author, body }) => ({ author, body }));
  const text = `Imported: task ${id} of ${agent}, which ran on node ${node.id} (Lango ${node.version}).\n`;
  const mark = { type: 'activity', activity: { type: 'text', text } } as const;
  const all = [first!, ...(isTrial ? [] : [{ author: IMPORT_AUTHOR, body: mark }]), ...events];
  const last = all.at(-1)!.body;
  if (last.type === 'run-end' && isTerminal(last.state)) return all;
  const parts = [textPart('It had not ended when it was exported.')];
  const message = { id: `${id}:end:import`, role: 'agent', parts } as const;
  return [...all, { author: agent, body: { type: 'run-end', state: 'canceled', message, usage: NO_USAGE } }];
}

/** Entries and tasks of this server that a file may name. */
const REFERENCES: ReadonlySet<string> = new Set(['from', 'referenceTaskIds']);

/** The event without what a file may refer to here. Delegations and forks name imported tasks. */
function localBody(given: EventBody, ids: ReadonlyMap<string, string>): EventBody {
  const body = without(given, REFERENCES);
  if (body.type === 'run-end') return { ...body, fromOutside: true };
  if (body.type !== 'delegation-task' && body.type !== 'fork') return body;
  return { ...body, taskId: ids.get(body.taskId) ?? `elsewhere-${hashJson(body.taskId).slice(0, 32)}` };
}
