import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Agent, Peer, PeerDirectory } from '../../src/core/agent.js';
import { newId } from '../../src/core/ids.js';
import type { Submission } from '../../src/core/journal.js';
import { silentLogger } from '../../src/core/logger.js';
import { textPart } from '../../src/core/message.js';
import type { Run, RunEnd } from '../../src/core/run.js';
import type { Storage } from '../../src/stores/storage.js';
import type { TaskStore } from '../../src/stores/tasks.js';
import type { TaskEvent } from '../../src/core/task.js';
import { RunningJournal, type JournalOptions } from '../../src/journal/journal.js';
import { openSqliteStorage } from '../../src/storage/sqlite/storage.js';

export const SCOPE = { tenant: '', owner: 'ada' };

/** The journal of the test that runs, over a database of its own. */
export let journal: RunningJournal;
export let store: TaskStore;
/** The delegations that peers were told to cancel. */
export let canceled: string[] = [];
let storage: Storage;
let folder: string;
let begin: () => Promise<void>;
let onCanceled: () => Promise<void>;

export function whenCanceled(listener: () => Promise<void>): void {
  onCanceled = listener;
}

export async function close(): Promise<void> {
  await journal.stop();
  await storage.close();
  rmSync(folder, { recursive: true, force: true });
}

/** Peers that only record cancels. */
const peers: Pick<PeerDirectory, 'get'> = {
  get: (name): Peer => ({
    name,
    description: '',
    skills: [],
    isRemote: false,
    send: () => {
      throw new Error('nothing is sent here');
    },
    async cancel({ owner }, task) {
      canceled.push(`${owner} ${name} ${'taskId' in task ? task.taskId : task.messageId}`);
      await onCanceled();
    },
  }),
};

export async function open(
  run: (run: Run) => Promise<RunEnd>,
  limits: Partial<Pick<JournalOptions, 'concurrentRuns' | 'runSeconds' | 'secrets'>> = {},
): Promise<void> {
  folder = mkdtempSync(path.join(tmpdir(), 'lango-journal-'));
  canceled = [];
  onCanceled = async () => {};
  const agent: Agent = { profile: { name: 'echo', description: 'Says what it hears.', skills: [] }, run };
  const agents = new Map([['echo', agent]]);
  begin = () => {
    storage = openSqliteStorage({
      file: path.join(folder, 'j.db'),
      synchronous: 'normal',
      logger: silentLogger,
    });
    store = storage.tasks;
    journal = new RunningJournal({
      store,
      agents,
      peers,
      logger: silentLogger,
      concurrentRuns: 50,
      queuedTasks: 1_000,
      eventsPerTask: 100_000,
      runSeconds: 60,
      ...limits,
    });
    return journal.start();
  };
  await begin();
}

/** Starts the journal anew after a crash: nothing was released, and no run was told. */
export async function crash(): Promise<void> {
  await storage.close();
  await begin();
}

export function message(text: string): Submission {
  return {
    scope: SCOPE,
    agent: 'echo',
    message: { id: newId(), role: 'user', parts: [textPart(text)] },
    contextId: undefined,
    taskId: undefined,
    parentTaskId: undefined,
    grant: { chain: [], depth: 5 },
  };
}

export function until(signal: AbortSignal): Promise<RunEnd> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve({ state: 'completed' }), { once: true });
  });
}

/** All events after `after`, once the task has ended. */
export async function ended(taskId: string, after = 0): Promise<readonly TaskEvent[]> {
  const events: TaskEvent[] = [];
  for await (const batch of journal.follow(taskId, after, AbortSignal.timeout(100_000)))
    events.push(...batch);
  const last = events.at(-1)?.body;
  if (last?.type !== 'run-end') throw new Error('the task did not end in time');
  return events;
}

/** The closing event of the `count`th run. */
export async function closed(taskId: string, count: number): Promise<{ readonly state: string }> {
  const ends: { state: string }[] = [];
  for await (const batch of journal.follow(taskId, 0, AbortSignal.timeout(100_000))) {
    for (const { body } of batch) if (body.type === 'run-end') ends.push(body);
    if (ends.length >= count) break;
  }
  return ends[count - 1]!;
}

export async function seen(taskId: string, type: string): Promise<void> {
  for await (const batch of journal.follow(taskId, 0, AbortSignal.timeout(100_000))) {
    if (batch.some(({ body }) => body.type === type)) return;
  }
}

export async function seenTimes(taskId: string, count: number): Promise<void> {
  let starts = 0;
  for await (const batch of journal.follow(taskId, 0, AbortSignal.timeout(100_000))) {
    starts += batch.filter(({ body }) => body.type === 'run-start').length;
    if (starts >= count) return;
  }
}
