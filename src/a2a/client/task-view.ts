import type { Task } from '@a2a-js/sdk';
import { LangoError } from '../../core/errors.js';
import type { Artifact, Message } from '../../core/message.js';
import { textOf } from '../../core/message.js';
import { questionsIn } from '../../core/questions.js';
import type { Question, TaskState } from '../../core/task.js';
import { fromWireArtifact, fromWireMessage, fromWireState } from '../translate/content.js';

/** A task as a client sees it. */
export interface TaskView {
  readonly id: string;
  readonly contextId: string;
  readonly state: TaskState;
  /** When the state was set (ISO 8601), if the server says. */
  readonly stateAt: string | undefined;
  /** The reason, or the question; empty when there is none. */
  readonly text: string;
  /** What waits for a person's word. */
  readonly questions: readonly Question[];
  readonly artifacts: readonly Artifact[];
  readonly history: readonly Message[];
}

/** Throws `invalid-agent-response` for a task without id or state. */
export function toTaskView(task: Task): TaskView {
  const state = task.status && fromWireState(task.status.state);
  if (!state || task.id === '') {
    throw new LangoError('invalid-agent-response', 'The server sent a task without id or state.');
  }
  const message = task.status?.message && fromWireMessage(task.status.message);
  return {
    id: task.id,
    contextId: task.contextId,
    state,
    stateAt: task.status?.timestamp,
    text: message ? textOf(message.parts) : '',
    questions: message ? questionsIn(message.parts) : [],
    artifacts: task.artifacts.map(fromWireArtifact),
    history: task.history.map(fromWireMessage),
  };
}
