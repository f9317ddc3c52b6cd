import { EXTENSIONS } from '../../core/extensions.js';
import type { EventBody, EventType } from '../../core/task.js';
import { Role, TaskState, type StreamResponse, type Task } from '@a2a-js/sdk';

/** The extensions that add a member to `metadata` in responses. */
const MARKS: readonly string[] = [EXTENSIONS.author, EXTENSIONS.cursor, EXTENSIONS.usage];

type Marked = Pick<Task, 'metadata'>;

/**
 * Removes from a task the metadata of extensions that the client did not ask for, and returns it. Without a set nothing is
 * removed. The task must have been made for this client.
 */
export function keepAsked(task: Task, asked: ReadonlySet<string> | undefined): Task {
  const unasked = unaskedMarks(asked);
  if (unasked.length === 0) return task;
  removeInStatus(task, unasked);
  for (const artifact of task.artifacts) remove(artifact, unasked);
  for (const message of task.history) if (message.role !== Role.ROLE_USER) remove(message, unasked);
  return task;
}

/** Removes the same from an event of a stream, which must have been made for this client. */
export function keepAskedInEvent(
  { payload }: StreamResponse,
  asked: ReadonlySet<string> | undefined,
): StreamResponse['payload'] {
  const unasked = unaskedMarks(asked);
  if (!payload || unasked.length === 0) return payload;
  if (payload.$case === 'task') keepAsked(payload.value, asked);
  if (payload.$case === 'statusUpdate') removeInStatus(payload.value, unasked);
  if (payload.$case === 'artifactUpdate') {
    remove(payload.value, unasked);
    if (payload.value.artifact) remove(payload.value.artifact, unasked);
  }
  return payload;
}

/** The events that report a change of the state, and are shown although they only say that the task is working. */
const CHANGES_STATE: ReadonlySet<EventType> = new Set(['run-start', 'status']);

/** Whether clients see an event as this payload: more than that the task is still working. */
export function isNews({ body }: { readonly body: EventBody }, payload: StreamResponse['payload']): boolean {
  return payload !== undefined && (CHANGES_STATE.has(body.type) || !isBareWorking(payload));
}

function isBareWorking(payload: StreamResponse['payload']): boolean {
  if (payload?.$case !== 'statusUpdate') return false;
  const { status, metadata } = payload.value;
  if (status?.state !== TaskState.TASK_STATE_WORKING || status.message) return false;
  return Object.keys(metadata ?? {}).every((name) => name === EXTENSIONS.cursor);
}

function unaskedMarks(asked: ReadonlySet<string> | undefined): readonly string[] {
  return asked ? MARKS.filter((uri) => !asked.has(uri)) : [];
}

function removeInStatus(whole: Marked & Pick<Task, 'status'>, names: readonly string[]): void {
  remove(whole, names);
  if (whole.status?.message) remove(whole.status.message, names);
}

/** Leaves these members of the metadata out, and the metadata when it has no others. */
function remove(whole: Marked, names: readonly string[]): void {
  const { metadata } = whole;
  if (!metadata) return;
  const left = Object.keys(metadata).filter((name) => !names.includes(name));
  const kept = () => Object.fromEntries(left.map((name) => [name, metadata[name] as unknown]));
  whole.metadata = left.length === 0 ? undefined : kept();
}
