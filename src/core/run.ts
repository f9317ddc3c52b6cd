import type { Logger } from './logger.js';
import type { Message } from './message.js';
import type { Usage } from './model.js';
import type { Scrubber } from './secrets.js';
import type { EventBody, Grant, Question, TaskEvent, TaskRecord } from './task.js';

/**
 * One pass of an agent over a task: what the journal hands to an agent. A run that is resumed (after
 * a crash, or after a person's answer) starts from the top; `recorded` says which steps are already
 * done, so that nothing completed is done twice.
 */
export interface Run {
  readonly task: TaskRecord;
  readonly grant: Grant;
  /** 1 for the first; each restart and each answer adds one. */
  readonly attempt: number;
  /** The caller's messages of this task in order: the request, then each follow-up. At least one. */
  readonly inputs: readonly RunInput[];
  /**
   * Aborts on cancel, on a passed deadline, on shutdown, and when another process took the task over.
   * Its `reason` is a `LangoError`.
   */
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /**
   * Takes the values of the owner's secrets out of what goes on to a model. What is appended passes it anyway.
   */
  readonly scrubber: Scrubber;
  /** What earlier attempts recorded under a step; undefined when it never began. */
  recorded(step: string): RecordedStep | undefined;
  /** Questions asked by earlier attempts, by their hash; asked twice, the first counts. */
  readonly questions: ReadonlyMap<string, AskedQuestion>;
  /**
   * Conversation events of earlier tasks of this session, oldest first: the newest `limit` of them.
   * The session is that of tenant, owner, agent and context. With `after`, only those of tasks later than that one.
   */
  history(limit: number, after?: string): Promise<readonly TaskEvent[]>;
  /**
   * Appends in the order of calls and resolves once durable. Rejects with code `fenced` when another
   * process owns the task: the caller stops. The author is this agent unless another is named.
   */
  append(body: EventBody, author?: string): Promise<void>;
  /**
   * Like `append`, without waiting. Text deltas of one artifact are joined and become durable (and
   * visible) within 50 ms or 4 KiB. A failure shows at the next `append` and aborts `signal`.
   */
  emit(body: EventBody, author?: string): void;
  /** What this task and those below it used so far, over all attempts. */
  usage(): Usage;
  /** Whether an entry of this task is from outside, over all attempts, or its grant is. */
  hasReadOutside(): boolean;
}

export interface RunInput {
  readonly seq: number;
  readonly message: Message;
}

export interface AskedQuestion {
  readonly seq: number;
  readonly question: Question;
  /** The `seq` of the entry that put it to the person; undefined while the run that asked goes on. */
  readonly shownAt?: number;
  /** The `seq` of the entry that ended its time; what came before it still counts. */
  readonly expiredAt?: number;
}

export interface RecordedStep {
  /** `turn-start`, `tool-call` or `delegation-start`. */
  readonly intent: EventBody;
  /** The `turn-end`, `tool-result` or `delegation-end`; undefined when the outcome is not known. */
  readonly result: EventBody | undefined;
  /** The peer's task of a delegation, when it became known. */
  readonly childTaskId: string | undefined;
}

/** How a run ended, said by the agent. The journal adds `canceled` and what the deadline brings by itself. */
export interface RunEnd {
  readonly state: 'completed' | 'failed' | 'rejected' | 'input-required' | 'auth-required';
  /** For the person: a question, a reason. An answer belongs into an artifact, not here. */
  readonly text?: string;
  readonly reason?: string;
  /** The agent that wrote the answer, when it is another than the agent of the run (a final delegation). */
  readonly author?: string;
  readonly questions?: readonly Question[];
}
