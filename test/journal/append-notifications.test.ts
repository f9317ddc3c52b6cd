import { describe, expect, it, jest } from '@jest/globals';
import type { LiveText, TaskEvent } from '../../src/core/task.js';
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

  it('shows new text within 5 ms, and text that goes on with that of all tasks, every 50 ms', async () => {
    jest.useFakeTimers({ now: 0 });
    const body = { type: 'text-delta', artifactId: 'a', text: 'text', replace: false } as const;
    const texts: readonly LiveText[] = [{ author: undefined, body }];
    const notifications = new AppendNotifications({ store: new Task(), liveText: () => texts });
    const { signal } = new AbortController();
    const shown: Record<string, number[]> = { first: [], second: [] };
    const show = async (taskId: string, at: number[]) => {
      const subscription = notifications.subscribe({ taskId, after: 2, signal, isLive: true });
      await subscription.next(); // The text that is there when it begins.
      for await (const _ of subscription) at.push(performance.now());
    };
    for (const [taskId, at] of Object.entries(shown)) void show(taskId, at);
    for (let delta = 0; delta < 20; delta += 1) {
      await jest.advanceTimersByTimeAsync(7);
      if (delta > 0) notifications.notifyLive('first');
      if (delta > 2) notifications.notifyLive('second');
    }
    await jest.advanceTimersByTimeAsync(50);
    jest.useRealTimers();
    expect(shown).toEqual({ first: [15, 50, 100, 150], second: [30, 50, 100, 150] });
  });
});
