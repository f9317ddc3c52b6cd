import { describe, expect, it } from '@jest/globals';
import type { TaskEvent } from '../../src/core/task.js';
import { AppendNotifications } from '../../src/journal/append-notifications.js';

const POLL_MS = 5;

/** A task with `head` events, of which others append more, and a count of the reads. */
class Task {
  head = 2;
  reads = 0;
  polls = 0;
  readonly pollMs = POLL_MS;

  async read(taskId: string, after: number): Promise<readonly TaskEvent[]> {
    this.reads += 1;
    const seqs = Array.from({ length: this.head - after }, (_, index) => after + 1 + index);
    return seqs.map((seq) => ({
      taskId,
      seq,
      at: 0,
      author: undefined,
      body: { type: 'status', state: 'working' },
    }));
  }

  async heads() {
    this.polls += 1;
    return [{ id: 'task', head: this.head }];
  }

  async polled(count: number): Promise<void> {
    const until = this.polls + count;
    while (this.polls < until) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

describe('a subscription to a task', () => {
  it('reads the journal only when the task has events beyond those that it has', async () => {
    const task = new Task();
    const notifications = new AppendNotifications({ store: task, liveText: () => [] });
    const { signal } = new AbortController();
    const events = notifications.subscribe({ taskId: 'task', after: 0, signal, isLive: true });
    expect((await events.next()).value?.events).toHaveLength(2);
    const next = events.next();
    notifications.notify('task', 2);
    await task.polled(3);
    expect(task.reads).toBe(1);
    task.head = 4; // as another process appends, whose notification is lost
    expect((await next).value?.events.map(({ seq }) => seq)).toEqual([3, 4]);
    expect(task.reads).toBe(2);
    await events.return?.();
  });
});
