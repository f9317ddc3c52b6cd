import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openSqliteStores, type AllStores } from '../../../lab/all-stores.js';
import { silentLogger } from '../../../src/core/logger.js';
import type { TaskEvent, TaskRecord } from '../../../src/core/task.js';
import {
  acceptOne,
  fenceOf,
  message,
  newInput,
  readAll,
  RUN_START,
  runEnd,
  taskOf,
  turnEnd,
  upTo,
} from '../../suites/task-store-fixtures.js';

const OF_SESSION = ['message', 'turn-end', 'run-end'];
const STEPS = 400;

let storage: AllStores;
beforeEach(() => {
  storage = openSqliteStores({ file: ':memory:', synchronous: 'normal', logger: silentLogger });
});
afterEach(() => storage.close());

const accept = (text: string) => acceptOne(storage.tasks, { message: message(text), lease: 'worker' });

async function talk(text: string, state: 'completed' | 'input-required' = 'completed'): Promise<TaskRecord> {
  const task = await accept(text);
  await storage.tasks.append(fenceOf(task), [RUN_START, turnEnd(`answer ${text}`), runEnd(state)]);
  return task;
}

async function saidIn(tasks: readonly TaskRecord[]): Promise<readonly TaskEvent[]> {
  const logs = await Promise.all(tasks.map((task) => readAll(storage.tasks, task)));
  return logs.flat().filter(({ body }) => OF_SESSION.includes(body.type));
}

describe('the conversation of a session', () => {
  it('is what the logs of its tasks hold, however they changed since it was read', async () => {
    let seed = 7;
    const below = (count: number) => (seed = (seed * 48_271) % 2_147_483_647) % count;
    const tasks: TaskRecord[] = [];
    const waiting: TaskRecord[] = [];
    for (let step = 0; step < STEPS; step += 1) {
      const kind = below(8);
      if (kind < 2) tasks.push(await talk(`${step}`));
      else if (kind === 2) {
        const task = await talk(`${step}`, 'input-required');
        tasks.push(task);
        waiting.push(task);
      } else if (kind === 3 && waiting.length > 0) {
        const [task] = waiting.splice(below(waiting.length), 1);
        const input = newInput(task!, { message: message(`reply ${step}`), lease: 'worker' });
        const added = await storage.tasks.addInput(input);
        await storage.tasks.append(fenceOf(taskOf(added)), [RUN_START, runEnd('completed')]);
      } else if (kind === 4 && tasks.length > 12) {
        const ended = tasks.filter((task) => !waiting.includes(task));
        const { id } = ended[below(ended.length)]!;
        expect(await storage.retention.remove([id])).toEqual([id]);
        tasks.splice(
          tasks.findIndex((task) => task.id === id),
          1,
        );
      } else if (tasks.length > 0) {
        const upto = tasks[tasks.length - 1 - below(Math.min(tasks.length, 5))]!;
        const before = tasks.slice(0, tasks.indexOf(upto));
        const from = below(4) === 0 ? below(before.length + 1) : 0;
        const after = before[from - 1]?.id;
        const limit = 1 + below(40);
        const read = await storage.tasks.readSession(upto, limit, { after, unfinished: true });
        expect(read).toEqual((await saidIn(before.slice(from))).slice(-limit));
      }
    }
    expect(tasks.length).toBeGreaterThan(50);
  });

  it('leaves out a task that was removed after it was read', async () => {
    const gone = await talk('a secret');
    const stays = await talk('the weather');
    const task = await accept('and now?');
    expect(await storage.tasks.readSession(task, 100)).toHaveLength(6);
    await storage.retention.remove([gone.id]);
    expect(await storage.tasks.readSession(task, 100)).toEqual(await saidIn([stays]));
  });

  it('is parsed once, into objects that no agent can change for the next one', async () => {
    for (const n of upTo(3)) await talk(String(n));
    const first = await storage.tasks.readSession(await accept('now'), 100);
    await talk('later');
    const second = await storage.tasks.readSession(await accept('and now'), 100);
    expect(second.slice(0, 9).map((event, index) => event === first[index])).toEqual(Array(9).fill(true));
    const body = second[0]!.body as unknown as { message: { parts: { text: string }[] } };
    expect(() => (body.message.parts[0]!.text = 'other words')).toThrow(TypeError);
    expect(() => body.message.parts.pop()).toThrow(TypeError);
  });
});
