import { readPages } from '../../core/journal.js';
import type { Message } from '../../core/message.js';
import type { Origin } from '../../core/origin.js';
import { activityOf } from '../../core/activity.js';
import type { Scope, TaskEvent } from '../../core/task.js';
import { toUpdate } from '../translate/events.js';
import type { MessageIds } from '../translate/content.js';
import type { TaskCall, TaskCalls } from '../translate/task-calls.js';
import type { TaskUpdate } from '../translate/updates.js';
import type { AgentTasks } from './agent-tasks.js';
import type { StreamView } from './task-stream.js';

/** The parts of a request that an executor gets besides the message, as over the wire. */
const REQUEST = { configuration: { returnImmediately: true } };
/** The number of newest tasks of a context that are searched for a message. */
const MAX_TASKS = 20;

/** The calls about the tasks of an agent by a peer in this process: no socket, and nothing is translated for the wire. */
export class LocalTasks implements TaskCalls {
  readonly #tasks: AgentTasks;
  readonly #view: StreamView<TaskUpdate>;

  constructor(tasks: AgentTasks) {
    this.#tasks = tasks;
    this.#view = {
      isNumbered: false,
      showsWhole: true,
      showsMessages: true,
      snapshot: (reading) => reading.toSnapshot(),
      event(event, contextId) {
        const update = toUpdate(event, contextId, tasks.authorOf(event));
        const { seq } = event;
        return (
          update &&
          (seq === undefined ? { ...update, isLive: true } : { ...update, from: originOf({ ...event, seq }) })
        );
      },
      reply: (message, ids) => ({ type: 'message', ...ids, message }),
    };
  }

  send(message: Message, ids: MessageIds, call: TaskCall): AsyncGenerator<TaskUpdate, void, undefined> {
    const { journal, agent } = this.#tasks;
    return this.#tasks.sent(async () => {
      const { trace } = call;
      const submission = this.#tasks.submission(message, ids, { scope: scopeOf(call), trace });
      const accepted = await journal.submit({ ...submission, ...(agent.isExecutor && { request: REQUEST }) });
      return { accepted, view: this.#view, signal: call.signal };
    });
  }

  subscribe(taskId: string, call: TaskCall): AsyncGenerator<TaskUpdate, void, undefined> {
    const { after, signal } = call;
    return this.#tasks.subscribed(() => ({ scope: scopeOf(call), taskId, after, view: this.#view, signal }));
  }

  async get(taskId: string, call: TaskCall): Promise<TaskUpdate> {
    const task = await this.#tasks.require(scopeOf(call), taskId);
    return (await this.#tasks.readingAt(task, task.head)).toSnapshot();
  }

  async cancel(taskId: string, call: TaskCall): Promise<void> {
    const scope = scopeOf(call);
    const { id } = await this.#tasks.require(scope, taskId);
    await this.#tasks.journal.cancel(scope, id);
  }

  async find({ contextId, id }: { readonly contextId: string; readonly id: string }, call: TaskCall) {
    const { journal, agent } = this.#tasks;
    const query = { agent: agent.name, contextId, pageSize: MAX_TASKS };
    const { tasks } = await journal.list(scopeOf(call), query);
    for (const task of tasks)
      for await (const events of readPages(journal, task.id, { after: 0, head: task.head }))
        if (events.some(({ body }) => body.type === 'message' && body.message.id === id)) return task.id;
    return undefined;
  }
}

/** The entries that hold the content of an event: those of the task that wrote it first. Undefined without such content. */
function originOf({ taskId, seq, body }: TaskEvent): Origin | undefined {
  const hasContent = body.type === 'artifact' || activityOf(body) !== undefined;
  return 'from' in body && body.from ? body.from : hasContent ? [taskId, seq, seq] : undefined;
}

/** Leaves out the scopes: this server has checked them for the request, and its grant carries them on. */
function scopeOf({ scope }: TaskCall): Scope {
  const { tenant = '', owner = '' } = scope ?? {};
  return { tenant, owner };
}
