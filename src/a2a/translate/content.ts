import type {
  Artifact as WireArtifact,
  Message as WireMessage,
  Part as WirePart,
  SendMessageRequest,
  TaskStatus,
} from '@a2a-js/sdk';
import { Role, TaskState as WireState } from '@a2a-js/sdk';
import type { Json } from '../../core/json.js';
import type { Artifact, Message, Part } from '../../core/message.js';
import { questionsIn } from '../../core/questions.js';
import { TASK_STATES } from '../../core/task-states.js';
import type { TaskState } from '../../core/task.js';
import { EXTENSIONS } from '../../core/extensions.js';

const TO_WIRE_STATE = Object.fromEntries(
  TASK_STATES.map((state) => {
    const name = `TASK_STATE_${state.toUpperCase().replace('-', '_')}`;
    return [state, WireState[name as keyof typeof WireState]];
  }),
) as Readonly<Record<TaskState, WireState>>;
const FROM_WIRE_STATE = new Map(TASK_STATES.map((state) => [TO_WIRE_STATE[state], state]));

export function toWireState(state: TaskState): WireState {
  return TO_WIRE_STATE[state];
}

/** Returns undefined for "unspecified" and for states of a later protocol. */
export function fromWireState(state: WireState): TaskState | undefined {
  return FROM_WIRE_STATE.get(state);
}

export function isInWork(status: TaskStatus | undefined): boolean {
  const state = status && fromWireState(status.state);
  return state === 'submitted' || state === 'working';
}

export function toWirePart(part: Part): WirePart {
  const rest = { metadata: part.metadata, filename: part.filename ?? '', mediaType: part.mediaType ?? '' };
  switch (part.kind) {
    case 'text':
      return { content: { $case: 'text', value: part.text }, ...rest };
    case 'data':
      return { content: { $case: 'data', value: part.data }, ...rest };
    case 'file':
      return 'url' in part
        ? { content: { $case: 'url', value: part.url }, ...rest }
        : { content: { $case: 'raw', value: Buffer.from(part.bytes, 'base64') }, ...rest };
  }
}

/** Whether the part is text without media type, file name and metadata. */
export function isPlainText(part: Part): part is { readonly kind: 'text'; readonly text: string } {
  return part.kind === 'text' && !('mediaType' in part || 'filename' in part || 'metadata' in part);
}

/** Undefined when the content of the part is unknown. */
function fromWirePart(part: WirePart): Part | undefined {
  const extras = {
    ...(part.mediaType ? { mediaType: part.mediaType } : {}),
    ...(part.filename ? { filename: part.filename } : {}),
    ...(part.metadata ? { metadata: part.metadata } : {}),
  };
  switch (part.content?.$case) {
    case 'text':
      return { kind: 'text', text: part.content.value, ...extras };
    case 'data':
      return { kind: 'data', data: part.content.value as Json, ...extras };
    case 'url':
      return { kind: 'file', url: part.content.value, ...extras };
    case 'raw':
      return { kind: 'file', bytes: Buffer.from(part.content.value).toString('base64'), ...extras };
    case undefined:
      return undefined;
  }
}

export interface MessageIds {
  readonly taskId: string;
  readonly contextId: string;
}

export function toWireMessage(message: Message, ids: MessageIds): WireMessage {
  return {
    messageId: message.id,
    contextId: ids.contextId,
    taskId: ids.taskId,
    role: message.role === 'user' ? Role.ROLE_USER : Role.ROLE_AGENT,
    parts: message.parts.map(toWirePart),
    metadata: message.metadata,
    extensions: [
      ...(message.extensions ?? []),
      ...(questionsIn(message.parts).length > 0 ? [EXTENSIONS.approval] : []),
    ],
    referenceTaskIds: [...(message.referenceTaskIds ?? [])],
  };
}

/** The request that sends a message and does not wait for its task, which is then watched or polled. */
export function toSendRequest(message: Message, ids: MessageIds): SendMessageRequest {
  return {
    tenant: '',
    message: toWireMessage(message, ids),
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      returnImmediately: true,
    },
    metadata: undefined,
  };
}

export function fromWireMessage(message: WireMessage): Message {
  return {
    id: message.messageId,
    role: message.role === Role.ROLE_AGENT ? 'agent' : 'user',
    parts: fromWireParts(message.parts),
    ...(message.metadata ? { metadata: message.metadata } : {}),
    ...(message.extensions.length > 0 ? { extensions: message.extensions } : {}),
    ...(message.referenceTaskIds.length > 0 ? { referenceTaskIds: message.referenceTaskIds } : {}),
  };
}

function fromWireParts(parts: readonly WirePart[]): readonly Part[] {
  return parts.map(fromWirePart).filter((part) => part !== undefined);
}

export function toWireArtifact(artifact: Artifact): WireArtifact {
  return {
    artifactId: artifact.id,
    name: artifact.name ?? '',
    description: artifact.description ?? '',
    parts: artifact.parts.map(toWirePart),
    metadata: artifact.metadata,
    extensions: [...(artifact.extensions ?? [])],
  };
}

export function fromWireArtifact(artifact: WireArtifact): Artifact {
  return {
    id: artifact.artifactId,
    ...(artifact.name ? { name: artifact.name } : {}),
    ...(artifact.description ? { description: artifact.description } : {}),
    parts: fromWireParts(artifact.parts),
    ...(artifact.metadata ? { metadata: artifact.metadata } : {}),
    ...(artifact.extensions.length > 0 ? { extensions: artifact.extensions } : {}),
  };
}
