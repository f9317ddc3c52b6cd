import type { StreamResponse } from '@a2a-js/sdk';
import { newId } from '../../core/ids.js';
import { textOf, textPart, type Artifact, type Message } from '../../core/message.js';
import type { Usage } from '../../core/model.js';
import { activityOf } from '../../core/activity.js';
import type { Activity, BodyOf, TaskEvent } from '../../core/task.js';
import { authorMetadata, type AuthorMark } from './extensions.js';
import { toWireUpdate, type ArtifactUpdate, type StatusUpdate } from './updates.js';

/** The name of the artifact that holds an agent's answer. */
export const OUTPUT_ARTIFACT_NAME = 'answer';

/** A stream event with the number of its journal event, which the metadata may not show. */
export type NumberedResponse = StreamResponse & { readonly seq?: number | undefined };

/** An event of the journal, or live text, which has no number. */
export type ShownEvent = Omit<TaskEvent, 'seq'> & { readonly seq: number | undefined };

/** Converts a journal event into the event of a stream; undefined for events that clients do not see. See `toUpdate`. */
export function toStreamResponse(
  event: ShownEvent,
  contextId: string,
  author: string,
): StreamResponse | undefined {
  const update = toUpdate(event, contextId, author);
  return update && toWireUpdate(update);
}

/**
 * Converts a journal event into what a watcher of the task is told; undefined for events that clients do not see. `author`
 * is the resolved author (requirements A1 and A2).
 */
export function toUpdate(
  { seq, at, body, taskId }: ShownEvent,
  contextId: string,
  author: string,
): StatusUpdate | ArtifactUpdate | undefined {
  const about = { taskId, contextId, seq };
  switch (body.type) {
    case 'run-start':
      return { type: 'status', ...about, at, state: 'working', mark: { author } };
    case 'run-end':
    case 'status': {
      const { state, metadata } = body;
      const message = body.message && withAuthor(body.message, author);
      const closing =
        body.type === 'run-end' ? closingOf(body, author) : { mark: { author, ...activityIn(body.message) } };
      return { type: 'status', ...about, at, state, message, metadata, ...closing };
    }
    case 'text-delta': {
      if (body.isMessage) break;
      const { artifactId, text, name, replace, lastChunk = false } = body;
      const artifact = { ...textArtifact(artifactId, text, author), ...(name === undefined ? {} : { name }) };
      return { type: 'artifact', ...about, artifact, append: !replace, lastChunk };
    }
    case 'artifact': {
      const { append, lastChunk = false, metadata } = body;
      const artifact = withAuthor(body.artifact, author);
      return { type: 'artifact', ...about, artifact, append, lastChunk, metadata };
    }
    default:
      break;
  }
  const activity = activityOf(body);
  if (!activity) return undefined;
  const hasText = activity.type === 'text' && activity.text !== '';
  const message = hasText ? textMessage({ taskId, seq: seq ?? newId() }, author, activity.text) : undefined;
  return { type: 'status', ...about, at, state: 'working', message, mark: { author, activity } };
}

/** The facts in the end of a run besides its state. */
export function closingOf(
  { usage, fromOutside = false }: BodyOf<'run-end'>,
  author: string,
): { readonly mark: AuthorMark; readonly usage: Usage } {
  return { mark: { author, fromOutside }, usage };
}

/** An executor's message to the people who watch, as the author extension reports it. */
function activityIn(message: Message | undefined): { readonly activity?: Activity } {
  const text = textOf(message?.parts ?? []);
  return text === '' ? {} : { activity: { type: 'text', text } };
}

/** A text of the agent before its answer, as a message of the task. */
export function textMessage(
  { taskId, seq }: { readonly taskId: string; readonly seq: number | string },
  author: string,
  text: string,
): Message {
  return {
    id: `${taskId}:${seq}`,
    role: 'agent',
    parts: [textPart(text)],
    metadata: authorMetadata({ author }),
  };
}

export function textArtifact(id: string, text: string, author: string): Artifact {
  return { id, name: OUTPUT_ARTIFACT_NAME, parts: [textPart(text)], metadata: authorMetadata({ author }) };
}

/** Adds the author to an artifact or message (requirements A1 and A2). */
export function withAuthor<Whole extends Artifact | Message>(whole: Whole, author: string): Whole {
  return { ...whole, metadata: { ...whole.metadata, ...authorMetadata({ author }) } };
}
