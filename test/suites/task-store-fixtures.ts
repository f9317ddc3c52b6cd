import { newId } from '../../src/core/ids.js';
import { canonicalJson } from '../../src/core/canonical-json.js';
import type { Message } from '../../src/core/message.js';
import { textPart } from '../../src/core/message.js';
import { NO_USAGE } from '../../src/core/model.js';
import type { AllStores } from '../../lab/all-stores.js';
import type {
  AcceptOutcome,
  Fence,
  NewInput,
  NewTask,
  TaskStart,
  TaskStore,
} from '../../src/stores/tasks.js';
import type { NewEvent, Scope, TaskEvent, TaskRecord, TaskState } from '../../src/core/task.js';

/** An empty store, and control over its clock. */
export interface StoreUnderTest {
  readonly storage: AllStores;
  /** The task store of the storage. */
  readonly store: TaskStore;
  /** Advances the store's clock by `ms`. */
  readonly advance: (ms: number) => Promise<void>;
  /** Called after the store was closed. */
  readonly dispose: () => Promise<void>;
}

export type OpenStore = () => Promise<StoreUnderTest>;

export const AGENT = 'operator';
export const ALICE: Scope = { tenant: '', owner: 'alice' };
export const BOB: Scope = { tenant: '', owner: 'bob' };
export const ALICE_ELSEWHERE: Scope = { tenant: 'acme', owner: 'alice' };

export function message(text: string, id = newId()): Message {
  return { id, role: 'user', parts: [textPart(text)] };
}

/** Compares the whole message. The journal compares less. */
function sameAs(sent: Message): NewTask['isSame'] {
  return ({ message: earlier }) => canonicalJson(earlier) === canonicalJson(sent);
}

export function newTask(changes: Partial<NewTask> = {}): NewTask {
  const sent = changes.message ?? message('list the files');
  return {
    id: newId(),
    scope: ALICE,
    agent: AGENT,
    contextId: 'context-1',
    parentTaskId: undefined,
    grant: { chain: [], depth: 5 },
    message: sent,
    isSame: sameAs(sent),
    ...changes,
  };
}

export function newInput(task: TaskRecord, changes: Partial<NewInput> = {}): NewInput {
  const sent = changes.message ?? message('and count them');
  return {
    scope: { tenant: task.tenant, owner: task.owner },
    agent: task.agent,
    taskId: task.id,
    message: sent,
    isSame: sameAs(sent),
    lease: undefined,
    ...changes,
  };
}

/** The task of an outcome that must have one. */
export function taskOf(outcome: AcceptOutcome | { readonly kind: string }): TaskRecord {
  if (!('task' in outcome)) throw new Error(`expected a task, got ${outcome.kind}`);
  return outcome.task;
}

/** Accepts a task. With a `lease`, its worker has that name. */
export async function acceptOne(
  store: TaskStore,
  { lease, ...changes }: Partial<NewTask> & { readonly lease?: string } = {},
): Promise<TaskRecord> {
  return taskOf(await store.accept(newTask(changes), lease === undefined ? undefined : startOf(lease)));
}

export function startOf(worker: string, ...firstEvents: readonly NewEvent[]): TaskStart {
  return { worker, firstEvents };
}

export function fenceOf(task: TaskRecord): Fence {
  return { taskId: task.id, epoch: task.epoch };
}

export function delta(text: string, author: string | undefined = AGENT): NewEvent {
  return { author, body: { type: 'text-delta', artifactId: 'answer', text, replace: false } };
}

export const RUN_START: NewEvent = { author: AGENT, body: { type: 'run-start', attempt: 1 } };

export function turnEnd(text: string): NewEvent {
  const content = [{ type: 'text', text }] as const;
  return {
    author: AGENT,
    body: { type: 'turn-end', step: 'turn-1', content, stopReason: 'end', usage: NO_USAGE },
  };
}

export function runEnd(state: Exclude<TaskState, 'submitted' | 'working'>, text?: string): NewEvent {
  const said = text === undefined ? {} : { message: { ...message(text), role: 'agent' as const } };
  return { author: AGENT, body: { type: 'run-end', state, usage: NO_USAGE, ...said } };
}

export async function readAll(store: TaskStore, task: TaskRecord): Promise<readonly TaskEvent[]> {
  return store.read(task.id, 0, 1_000);
}

export async function typesOf(store: TaskStore, task: TaskRecord): Promise<readonly string[]> {
  return (await readAll(store, task)).map((event) => event.body.type);
}

export async function seqsOf(store: TaskStore, task: TaskRecord): Promise<readonly number[]> {
  return (await readAll(store, task)).map((event) => event.seq);
}

export function scopeOf(task: TaskRecord): Scope {
  return { tenant: task.tenant, owner: task.owner };
}

export async function reload(store: TaskStore, task: TaskRecord): Promise<TaskRecord> {
  const found = await store.get(scopeOf(task), task.id);
  if (!found) throw new Error(`task ${task.id} is gone`);
  return found;
}

/** 1, 2, 3 … `last`. */
export function upTo(last: number): readonly number[] {
  return Array.from({ length: last }, (_, index) => index + 1);
}
