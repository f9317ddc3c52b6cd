import type { StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from '@a2a-js/sdk';
import type { JsonObject } from '../../core/json.js';
import { textOf, textPart, type Artifact, type Message } from '../../core/message.js';
import type { Activity, EventBody, TaskEvent, TaskState } from '../../core/task.js';
import { toWireArtifact, toWireMessage, toWireState, type MessageIds } from './content.js';
import { authorMetadata, cursorMetadata, usageMetadata } from './extensions.js';

/** The name of the artifact that holds an agent's output. */
export const OUTPUT_ARTIFACT_NAME = 'answer';

/** A stream event with the number of its journal event, which the metadata may not show. */
export type NumberedResponse = StreamResponse & { readonly seq?: number | undefined };

const RESULT_PREVIEW_CHARACTERS = 2_000;

/**
 * Converts a journal event into its stream event; undefined for events that clients do not see. `author` is the resolved
 * author (requirements A1 and A2).
 */
export function toStreamResponse(
  event: TaskEvent,
  ids: MessageIds,
  author: string,
): StreamResponse | undefined {
  const { body } = event;
  switch (body.type) {
    case 'run-start':
      return status(event, ids, { state: 'working', metadata: authorMetadata({ author }) });
    case 'run-end':
    case 'status': {
      const { state, message, metadata } = body;
      const own =
        body.type === 'run-end'
          ? closingMetadata(body, author)
          : authorMetadata({ author, ...activityIn(message) });
      const authored = message && withAuthor(message, author);
      return status(event, ids, { state, message: authored, metadata: { ...metadata, ...own } });
    }
    case 'text-delta': {
      const { artifactId: id, text, name, replace, lastChunk } = body;
      if (body.isMessage)
        return working(event, ids, {
          author,
          activity: { type: 'text', id, text, ...(replace && { replace }) },
        });
      const chunk = { ...textArtifact(id, text, author), ...(name !== undefined && { name }) };
      return artifact(event, ids, { artifact: chunk, append: !replace, lastChunk });
    }
    case 'artifact':
      return artifact(event, ids, { ...body, artifact: withAuthor(body.artifact, author) });
    default: {
      const activity = activityOf(event);
      return activity && working(event, ids, { author, activity });
    }
  }
}

/** The metadata of the event that ends a run. */
export function closingMetadata(
  { usage, fromOutside = false }: Extract<EventBody, { type: 'run-end' }>,
  author: string,
): JsonObject {
  return { ...authorMetadata({ author, fromOutside }), ...usageMetadata(usage) };
}

/** An executor's message to the people who watch, as the author extension reports it. */
function activityIn(message: Message | undefined): { readonly activity?: Activity } {
  const text = textOf(message?.parts ?? []);
  return text === '' ? {} : { activity: { type: 'text', text } };
}

/** The activity that an event reports; undefined when it reports none. */
function activityOf({ body }: TaskEvent): Activity | undefined {
  switch (body.type) {
    case 'activity':
      return body.activity;
    case 'turn-start':
      return { type: 'turn-start' };
    case 'tool-call':
      return { type: 'tool-call', tool: body.tool, arguments: body.arguments };
    case 'tool-result': {
      const { name, isError, content } = body.result;
      return { type: 'tool-result', tool: name, isError, text: content.slice(0, RESULT_PREVIEW_CHARACTERS) };
    }
    case 'delegation-start':
      return { type: 'delegation-start', agent: body.agent, request: body.request };
    case 'delegation-end': {
      const { type, agent, state, reason } = body;
      return { type, agent, state, ...(reason === undefined ? {} : { reason }) };
    }
    default:
      return undefined;
  }
}

function working(
  event: TaskEvent,
  ids: MessageIds,
  mark: { readonly author: string; readonly activity: Activity },
): StreamResponse {
  const message =
    mark.activity.type === 'text' ? textMessage(event, mark.author, mark.activity.text) : undefined;
  return status(event, ids, { state: 'working', message, metadata: authorMetadata(mark) });
}

/** A text of the agent before its final output, as a message of the task. */
export function textMessage(event: TaskEvent, author: string, text: string): Message {
  return {
    id: `${event.taskId}:${event.seq}`,
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

interface StatusFields {
  readonly state: TaskState;
  readonly message?: Message | undefined;
  readonly metadata: JsonObject;
}

function status(event: TaskEvent, ids: MessageIds, fields: StatusFields): StreamResponse {
  const value: TaskStatusUpdateEvent = {
    taskId: ids.taskId,
    contextId: ids.contextId,
    status: {
      state: toWireState(fields.state),
      message: fields.message && toWireMessage(fields.message, ids),
      timestamp: new Date(event.at).toISOString(),
    },
    metadata: { ...fields.metadata, ...cursorMetadata(event.seq) },
  };
  return { payload: { $case: 'statusUpdate', value } };
}

type ArtifactFields = Omit<Extract<EventBody, { type: 'artifact' }>, 'type'>;

function artifact(event: TaskEvent, ids: MessageIds, fields: ArtifactFields): StreamResponse {
  const value: TaskArtifactUpdateEvent = {
    taskId: ids.taskId,
    contextId: ids.contextId,
    artifact: toWireArtifact(fields.artifact),
    append: fields.append,
    lastChunk: fields.lastChunk ?? false,
    metadata: { ...fields.metadata, ...cursorMetadata(event.seq) },
  };
  return { payload: { $case: 'artifactUpdate', value } };
}
