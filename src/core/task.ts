import type { JsonObject } from './json.js';
import type { Artifact, Message } from './message.js';
import type { AnswerBlock, FunctionResult, StopReason, Usage } from './model.js';
import type { Trace } from './trace.js';

/** A2A 1.0 section 4.1.3, in the words the protocol uses. */
export const TASK_STATES = [
  'submitted',
  'working',
  'input-required',
  'auth-required',
  'completed',
  'failed',
  'canceled',
  'rejected',
] as const;

export type TaskState = (typeof TASK_STATES)[number];

const TERMINAL_STATES: ReadonlySet<TaskState> = new Set(['completed', 'failed', 'canceled', 'rejected']);

export function isTerminal(state: TaskState): boolean {
  return TERMINAL_STATES.has(state);
}

/** Waiting for a person: no run is under way and none starts until a message comes. */
export function isInterrupted(state: TaskState): boolean {
  return state === 'input-required' || state === 'auth-required';
}

/** Whose data it is. Every key in the store begins with it. */
export interface Scope {
  /** A2A's routing string; empty when the deployment has none. */
  readonly tenant: string;
  /** The authenticated party that the task belongs to. */
  readonly owner: string;
}

/** One text for one owner, for maps: owners of one name in two tenants have two. */
export function scopeKey({ tenant, owner }: Scope): string {
  return JSON.stringify([tenant, owner]);
}

/**
 * What a task may still do. Authority travels with the task and only narrows: see `narrowGrant`.
 * On the wire it is the delegation-chain extension.
 */
export interface Grant {
  /** The agents that delegated to this task, root first, each as "name@node". Empty for a person's own task. */
  readonly chain: readonly string[];
  /** Delegations still allowed below this task; 0 forbids any. */
  readonly depth: number;
  /** Milliseconds since the epoch after which nothing may start. */
  readonly deadline?: number;
  /** Model tokens this task and all below it may still use. */
  readonly tokens?: number;
  /** The only tools that may run, by name; absent means all that the agent has. */
  readonly tools?: readonly string[];
  /** What is asked for may stem from text of outside: nothing that is kept for it may go without that mark. */
  readonly fromOutside?: boolean;
  /** The trace that the task is part of: no authority, but it travels the same way. */
  readonly trace?: Trace;
}

/** One row of the tasks table: what a list needs, without reading the log. */
export interface TaskRecord extends Scope {
  /** Time-ordered (`newId`), made by the server. */
  readonly id: string;
  readonly agent: string;
  readonly contextId: string;
  readonly parentTaskId: string | undefined;
  readonly grant: Grant;
  readonly state: TaskState;
  /** The message that goes with the state: a question, a reason. */
  readonly statusMessage: Message | undefined;
  /** The `seq` of the newest event. */
  readonly head: number;
  /** Rises with each change of owner; an append with an older one is refused. */
  readonly epoch: number;
  readonly attempts: number;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** When the state was last set; lists are ordered by it, newest first. */
  readonly statusAt: number;
}

/** What waits for a person's word. */
export interface Question {
  /**
   * What an answer must name. For an approval it is the hash of task, call, tool and exact arguments:
   * changed arguments have another hash.
   */
  readonly hash: string;
  readonly kind: 'approval' | 'outcome-unknown' | 'input';
  /** One sentence for the person. */
  readonly text: string;
  /** The agent that asks. */
  readonly author: string;
  readonly tool?: string;
  /** The exact arguments, in full. */
  readonly arguments?: JsonObject;
  /** Milliseconds since the epoch: without a word by then the answer is no. Absent: it is asked for as long as it takes. */
  readonly expiresAt?: number;
}

/** A person's word on one question. The first that names its hash counts; later ones have no effect. */
export interface Answer {
  readonly hash: string;
  readonly decision: 'approve' | 'deny';
  /** Told to the model on denial; the reply itself when the question was for input. */
  readonly text?: string;
}

/** What an agent does, as told to whoever watches; also what a peer tells us over the wire. */
export type Activity =
  | { readonly type: 'turn-start' }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool-call'; readonly tool: string; readonly arguments: JsonObject }
  | { readonly type: 'tool-result'; readonly tool: string; readonly isError: boolean; readonly text: string }
  | { readonly type: 'delegation-start'; readonly agent: string; readonly request: string }
  | { readonly type: 'delegation-end'; readonly agent: string; readonly state: TaskState };

/**
 * One entry of a task's journal. Steps (`turn`, `tool`, `delegation`) come in pairs of intent and
 * result under one `step` id; a `step` id means the same work on every attempt. `fromOutside` marks what holds text of
 * outside, or was said after such text was read: of a page, a document, an agent of another server.
 */
