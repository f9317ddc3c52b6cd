import type { StreamResponse, Task, TaskStatus } from '@a2a-js/sdk';
import { EXTENSIONS } from '../../core/extensions.js';
import type { JsonObject } from '../../core/json.js';
import type { Artifact, Message } from '../../core/message.js';
import type { Usage } from '../../core/model.js';
import type { Origin } from '../../core/origin.js';
import type { TaskState } from '../../core/task.js';
import {
  fromWireArtifact,
  fromWireMessage,
  fromWireState,
  toWireArtifact,
  toWireMessage,
  toWireState,
} from './content.js';
import { authorIn, authorMetadata, seqIn, usageIn, usageMetadata, type AuthorMark } from './extensions.js';

interface AboutTask {
  /** Empty when the agent named none. */
  readonly taskId: string;
  readonly contextId: string;
  /** The number of the event of the journal; undefined from agents that number none. */
  readonly seq?: number | undefined;
  /** The journal entries that hold the content, for a watcher that shares the database. It is not sent to others. */
  readonly from?: Origin | undefined;
  /** Live text: the entry that it becomes a part of comes too. Only a watcher that shares the database is told. */
  readonly isLive?: true;
}

interface Status extends AboutTask {
  /** Undefined for a state of another version of the protocol. */
  readonly state: TaskState | undefined;
  readonly message?: Message | undefined;
  readonly mark?: AuthorMark | undefined;
  /** Set at the end of a run, by agents that report it. */
  readonly usage?: Usage | undefined;
  readonly metadata?: JsonObject | undefined;
}

/** The task as it stands, as far as a watcher needs it. */
export interface TaskSnapshot extends Status {
  readonly type: 'task';
  readonly artifacts: readonly Artifact[];
}

export interface StatusUpdate extends Status {
  readonly type: 'status';
  /** Milliseconds since the epoch. */
  readonly at: number;
}

export interface ArtifactUpdate extends AboutTask {
  readonly type: 'artifact';
  readonly artifact: Artifact;
  readonly append: boolean;
  readonly lastChunk: boolean;
  readonly metadata?: JsonObject | undefined;
}

/** The message that an agent sends in place of a task; some send the pieces of their answer so. */
export interface ReplyUpdate extends AboutTask {
  readonly type: 'message';
  readonly message: Message;
}

/**
 * An update that an agent gives about a task, in the words of core. An agent of this process hands it over as it is;
 * between servers it is the protocol's event of a stream.
 */
export type TaskUpdate = TaskSnapshot | StatusUpdate | ArtifactUpdate | ReplyUpdate;

/** Converts an update for the wire. A snapshot is made by `TaskFold`, which knows more of the task. */
export function toWireUpdate(update: StatusUpdate | ArtifactUpdate): StreamResponse {
  const { taskId, contextId } = update;
  const metadata = { ...update.metadata, ...marksMetadata(update) };
  if (update.type === 'artifact') {
    const { append, lastChunk } = update;
    const value = {
      taskId,
      contextId,
      artifact: toWireArtifact(update.artifact),
      append,
      lastChunk,
      metadata,
    };
    return { payload: { $case: 'artifactUpdate', value } };
  }
  const { state = 'working', message, at } = update;
  const value = {
    taskId,
    contextId,
    status: {
      state: toWireState(state),
      message: message && toWireMessage(message, { taskId, contextId }),
      timestamp: new Date(at).toISOString(),
    },
    metadata,
  };
  return { payload: { $case: 'statusUpdate', value } };
}

/** The metadata of the extensions about an event or a task. */
export function marksMetadata({ seq, mark, usage }: Pick<Status, 'seq' | 'mark' | 'usage'>): JsonObject {
  return {
    ...(mark && authorMetadata(mark)),
    ...(usage && usageMetadata(usage)),
    ...(seq !== undefined && { [EXTENSIONS.cursor]: { seq } }),
  };
}

/** Returns undefined for an event of another version of the protocol. */
export function fromWireUpdate({ payload }: StreamResponse): TaskUpdate | undefined {
  switch (payload?.$case) {
    case 'task':
      return fromWireTask(payload.value);
    case 'message': {
      const { taskId, contextId, metadata } = payload.value;
      const message = fromWireMessage(payload.value);
      return { type: 'message', taskId, contextId, seq: seqIn(metadata), message };
    }
    case 'statusUpdate': {
      const { taskId, contextId, status, metadata } = payload.value;
      return { type: 'status', taskId, contextId, at: 0, ...statusOf(status, metadata) };
    }
    case 'artifactUpdate': {
      const { taskId, contextId, artifact, append, lastChunk, metadata } = payload.value;
      if (!artifact) return undefined;
      const about = { taskId, contextId, seq: seqIn(metadata), metadata };
      return { type: 'artifact', ...about, artifact: fromWireArtifact(artifact), append, lastChunk };
    }
    case undefined:
      return undefined;
  }
}

export function fromWireTask({ id, contextId, status, artifacts, metadata }: Task): TaskSnapshot {
  const about = { taskId: id, contextId, ...statusOf(status, metadata) };
  return { type: 'task', ...about, artifacts: artifacts.map(fromWireArtifact) };
}

function statusOf(status: TaskStatus | undefined, metadata: JsonObject | undefined) {
  return {
    state: status && fromWireState(status.state),
    message: status?.message && fromWireMessage(status.message),
    seq: seqIn(metadata),
    mark: authorIn(metadata),
    usage: usageIn(metadata),
    metadata,
  };
}
