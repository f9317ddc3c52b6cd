import type { ListTasksRequest, ListTasksResponse, Task } from '@a2a-js/sdk';
import type { ServerCallContext, TaskStore } from '@a2a-js/sdk/server';

/** A store of the SDK that counts what is written, and can make two writers race. */
export class WatchedStore implements TaskStore {
  /** The number of characters of JSON written so far, by task id. */
  readonly written = new Map<string, number>();
  readonly #kept: TaskStore;
  #meeting: { waiting: number; both: PromiseWithResolvers<void> } | undefined;

  constructor(kept: TaskStore) {
    this.#kept = kept;
  }

  letTwoMeet(): void {
    this.#meeting = { waiting: 2, both: Promise.withResolvers() };
  }

  async save(task: Task, context: ServerCallContext): Promise<void> {
    this.written.set(task.id, (this.written.get(task.id) ?? 0) + JSON.stringify(task).length);
    const meeting = this.#meeting;
    if (meeting) {
      meeting.waiting -= 1;
      if (meeting.waiting === 0) {
        this.#meeting = undefined;
        meeting.both.resolve();
      }
      await meeting.both.promise;
    }
    return this.#kept.save(task, context);
  }

  load(taskId: string, context: ServerCallContext): Promise<Task | undefined> {
    return this.#kept.load(taskId, context);
  }

  list(params: ListTasksRequest, context: ServerCallContext): Promise<ListTasksResponse> {
    return this.#kept.list(params, context);
  }
}