export type EventBody =
  /** What the caller sent: the first event of each task, and each follow-up. */
  | { readonly type: 'message'; readonly message: Message }
  | { readonly type: 'run-start'; readonly attempt: number }
  | { readonly type: 'turn-start'; readonly step: string }
  /** Text of the artifact `artifactId`; `replace` starts the artifact again. */
  | {
      readonly type: 'text-delta';
      readonly artifactId: string;
      readonly text: string;
      readonly replace: boolean;
    }
  | { readonly type: 'artifact'; readonly artifact: Artifact; readonly append: boolean }
  | {
      readonly type: 'turn-end';
      readonly step: string;
      readonly content: readonly AnswerBlock[];
      readonly stopReason: StopReason;
      readonly usage: Usage;
      readonly fromOutside?: boolean;
    }
  | {
      readonly type: 'tool-call';
      readonly step: string;
      readonly callId: string;
      readonly tool: string;
      readonly arguments: JsonObject;
      readonly effect: EffectClass;
      readonly key: string;
    }
  | {
      readonly type: 'tool-result';
      readonly step: string;
      readonly result: FunctionResult;
      readonly fromOutside?: boolean;
    }
  | {
      readonly type: 'delegation-start';
      readonly step: string;
      readonly callId: string;
      readonly agent: string;
      readonly request: string;
      readonly final: boolean;
      /** The `messageId` of the request to the peer, the same on every attempt. */
      readonly key: string;
    }
  /** The peer's task, once known: a resumed run re-attaches to it. */
  | { readonly type: 'delegation-task'; readonly step: string; readonly taskId: string }
  | {
      readonly type: 'delegation-end';
      readonly step: string;
      readonly agent: string;
      /** With an interrupted state the peer's task goes on under a further step, with the person's answer. */
      readonly state: TaskState;
      readonly result: FunctionResult;
      /** The agent that wrote the answer, when it is another than `agent`: one that `agent` delegated to. */
      readonly author?: string;
      /** What the peer used since the last entry of this kind for the same task. */
      readonly usage: Usage;
      /** What the peer waits for, when the state is an interrupted one. */
      readonly questions?: readonly Question[];
      readonly fromOutside?: boolean;
    }
  /** What somebody below does; the event's author is that agent. */
  | { readonly type: 'activity'; readonly activity: Activity }
  | { readonly type: 'question'; readonly step: string; readonly question: Question }
  /** The time of the task's questions whose `expiresAt` has come is over: an answer that comes later is none. */
  | { readonly type: 'question-expiry' }
  | { readonly type: 'cancel-request' }
  /** Closes a run. Exactly one of these with a terminal state stands at the end of an ended task. */
  | {
      readonly type: 'run-end';
      readonly state: Exclude<TaskState, 'submitted' | 'working'>;
      /** A stable word for programs ("limit-tokens", "model-unreachable"); absent on success. */
      readonly reason?: string;
      readonly message?: Message;
      readonly questions?: readonly Question[];
      readonly usage: Usage;
      readonly fromOutside?: boolean;
    };

export type EventType = EventBody['type'];

export interface NewEvent {
  /** Who speaks or acts: an agent's name, or "user". Undefined in logs written by something that did not say. */
  readonly author: string | undefined;
  readonly body: EventBody;
}

export interface TaskEvent extends NewEvent {
  readonly taskId: string;
  /** 1, 2, 3 … within the task, no gaps. The cursor of streams. */
  readonly seq: number;
  /** Milliseconds since the epoch, by the store's clock. */
  readonly at: number;
}

/** Whether who reads this entry has read text from outside. */
export function isFromOutside(body: EventBody): boolean {
  return 'fromOutside' in body && body.fromOutside === true;
}

/**
 * The state after `body` was appended; undefined when it does not change. A message to a task under work waits in it;
 * questions run out while it waits for a person, and then there is work again.
 */
export function stateAfter(body: EventBody, before: TaskState): TaskState | undefined {
  if (body.type === 'run-end') return body.state;
  if (body.type === 'run-start') return 'working';
  const isWork = body.type === 'message' || body.type === 'question-expiry';
  return isWork && before !== 'working' ? 'submitted' : undefined;
}

/** The part of a parent's grant that a child may be given; asked-for limits can only make it smaller. */
export function narrowGrant(parent: Grant, by: Partial<Grant>): Grant {
  const tools =
    parent.tools && by.tools
      ? parent.tools.filter((name) => by.tools?.includes(name))
      : (parent.tools ?? by.tools);
  const deadline = smaller(parent.deadline, by.deadline);
  const tokens = smaller(parent.tokens, by.tokens);
  const trace = by.trace ?? parent.trace;
  return {
    chain: by.chain ?? parent.chain,
    depth: Math.min(parent.depth, by.depth ?? parent.depth),
    ...(deadline === undefined ? {} : { deadline }),
    ...(tokens === undefined ? {} : { tokens }),
    ...(tools === undefined ? {} : { tools }),
    ...(parent.fromOutside || by.fromOutside ? { fromOutside: true } : {}),
    ...(trace === undefined ? {} : { trace }),
  };
}

function smaller(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined) return b;
  return b === undefined ? a : Math.min(a, b);
}

/**
 * What happens to a call whose result is not known because the process died in between:
 * `pure` runs again; `keyed` runs again with the same key, which the target knows to be a repeat;
 * `queryable` is asked what happened (`settle`); `unsafe` is never repeated without a person's word.
 */
export type EffectClass = 'pure' | 'keyed' | 'queryable' | 'unsafe';
