import type { JsonObject } from './json.js';
import type { Logger } from './logger.js';
import type { Message } from './message.js';
import type { Usage } from './model.js';
import type { Scrubber } from './secrets.js';
import type { Clearing, EventBody, Grant, Question, TaskEvent, TaskRecord, TextDelta } from './task.js';
import type { Variation } from './fork.js';

/** One pass of an agent over a task. A resumed run starts from the top; `recorded` gives the results of completed steps. */
export interface Run {
  readonly task: TaskRecord;
  readonly grant: Grant;
  /** Counts from 1; each restart and each reply adds one. */
  readonly attempt: number;
  /** The caller's messages of this task in order: the request, then each follow-up. At least one. */
  readonly inputs: readonly RunInput[];
  /** Aborts on cancellation, deadline, shutdown and the loss of the task. The reason is a `LangoError`. */
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /** Removes the values of the owner's secrets from text for a model. Appended events pass it in any case. */
  readonly scrubber: Scrubber;
  /** Returns what earlier attempts recorded for a step; undefined for a step that never began. */
  recorded(step: string): RecordedStep | undefined;
  /** The parts of the conversation that earlier attempts cleared, in order. */
  clearings(step: string): readonly Clearing[];
  /** The questions of earlier attempts, by hash. */
  readonly questions: ReadonlyMap<string, AskedQuestion>;
  /**
   * Reads the newest `limit` conversation events of earlier tasks of the session (owner, agent and context), the oldest
   * first. With `after`, only events of tasks later than that task.
   */
  history(limit: number, after?: string): Promise<readonly TaskEvent[]>;
  /** The changes to the agent, as the task is a fork. */
  readonly variation: Variation | undefined;
  /**
   * Reads a task of the same owner and agent with its log, this one included; undefined when there is none. With `after`,
   * only the events after that number.
   */
  readTask(taskId: string, after?: number): Promise<readonly [TaskRecord, readonly TaskEvent[]] | undefined>;
  /** Appends in the order of calls and resolves once durable. Rejects with `fenced` when another process owns the task. */
  append(body: EventBody, author?: string): Promise<void>;
  /**
   * Appends without waiting. Subscribers in this process see text at once; it becomes durable with the next event, after a
   * second or 16 KiB, its beginning at once. A failure rejects the next `append` and aborts `signal`.
   */
  emit(body: EventBody, author?: string): void;
  /** Shows subscribers in this process text that is emitted later, once it is durable where it comes from. */
  preview(body: TextDelta, author?: string): void;
  /** The number of events that the task may still have. */
  readonly room: number;
  /** Returns the usage of this task and the tasks below it, over all attempts. */
  usage(): Usage;
  /** Adds the usage of failed calls, which no entry holds. It is lost if the process ends before the run does. */
  charge(usage: Usage): void;
  /** Whether this task, in any attempt, or its grant has text from outside. */
  hasReadOutside(): boolean;
}

export interface RunInput {
  readonly seq: number;
  /** When it was stored, by the store's clock. */
  readonly at: number;
  readonly message: Message;
  /** The other members of the request: `{ metadata, configuration, extensions }`. Only for executors. */
  readonly request?: JsonObject;
}

export interface AskedQuestion {
  readonly seq: number;
  readonly question: Question;
  /** The `seq` of the event that showed the question; undefined while the run that asked is active. */
  readonly shownAt?: number;
  /** The `seq` of the first event that showed no other question for input. Words reply to it from then on. */
  readonly aloneAt?: number;
  /** The `seq` of the event that ended the question's time. Earlier replies count. */
  readonly expiredAt?: number;
}

export interface RecordedStep {
  /** `turn-start`, `tool-call` or `delegation-start`. */
  readonly intent: EventBody;
  /** The `turn-end`, `tool-result` or `delegation-end`; undefined while the outcome is not known. */
  readonly result: EventBody | undefined;
  /** The peer's task of a delegation, once known. */
  readonly childTaskId: string | undefined;
}

/** The end of a run. The journal itself ends tasks that are canceled or whose deadline passed. */
export interface RunEnd {
  readonly state: 'completed' | 'failed' | 'rejected' | 'input-required' | 'auth-required';
  /** A question or a reason for the person. Output belongs in an artifact. */
  readonly text?: string;
  /** The whole message in place of `text`. */
  readonly message?: Message;
  readonly metadata?: JsonObject;
  readonly reason?: string;
  /** Whether a model's vendor refused the request for what it holds. */
  readonly refused?: boolean;
  /** The agent that wrote the output, when it is another than the agent of the run (a final delegation). */
  readonly author?: string;
  readonly questions?: readonly Question[];
}

/** Remembered text that a run starts with, besides the newest messages. */
export interface Recollection {
  /** Undefined when there is nothing to recall. */
  readonly text: string | undefined;
  /** The last task of the session that `text` covers: the messages up to it need not be read again. */
  readonly upTo: string | undefined;
  /** Whether `text` may come from text from outside. */
  readonly fromOutside: boolean;
}

export const NOTHING_RECALLED: Recollection = { text: undefined, upTo: undefined, fromOutside: false };

/** A memory that works without tool calls: before and after each run. */
export interface RunMemory {
  recall(run: Run): Promise<Recollection>;
  /** Tells the memory that a run of this task is over. Returns at once and never throws. */
  runEnded(task: TaskRecord): void;
}
