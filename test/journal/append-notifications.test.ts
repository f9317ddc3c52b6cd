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
    const shown = await shownAt({ first: 1, second: 3 }, 20);
    expect(shown).toEqual({ first: [15, 50, 100, 150], second: [30, 50, 100, 150] });
  });

  it('shows text that goes on every 100 ms while many watch', async () => {
    const tasks = Array.from({ length: 26 }, (_, index) => [`task ${index}`, 1] as const);
    const shown = await shownAt(Object.fromEntries(tasks), 40);
    for (const [taskId] of tasks) expect(shown[taskId]).toEqual([15, 50, 100, 200, 300]);
  });
});

/** The times at which the text of tasks is shown that gets longer each 7 ms, from the named delta on. */
async function shownAt(
  tasks: Readonly<Record<string, number>>,
  deltas: number,
): Promise<Readonly<Record<string, readonly number[]>>> {
  jest.useFakeTimers({ now: 0 });
  const body = { type: 'text-delta', artifactId: 'a', text: 'text', replace: false } as const;
  const texts: readonly LiveText[] = [{ author: undefined, body }];
  const notifications = new AppendNotifications({ store: new Task(), liveText: () => texts });
  const { signal } = new AbortController();
  const show = async (taskId: string, at: number[]) => {
    const subscription = notifications.subscribe({ taskId, after: 2, signal, isLive: true });
    await subscription.next(); // The text that is there when it begins.
    for await (const _ of subscription) at.push(performance.now());
  };
  const shown = Object.fromEntries(Object.keys(tasks).map((taskId) => [taskId, [] as number[]]));
  for (const [taskId, at] of Object.entries(shown)) void show(taskId, at);
  for (let delta = 0; delta < deltas; delta += 1) {
    await jest.advanceTimersByTimeAsync(7);
    for (const [taskId, first] of Object.entries(tasks)) if (delta >= first) notifications.notifyLive(taskId);
  }
  await jest.advanceTimersByTimeAsync(50);
  jest.useRealTimers();
  return shown;
}
