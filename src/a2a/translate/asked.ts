import { EXTENSIONS } from '../../core/extensions.js';
import type { EventBody, EventType } from '../../core/task.js';
import { Role, TaskState, type StreamResponse, type Task } from '@a2a-js/sdk';

/** The extensions that add a member to `metadata` in responses. */
const MARKS: readonly string[] = [EXTENSIONS.author, EXTENSIONS.cursor, EXTENSIONS.usage];

type Marked = Pick<Task, 'metadata'>;

/** Removes from a task the metadata of extensions that the client did not ask for. Without a set nothing is removed. */
export function keepAsked(task: Task, asked: ReadonlySet<string> | undefined): Task {
  const unasked = unaskedMarks(asked);
  if (unasked.length === 0) return task;
  return {
    ...withoutInStatus(task, unasked),
    artifacts: task.artifacts.map((artifact) => without(artifact, unasked)),
    history: task.history.map((message) =>
      message.role === Role.ROLE_USER ? message : without(message, unasked),
    ),
  };
}

/** Removes the same from an event of a stream. */
export function keepAskedInEvent(
  { payload }: StreamResponse,
  asked: ReadonlySet<string> | undefined,
): StreamResponse['payload'] {
  const unasked = unaskedMarks(asked);
  if (!payload || unasked.length === 0) return payload;
  switch (payload.$case) {
    case 'task':
      return { ...payload, value: keepAsked(payload.value, asked) };
    case 'message':
      return payload;
    case 'statusUpdate':
      return { ...payload, value: withoutInStatus(payload.value, unasked) };
    case 'artifactUpdate': {
      const artifact = payload.value.artifact && without(payload.value.artifact, unasked);
      return { ...payload, value: { ...without(payload.value, unasked), artifact } };
    }
  }
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

function withoutInStatus<Whole extends Marked & Pick<Task, 'status'>>(
  whole: Whole,
  names: readonly string[],
) {
  const message = whole.status?.message && without(whole.status.message, names);
  return { ...without(whole, names), status: whole.status && { ...whole.status, message } };
}

/** Leaves these members of the metadata out, and the metadata when it has no others. */
function without<Whole extends Marked>(whole: Whole, names: readonly string[]): Whole {
  if (!whole.metadata) return whole;
  const left = Object.keys(whole.metadata).filter((name) => !names.includes(name));
  const kept = () => Object.fromEntries(left.map((name) => [name, whole.metadata![name] as unknown]));
  return { ...whole, metadata: left.length === 0 ? undefined : kept() };
}
