import type { AgentCard } from '@a2a-js/sdk';
import type { Caller } from '../../core/identity.js';
import type { Message } from '../../core/message.js';
import type { Trace } from '../../core/task.js';
import type { MessageIds } from './content.js';
import type { TaskUpdate } from './updates.js';

/** The facts about a call besides what it asks for. */
export interface TaskCall {
  /** The caller on whose behalf it is made; undefined for a person's client, which its credential names. */
  readonly scope: Caller | undefined;
  /** Aborting it ends the call, never the task. */
  readonly signal: AbortSignal;
  /** The task that the call is part of. */
  readonly task?: string | undefined;
  /** For a subscription: the number of the last event that the caller saw. */
  readonly after?: number | undefined;
  /** The trace that the call is part of. */
  readonly trace?: Trace | undefined;
}

/** An update; undefined for an event that this version of the protocol does not know. */
type Updates = AsyncGenerator<TaskUpdate | undefined, void, undefined>;

/**
 * The calls about the tasks of one agent, in the words of core: over the wire for an agent of another server, straight to
 * the journal for one of this process. Each rejects with a `LangoError` or with an error that `fromWireError` reads.
 */
export interface TaskCalls {
  /** Sends a message and follows its task until the run of the message has ended. The ids are empty for a new task. */
  send(message: Message, ids: MessageIds, call: TaskCall): Updates;
  /** Follows a task to its end: from its current state, or from after an event. */
  subscribe(taskId: string, call: TaskCall): Updates;
  get(taskId: string, call: TaskCall): Promise<TaskUpdate>;
  cancel(taskId: string, call: TaskCall): Promise<void>;
  /** Resolves with the id of the task that got this message, if it is among the newest of its context. */
  find(
    message: { readonly contextId: string; readonly id: string },
    call: TaskCall,
  ): Promise<string | undefined>;
}

/** An agent of this process, as a peer in it finds it. */
export interface LocalAgent {
  getAgentCard(): Promise<AgentCard>;
  readonly tasks: TaskCalls;
}
